"""Collectives from Python, where an extension module loads libmpi late."""

import array
import importlib
import sys

MPI = importlib.import_module("mpi4py.MPI")

comm = MPI.COMM_WORLD
data = array.array("d", [float(comm.rank == 0)] * 1000)
comm.Bcast([data, MPI.DOUBLE], root=0)
good = all(value == 1.0 for value in data)
total = array.array("d", [0.0] * 1000)
comm.Allreduce([data, MPI.DOUBLE], [total, MPI.DOUBLE], op=MPI.SUM)
good = good and all(value == comm.size for value in total)
rank = array.array("i", [comm.rank])
ranks = array.array("i", [-1] * comm.size)
comm.Allgather([rank, MPI.INT], [ranks, MPI.INT])
good = good and ranks.tolist() == list(range(comm.size))
sent = array.array("i", [10 * comm.rank + i for i in range(comm.size)])
comm.Alltoall([sent, MPI.INT], [ranks, MPI.INT])
good = good and ranks.tolist() == [10 * i + comm.rank for i in range(comm.size)]
ones = [1] * comm.size
comm.Alltoallv([sent, ones], [ranks, ones])
good = good and ranks.tolist() == [10 * i + comm.rank for i in range(comm.size)]
types = [MPI.INT] * comm.size
places = [4 * i for i in range(comm.size)]
comm.Alltoallw([sent, ones, places, types], [ranks, ones, places, types])
good = good and ranks.tolist() == [10 * i + comm.rank for i in range(comm.size)]
comm.Gatherv([rank, MPI.INT], [ranks, ones] if comm.rank == 0 else None, root=0)
good = good and (comm.rank > 0 or ranks.tolist() == list(range(comm.size)))
comm.Scatterv([ranks, ones] if comm.rank == 0 else None, [rank, MPI.INT], root=0)
good = good and rank[0] == comm.rank
comm.Allgatherv([rank, MPI.INT], [ranks, ones])
good = good and ranks.tolist() == list(range(comm.size))
# What the library lacks is an error that a program can catch.
try:
    comm.Isendrecv(sent, comm.rank, recvbuf=ranks, source=comm.rank).Wait()
    good = good and ranks == sent
except RuntimeError:
    good = good and "Open MPI v4" in MPI.Get_library_version()
comm.Barrier()
sys.exit(0 if good else 1)
