"""One broadcast and one allreduce of arrays, from Python: libmpi is loaded late, by an extension module."""

import array
import sys

from mpi4py import MPI

comm = MPI.COMM_WORLD
data = array.array("d", [float(comm.rank == 0)] * 1000)
comm.Bcast([data, MPI.DOUBLE], root=0)
good = all(value == 1.0 for value in data)
total = array.array("d", [0.0] * 1000)
comm.Allreduce([data, MPI.DOUBLE], [total, MPI.DOUBLE], op=MPI.SUM)
good = good and all(value == comm.size for value in total)
sys.exit(0 if good else 1)
