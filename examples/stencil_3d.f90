! A 3-D stencil in Fortran, by the mpi module. Nothing here knows of Thalweg.
!   mpifort -O2 stencil_3d.f90 -o stencil_3d; mpirun -n 16 ./stencil_3d [POINTS [STEPS]]
!
! As stencil.f90, in a cube that is periodic: each step replaces every point by the mean of its six
! neighbours. The cube begins as the sum of a wave along each direction, which each step makes lower
! by the factor (2 + cos(2 pi / POINTS)) / 3: so the exact result is known. Ranks have boxes; faces
! are sent as subarrays.
program stencil_3d
  use mpi
  use iso_fortran_env, only: real64, error_unit
  implicit none

  real(real64), parameter :: pi = acos(-1.0_real64)
  integer :: points = 16, steps = 20
  integer :: rank, ranks, grid, step, direction, side, status, sides(3), place(3), first(3), count(3)
  integer :: near(2, 3), sent(2, 3), received(2, 3) ! by side and direction
  real(real64), allocatable :: now(:, :, :)
  real(real64) :: total, error, largest, own, whole

  call MPI_Init(status)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, status)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, status)
  call read_argument(1, points)
  call read_argument(2, steps)
  sides = 0
  call MPI_Dims_create(ranks, 3, sides, status)
  if (any(sides > points)) call give_up('stencil_3d: POINTS must be at least the ranks in a direction')
  call MPI_Cart_create(MPI_COMM_WORLD, 3, sides, [.true., .true., .true.], .false., grid, status)
  call MPI_Cart_coords(grid, rank, 3, place, status)
  first = points * place / sides
  count = points * (place + 1) / sides - first
  allocate (now(0:count(1) + 1, 0:count(2) + 1, 0:count(3) + 1))
  do direction = 1, 3
    call MPI_Cart_shift(grid, direction - 1, 1, near(1, direction), near(2, direction), status)
    sent(1, direction) = face(direction, 1)
    received(1, direction) = face(direction, 0)
    sent(2, direction) = face(direction, count(direction))
    received(2, direction) = face(direction, count(direction) + 1)
  end do
  call begin()

  call MPI_Barrier(grid, status)
  total = MPI_Wtime()
  do step = 1, steps
    call exchange()
    call move()
  end do
  total = MPI_Wtime() - total

  error = error_of_result()
  call MPI_Allreduce(error, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, grid, status)
  own = sum(now(1:count(1), 1:count(2), 1:count(3))**2)
  call MPI_Allreduce(own, whole, 1, MPI_DOUBLE_PRECISION, MPI_SUM, grid, status)
  if (rank == 0) then
    print '(a, i0, a, i0, a, f0.6)', 'stencil of ', points, '^3 points on ', ranks, &
      ' ranks: sum of squares ', whole
    write (error_unit, '(a, f9.4, a, es9.2)') 'total ', total, ' s, largest error ', largest
  end if
  do direction = 1, 3
    do side = 1, 2
      call MPI_Type_free(sent(side, direction), status)
      call MPI_Type_free(received(side, direction), status)
    end do
  end do
  call MPI_Comm_free(grid, status)
  call MPI_Finalize(status)
  if (.not. largest <= 1e-12_real64) error stop 1

contains

  subroutine read_argument(number, value)
    integer, intent(in) :: number
    integer, intent(inout) :: value
    character(len=32) :: text
    if (command_argument_count() < number) return
    call get_command_argument(number, text)
    read (text, *, iostat=status) value
    if (status == 0 .and. value > 0 .and. value <= 1000) return
    call give_up('usage: stencil_3d [POINTS [STEPS]], both from 1 to 1000')
  end subroutine

  subroutine give_up(reason)
    character(len=*), intent(in) :: reason
    if (rank == 0) write (error_unit, '(a)') reason
    call MPI_Finalize(status)
    stop 2
  end subroutine

  ! A layer of this rank's box across a direction.
  integer function face(direction, layer) result(datatype)
    integer, intent(in) :: direction, layer
    integer :: extent(3), begin(3)
    extent = count
    extent(direction) = 1
    begin = 1
    begin(direction) = layer
    call MPI_Type_create_subarray(3, count + 2, extent, begin, MPI_ORDER_FORTRAN, &
      MPI_DOUBLE_PRECISION, datatype, status)
    call MPI_Type_commit(datatype, status)
  end function

  pure real(real64) function wave(i, j, k)
    integer, intent(in) :: i, j, k
    wave = sin(2 * pi * (first(1) + i) / points) + cos(2 * pi * (first(2) + j) / points) &
      + 2 * sin(2 * pi * (first(3) + k) / points)
  end function

  subroutine begin()
    integer :: i, j, k
    now = 0
    do k = 1, count(3)
      do j = 1, count(2)
        do i = 1, count(1)
          now(i, j, k) = wave(i, j, k)
        end do
      end do
    end do
  end subroutine

  ! Gives the neighbours this rank's outer layers, and takes theirs.
  subroutine exchange()
    integer :: d
    do d = 1, 3
      call MPI_Sendrecv(now, 1, sent(2, d), near(2, d), 0, now, 1, received(1, d), near(1, d), 0, &
        grid, MPI_STATUS_IGNORE, status)
      call MPI_Sendrecv(now, 1, sent(1, d), near(1, d), 1, now, 1, received(2, d), near(2, d), 1, &
        grid, MPI_STATUS_IGNORE, status)
    end do
  end subroutine

  subroutine move()
    integer :: n, m, l
    n = count(1)
    m = count(2)
    l = count(3)
    now(1:n, 1:m, 1:l) = ( &
      now(0:n - 1, 1:m, 1:l) + now(2:n + 1, 1:m, 1:l) + now(1:n, 0:m - 1, 1:l) &
      + now(1:n, 2:m + 1, 1:l) + now(1:n, 1:m, 0:l - 1) + now(1:n, 1:m, 2:l + 1)) / 6
  end subroutine

  real(real64) function error_of_result()
    integer :: i, j, k
    real(real64) :: factor, error
    ! Of six neighbours four are as high as the point itself.
    factor = ((2 + cos(2 * pi / points)) / 3)**steps
    error_of_result = 0
    do k = 1, count(3)
      do j = 1, count(2)
        do i = 1, count(1)
          error = abs(now(i, j, k) - factor * wave(i, j, k))
          if (.not. error <= error_of_result) error_of_result = error
        end do
      end do
    end do
  end function
end program
