! A 2-D stencil in Fortran, by the mpi_f08 interface. Nothing here knows of Thalweg.
!   mpifort -O2 stencil.f90 -o stencil; mpirun -n 16 ./stencil [POINTS [STEPS]]
!
! Each step replaces every point by the mean of its four neighbours; the boundary is 0. Ranks have
! rectangles of the square, and swap their outer rows and columns with up to four others. The square
! begins as the lowest wave, which each step makes lower by the factor cos(pi / (POINTS + 1)): so the
! exact result is known.
program stencil
  use mpi_f08
  use iso_fortran_env, only: real64, error_unit
  implicit none

  real(real64), parameter :: pi = acos(-1.0_real64)
  integer, parameter :: up = 1, down = 2, left = 3, right = 4
  integer :: points = 48, steps = 50
  integer :: rank, ranks, step, sides(2), place(2), near(4), first(2), count(2)
  real(real64), allocatable :: now(:, :), next(:, :)
  real(real64) :: total, error, largest, own, whole
  type(MPI_Comm) :: grid
  type(MPI_Datatype) :: row

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call read_argument(1, points)
  call read_argument(2, steps)
  sides = 0
  call MPI_Dims_create(ranks, 2, sides)
  if (any(sides > points)) call give_up('stencil: POINTS must be at least the ranks in a direction')
  call MPI_Cart_create(MPI_COMM_WORLD, 2, sides, [.false., .false.], .false., grid)
  call MPI_Cart_coords(grid, rank, 2, place)
  call MPI_Cart_shift(grid, 0, 1, near(up), near(down))
  call MPI_Cart_shift(grid, 1, 1, near(left), near(right))
  first = points * place / sides + 1
  count = points * (place + 1) / sides + 1 - first
  allocate (now(0:count(1) + 1, 0:count(2) + 1), next(0:count(1) + 1, 0:count(2) + 1))
  call MPI_Type_vector(count(2), 1, count(1) + 2, MPI_DOUBLE_PRECISION, row)
  call MPI_Type_commit(row)
  call begin()

  call MPI_Barrier(grid)
  total = MPI_Wtime()
  do step = 1, steps
    call exchange()
    next(1:count(1), 1:count(2)) = 0.25_real64 * ( &
      now(0:count(1) - 1, 1:count(2)) + now(2:count(1) + 1, 1:count(2)) &
      + now(1:count(1), 0:count(2) - 1) + now(1:count(1), 2:count(2) + 1))
    now(1:count(1), 1:count(2)) = next(1:count(1), 1:count(2))
  end do
  total = MPI_Wtime() - total

  error = error_of_result()
  call MPI_Allreduce(error, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, grid)
  own = sum(now(1:count(1), 1:count(2)))
  call MPI_Allreduce(own, whole, 1, MPI_DOUBLE_PRECISION, MPI_SUM, grid)
  if (rank == 0) then
    print '(a, i0, a, i0, a, i0, a, f0.6)', 'stencil of ', points, ' x ', points, ' points on ', &
      ranks, ' ranks: sum ', whole
    write (error_unit, '(a, f9.4, a, es9.2)') 'total ', total, ' s, largest error ', largest
  end if
  call MPI_Type_free(row)
  call MPI_Comm_free(grid)
  call MPI_Finalize()
  if (.not. largest <= 1e-12_real64) error stop 1

contains

  subroutine read_argument(number, value)
    integer, intent(in) :: number
    integer, intent(inout) :: value
    character(len=32) :: text
    integer :: status
    if (command_argument_count() < number) return
    call get_command_argument(number, text)
    read (text, *, iostat=status) value
    ! More points wouldn't fit into the products below.
    if (status == 0 .and. value > 0 .and. value <= 40000) return
    call give_up('usage: stencil [POINTS [STEPS]], both from 1 to 40000')
  end subroutine

  subroutine give_up(reason)
    character(len=*), intent(in) :: reason
    if (rank == 0) write (error_unit, '(a)') reason
    call MPI_Finalize()
    stop 2
  end subroutine

  ! The lowest wave at a point of this rank.
  pure real(real64) function wave(i, j)
    integer, intent(in) :: i, j
    wave = sin(pi * (first(1) + i - 1) / (points + 1)) * sin(pi * (first(2) + j - 1) / (points + 1))
  end function

  subroutine begin()
    integer :: i, j
    now = 0
    do j = 1, count(2)
      do i = 1, count(1)
        now(i, j) = wave(i, j)
      end do
    end do
  end subroutine

  ! Gives the neighbours this rank's outer rows and columns, and takes theirs.
  subroutine exchange()
    type(MPI_Request) :: requests(8)
    call MPI_Irecv(now(0, 1), 1, row, near(up), 1, grid, requests(1))
    call MPI_Irecv(now(count(1) + 1, 1), 1, row, near(down), 2, grid, requests(2))
    call MPI_Irecv(now(1, 0), count(1), MPI_DOUBLE_PRECISION, near(left), 3, grid, requests(3))
    call MPI_Irecv(now(1, count(2) + 1), count(1), MPI_DOUBLE_PRECISION, near(right), 4, grid, &
      requests(4))
    call MPI_Isend(now(count(1), 1), 1, row, near(down), 1, grid, requests(5))
    call MPI_Isend(now(1, 1), 1, row, near(up), 2, grid, requests(6))
    call MPI_Isend(now(1, count(2)), count(1), MPI_DOUBLE_PRECISION, near(right), 3, grid, &
      requests(7))
    call MPI_Isend(now(1, 1), count(1), MPI_DOUBLE_PRECISION, near(left), 4, grid, requests(8))
    call MPI_Waitall(8, requests, MPI_STATUSES_IGNORE)
  end subroutine

  real(real64) function error_of_result()
    integer :: i, j
    real(real64) :: factor, error
    factor = cos(pi / (points + 1))**steps
    error_of_result = 0
    do j = 1, count(2)
      do i = 1, count(1)
        error = abs(now(i, j) - factor * wave(i, j))
        if (.not. error <= error_of_result) error_of_result = error
      end do
    end do
  end function
end program
