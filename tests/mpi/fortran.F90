! Each collective that may be planned, by each of MPI's three Fortran interfaces: -DUSE_MPIF, -DUSE_MPI or
! -DUSE_MPI_F08. behaviour.py knows how many calls of each there are. With an argument it asks for MPI_THREAD_MULTIPLE and
! makes two nonblocking ones and starts two persistent ones instead. -DEXTENSION: the latter are in Open MPI 4.1's extension.
#if defined(EXTENSION)
#define BCAST_INIT MPIX_Bcast_init
#define ALLREDUCE_INIT MPIX_Allreduce_init
#else
#define BCAST_INIT MPI_Bcast_init
#define ALLREDUCE_INIT MPI_Allreduce_init
#endif
program fortran
#if defined(USE_MPI_F08)
  use mpi_f08
#if defined(EXTENSION)
  use mpi_f08_ext
#endif
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

  if (command_argument_count() > 0) then
    call nonblocking
  else
    call blocking
  end if
  call MPI_Finalize(error)
  if (wrong) error stop 1

contains

  subroutine blocking
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
    call prefixes
    call blocks
  end subroutine

  subroutine nonblocking
    integer, asynchronous :: numbers(n), own(n), total(n)
    integer :: given, round
#if defined(USE_MPI_F08)
    type(MPI_Request) :: requests(2)
#else
    integer :: requests(2)
#endif
    call MPI_Init_thread(MPI_THREAD_MULTIPLE, given, error)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
    numbers = merge(42, -1, rank == ranks - 1)
    own = rank
    call MPI_Ibcast(numbers, n, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, requests(1), error)
    call MPI_Iallreduce(own, total, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    wrong = given /= MPI_THREAD_MULTIPLE .or. any(numbers /= 42) .or. any(total /= ranks * (ranks - 1) / 2)

    call BCAST_INIT(numbers, n, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), error)
    call ALLREDUCE_INIT(own, total, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2), error)
    do round = 1, 3
      numbers = merge(round, -1, rank == ranks - 1)
      own = rank + round
      call MPI_Startall(2, requests, error)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
      wrong = wrong .or. any(numbers /= round) .or. any(total /= ranks * (ranks - 1) / 2 + ranks * round)
    end do
    call MPI_Request_free(requests(1), error)
    call MPI_Request_free(requests(2), error)
  end subroutine

  subroutine prefixes
    values = rank + 1
    call MPI_Scan(values, sums, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    wrong = wrong .or. any(sums /= dble(rank + 1) * (rank + 2) / 2)
    sums = -1
    call MPI_Exscan(values, sums, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    if (rank > 0) wrong = wrong .or. any(sums /= dble(rank) * (rank + 1) / 2)
    call MPI_Scan(MPI_IN_PLACE, values, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    wrong = wrong .or. any(values /= dble(rank + 1) * (rank + 2) / 2)
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end subroutine

  ! Element j of what goes from a rank to another is 10000 * from + 100 * to + j.
  subroutine blocks
    integer, parameter :: m = 7
#ifdef USE_MPI_F08
    type(MPI_Datatype) :: types(ranks)
#else
    integer :: types(ranks)
#endif
    integer :: own(m), from(m * ranks), to(m * ranks), counts(ranks), places(ranks), all(m * ranks)
    integer :: j
    own = [(10000 * rank + j, j = 1, m)]
    all = [((10000 * (i - 1) + j, j = 1, m), i = 1, ranks)]
    from = [((10000 * rank + 100 * (i - 1) + j, j = 1, m), i = 1, ranks)]
    counts = m
    places = [(m * (i - 1), i = 1, ranks)]

    to = -1
    call MPI_Gather(own, m, MPI_INTEGER, to, m, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, error)
    if (rank == ranks - 1) wrong = wrong .or. any(to /= all)
    own = -1
    call MPI_Scatter(all, m, MPI_INTEGER, own, m, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    wrong = wrong .or. any(own /= [(10000 * rank + j, j = 1, m)])
    to = -1
    call MPI_Allgather(own, m, MPI_INTEGER, to, m, MPI_INTEGER, MPI_COMM_WORLD, error)
    wrong = wrong .or. any(to /= all)
    to = -1
    to(m * rank + 1:m * (rank + 1)) = own
    call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, counts, places, MPI_INTEGER, &
                        MPI_COMM_WORLD, error)
    wrong = wrong .or. any(to /= all)
    to = -1
    call MPI_Alltoall(from, m, MPI_INTEGER, to, m, MPI_INTEGER, MPI_COMM_WORLD, error)
    wrong = wrong .or. any(to /= [((10000 * (i - 1) + 100 * rank + j, j = 1, m), i = 1, ranks)])
    to = -1
    call MPI_Alltoallv(from, counts, places, MPI_INTEGER, to, counts, places, MPI_INTEGER, &
                       MPI_COMM_WORLD, error)
    wrong = wrong .or. any(to /= [((10000 * (i - 1) + 100 * rank + j, j = 1, m), i = 1, ranks)])
    to = -1
    types = MPI_INTEGER
    call MPI_Alltoallw(from, counts, 4 * places, types, to, counts, 4 * places, types, &
                       MPI_COMM_WORLD, error)
    wrong = wrong .or. any(to /= [((10000 * (i - 1) + 100 * rank + j, j = 1, m), i = 1, ranks)])
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, from, m, MPI_INTEGER, MPI_COMM_WORLD, error)
    wrong = wrong .or. any(from /= to)
    to = -1
    call MPI_Gatherv(own, m, MPI_INTEGER, to, counts, places, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    if (rank == 0) wrong = wrong .or. any(to /= all)
    own = -1
    call MPI_Scatterv(all, counts, places, MPI_INTEGER, own, m, MPI_INTEGER, ranks - 1, &
                      MPI_COMM_WORLD, error)
    wrong = wrong .or. any(own /= [(10000 * rank + j, j = 1, m)])
    call MPI_Reduce_scatter(all, own, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    wrong = wrong .or. any(own /= ranks * all(m * rank + 1:m * (rank + 1)))
    call MPI_Reduce_scatter_block(all, own, m, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    wrong = wrong .or. any(own /= ranks * all(m * rank + 1:m * (rank + 1)))
  end subroutine
end program fortran
