! N-body in Fortran, by the mpi_f08 interface: as nbody.cpp, in its simplest form. Nothing here knows
! of Thalweg.
!   mpifort -O2 nbody_f08.f90 -o nbody_f08; mpirun -n 16 ./nbody_f08 [BODIES [STEPS]]
program nbody
  use mpi_f08
  use iso_fortran_env, only: real64, error_unit
  implicit none

  real(real64), parameter :: softening = 0.05_real64, time_step = 0.001_real64
  integer :: bodies = 1024, steps = 16
  integer :: rank, ranks, own, first, last, step
  real(real64), allocatable :: all(:, :), mine(:, :), velocity(:, :) ! x, y, z, mass
  real(real64) :: energy_before, energy_after, begin, communication, total, drift
  logical :: are_alike

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call read_argument(1, bodies)
  call read_argument(2, steps)
  own = (bodies + ranks - 1) / ranks ! the last ones may be without mass
  first = rank * own + 1
  last = first + own - 1
  allocate (all(4, own * ranks), mine(4, own), velocity(3, own))
  call place_stars()

  energy_before = energy()
  communication = 0
  call MPI_Barrier(MPI_COMM_WORLD)
  total = MPI_Wtime()
  do step = 1, steps
    call move()
    begin = MPI_Wtime()
    call exchange()
    communication = communication + MPI_Wtime() - begin
  end do
  total = MPI_Wtime() - total
  energy_after = energy()

  drift = abs(energy_after / energy_before - 1)
  are_alike = all_ranks_are_alike()
  if (rank == 0) then
    print '(a, i0, a, i0, a, i0, a)', 'N-body in Fortran: ', bodies, ' bodies, ', steps, &
      ' steps, ', ranks, ' ranks'
    print '(a, f9.4, a, f9.4, a)', '  total ', total, ' s, communication ', communication, ' s'
    print '(a, es9.2)', '  energy drifted by ', drift
  end if
  call MPI_Finalize()
  if (.not. (drift <= 1e-3_real64 .and. are_alike)) error stop 1

contains

  subroutine read_argument(number, value)
    integer, intent(in) :: number
    integer, intent(inout) :: value
    character(len=32) :: text
    integer :: status
    if (command_argument_count() < number) return
    call get_command_argument(number, text)
    read (text, *, iostat=status) value
    if (status == 0 .and. value > 0) return
    if (rank == 0) write (error_unit, '(a)') 'usage: nbody_f08 [BODIES [STEPS]], both above zero'
    call MPI_Abort(MPI_COMM_WORLD, 2)
  end subroutine

  ! A ball of stars of total mass 1 at rest, the same on all ranks.
  subroutine place_stars()
    integer, allocatable :: seed(:)
    integer :: length, body
    real(real64) :: position(3)
    call random_seed(size=length)
    allocate (seed(length), source=1)
    call random_seed(put=seed)
    all = 0
    velocity = 0
    do body = 1, bodies
      do
        call random_number(position)
        position = 2 * position - 1
        if (sum(position**2) <= 1) exit
      end do
      all(:, body) = [position, 1.0_real64 / bodies]
    end do
  end subroutine

  ! One time step of this rank's stars (semi-implicit Euler).
  subroutine move()
    integer :: i, j
    real(real64) :: acceleration(3), vector(3), distance2
    mine = all(:, first:last)
    do i = 1, own
      if (mine(4, i) <= 0) cycle
      acceleration = 0
      do j = 1, bodies
        vector = all(1:3, j) - mine(1:3, i)
        distance2 = sum(vector**2) + softening**2
        acceleration = acceleration + all(4, j) / (distance2 * sqrt(distance2)) * vector
      end do
      velocity(:, i) = velocity(:, i) + time_step * acceleration
      mine(1:3, i) = mine(1:3, i) + time_step * velocity(:, i)
    end do
  end subroutine

  ! Whether all ranks have the same stars.
  logical function all_ranks_are_alike()
    integer :: i
    real(real64) :: own(2), least(2)
    own = [1, -1] * sum(all * spread([(1.0_real64 + i, i = 1, size(all, 2))], 1, 4))
    call MPI_Allreduce(own, least, 2, MPI_DOUBLE_PRECISION, MPI_MIN, MPI_COMM_WORLD)
    all_ranks_are_alike = .not. least(1) < -least(2) .and. .not. least(1) > -least(2)
  end function

  ! All-gather as a gather and a broadcast.
  subroutine exchange()
    call MPI_Gather(mine, 4 * own, MPI_DOUBLE_PRECISION, all, 4 * own, MPI_DOUBLE_PRECISION, 0, &
                    MPI_COMM_WORLD)
    call MPI_Bcast(all, 4 * own * ranks, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
  end subroutine

  function energy() result(everywhere)
    real(real64) :: everywhere, here, potential
    integer :: i, j
    here = 0
    do i = 1, own
      j = first + i - 1
      if (all(4, j) <= 0) cycle
      potential = all(4, j) / softening - sum(all(4, :) / sqrt( &
        (all(1, :) - all(1, j))**2 + (all(2, :) - all(2, j))**2 + (all(3, :) - all(3, j))**2 + &
        softening**2))
      here = here + all(4, j) * (sum(velocity(:, i)**2) + potential) / 2
    end do
    call MPI_Allreduce(here, everywhere, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD)
  end function
end program
