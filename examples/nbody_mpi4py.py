"""N-body with mpi4py and numpy: as nbody.cpp, in its simplest form. Nothing here knows of Thalweg.

mpirun -n 16 python nbody_mpi4py.py [BODIES [STEPS]]
"""

import sys

import numpy as np
from mpi4py import MPI

SOFTENING, TIME_STEP = 0.05, 0.001
comm = MPI.COMM_WORLD


def pairs(stars: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vectors from each position to each star, and their softened lengths."""
    vectors = stars[None, :, :3] - positions[:, None, :]
    return vectors, np.sqrt((vectors**2).sum(axis=2) + SOFTENING**2)


def energy(stars: np.ndarray, own: slice, velocity: np.ndarray) -> float:
    """Kinetic and potential energy of all stars. Collective."""
    mine = stars[own]
    _, distance = pairs(stars, mine[:, :3])
    potential = mine[:, 3] / SOFTENING - (stars[:, 3] / distance).sum(axis=1)
    here = (mine[:, 3] * ((velocity**2).sum(axis=1) + potential)).sum() / 2
    everywhere = np.empty(1)
    comm.Allreduce(np.array([here]), everywhere, MPI.SUM)
    return float(everywhere[0])


def are_alike(stars: np.ndarray) -> bool:
    """Whether all ranks have the same stars. Collective."""
    weighted = float((stars * np.arange(1, len(stars) + 1)[:, None]).sum())
    least = np.empty(2)
    comm.Allreduce(np.array([weighted, -weighted]), least, MPI.MIN)
    return bool(least[0] == -least[1])


def main(bodies: int = 1024, steps: int = 16) -> int:
    each = -(-bodies // comm.size)  # the last ones may be without mass
    own = slice(comm.rank * each, (comm.rank + 1) * each)
    stars = np.zeros((each * comm.size, 4))  # x, y, z, mass
    directions = np.random.default_rng(1).normal(size=(bodies, 3))
    radii = np.random.default_rng(2).uniform(size=(bodies, 1)) ** (1 / 3)
    stars[:bodies, :3] = radii * directions / np.linalg.norm(directions, axis=1, keepdims=True)
    stars[:bodies, 3] = 1 / bodies
    velocity = np.zeros((each, 3))

    before = energy(stars, own, velocity)
    comm.Barrier()
    begin, communication = MPI.Wtime(), 0.0
    for _ in range(steps):
        mine = stars[own].copy()
        vectors, distance = pairs(stars, mine[:, :3])
        velocity += TIME_STEP * (stars[None, :, 3:] / distance[:, :, None] ** 3 * vectors).sum(
            axis=1
        )
        velocity[mine[:, 3] == 0] = 0
        mine[:, :3] += TIME_STEP * velocity
        entered = MPI.Wtime()
        comm.Gather(mine, stars, 0)  # an all-gather as a gather and a broadcast
        comm.Bcast(stars, 0)
        communication += MPI.Wtime() - entered
    total = MPI.Wtime() - begin
    drift = abs(energy(stars, own, velocity) / before - 1)
    if comm.rank == 0:
        print(f"N-body with mpi4py: {bodies} bodies, {steps} steps, {comm.size} ranks")
        print(f"  total {total:.4f} s, communication {communication:.4f} s")
        print(f"  energy drifted by {drift:.2g}")
    return 0 if drift < 1e-3 and are_alike(stars) else 1


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
