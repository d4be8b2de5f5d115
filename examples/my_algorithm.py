"""An algorithm of your own: written in Python, verified, simulated, and run by `thalweg run`.

python3 my_algorithm.py net.json -H west0,west1,east0,east1 -o my.plan
"""

import argparse
from collections.abc import Sequence

import thalweg
from thalweg import How, Range, Schedule, Transfer, schedule, units


def bcast_over_sites(sites: Sequence[Sequence[int]], root: int) -> Schedule:
    """The root sends to one rank of each other site, and these to the others of their sites."""
    data = [Range(0)]  # a single chunk: all of it
    leaders = [root if root in site else site[0] for site in sites]
    transfers = [Transfer(root, each, 0, How.copy, data) for each in leaders if each != root]
    for leader, site in zip(leaders, sites, strict=True):
        transfers += [Transfer(leader, each, 1, How.copy, data) for each in site if each != leader]
    return Schedule(1, schedule.in_order(transfers))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network")
    parser.add_argument("-H", "--hosts", help="hosts and ranks on each, as for thalweg plan")
    parser.add_argument("-o", "--output", default="my.plan")
    arguments = parser.parse_args()

    operation = thalweg.Bcast(root=0, nbytes="1KB")
    best = thalweg.plan(arguments.network, operation, hosts=arguments.hosts)
    network = best.problem.network
    ranks = range(len(best.placement))
    groups = network.sites or [range(len(network.hosts))]
    sites = [[rank for rank in ranks if best.placement[rank] in group] for group in groups]
    tree = bcast_over_sites([site for site in sites if site], root=0)

    # Verifies it, too: a schedule that doesn't do what MPI_Bcast must do is refused.
    mine = thalweg.plan(network, operation, placement=best.placement, schedule=tree)
    print(f"mine: {units.time_to_text(mine.predicted)}, planned: {best}")
    print(f"the bound is {units.time_to_text(mine.bound)}: {mine.bound_reason}")
    mine.save(arguments.output)
    print(f"run it: thalweg run -n {len(ranks)} --plan {arguments.output} -- ./program")


if __name__ == "__main__":
    main()
