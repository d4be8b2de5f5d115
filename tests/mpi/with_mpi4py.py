"""One broadcast and one allreduce from Python, where an extension module loads libmpi late."""

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
sys.exit(0 if good else 1)
