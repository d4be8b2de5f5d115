"""An algorithm of one's own: written in Python, verified, simulated, and run by `thalweg run`.

python3 my_algorithm.py net.json -H west0,west1,east0,east1 -o my.plan
"""

import argparse
import itertools
from collections.abc import Sequence

import thalweg
from thalweg import How, Range, Schedule, Transfer, schedule, units


def bcast_over_sites(sites: Sequence[Sequence[int]], root: int, segments: int) -> Schedule:
    """The root sends to one rank of each other site; in each site a chain passes the data on."""
    chains = [[root]]
    for site in sites:
        others = [rank for rank in site if rank != root]
        if root in site:
            chains[0] += others
        else:
            chains.append(others)
    links = [(root, chain[0]) for chain in chains[1:]]
    for chain in chains:
        links += itertools.pairwise(chain)
    steps = {root: 0}  # the step at which a rank has what it sends on
    for sender, receiver in links:
        steps[receiver] = steps[sender] + 1
    transfers = [Transfer(a, b, steps[a], How.copy, [Range(0)]) for a, b in links]
    return Schedule(1, schedule.in_order(transfers), segments=segments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network")
    parser.add_argument("-H", "--hosts", help="hosts and ranks on each, as for thalweg plan")
    parser.add_argument("-o", "--output", default="my.plan")
    arguments = parser.parse_args()

    operation = thalweg.Bcast(root=0, nbytes="8MB")
    best = thalweg.plan(arguments.network, operation, hosts=arguments.hosts)
    network = best.problem.network
    ranks = range(len(best.placement))
    sites = [[rank for rank in ranks if best.placement[rank] in site] for site in network.sites]
    chains = bcast_over_sites([site for site in sites if site], root=0, segments=200)

    # Verifies it, too: a schedule that doesn't do what MPI_Bcast must do is refused.
    mine = thalweg.plan(network, operation, placement=best.placement, schedule=chains)
    print(f"mine: {units.time_to_text(mine.predicted)}, planned: {best}")
    print(f"the bound is {units.time_to_text(mine.bound)}: {mine.bound_reason}")
    mine.save(arguments.output)
    print(f"run it: thalweg run -n {len(ranks)} --plan {arguments.output} -- ./program")


if __name__ == "__main__":
    main()
