! One broadcast, one reduce and two allreduces, by each of MPI's three Fortran interfaces: -DUSE_MPIF, -DUSE_MPI
! or -DUSE_MPI_F08.
program fortran
#if defined(USE_MPI_F08)
  use mpi_f08
  implicit none
#elif defined(USE_MPI)
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  integer, parameter :: n = 1000
  integer :: rank, ranks, error, i
  double precision :: values(n), sums(n), expected
  logical :: wrong

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  values = -1
  if (rank == ranks - 1) values = [(dble(i), i = 1, n)]
  call MPI_Bcast(values, n, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD, error)
  wrong = any(values /= [(dble(i), i = 1, n)])

  values = rank
  expected = dble(ranks) * (ranks - 1) / 2
  call MPI_Allreduce(values, sums, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  wrong = wrong .or. any(sums /= expected)
  sums = -1
  call MPI_Reduce(values, sums, n, MPI_DOUBLE_PRECISION, MPI_SUM, ranks - 1, MPI_COMM_WORLD, error)
  if (rank == ranks - 1) wrong = wrong .or. any(sums /= expected)
  if (rank /= ranks - 1) wrong = wrong .or. any(sums /= -1)
  call MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
  wrong = wrong .or. any(values /= expected)
  call MPI_Finalize(error)
  if (wrong) error stop 1
end program fortran
