"""How programs that SMPI simulates go natively: MPICH's rules, with its levels by hosts."""

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench import networks, smpi, smpi_model, smpi_page, smpi_run
from bench.page import Part
from bench.smpi_programs import Program, build, programs, smallest
from bench.smpi_run import Inputs, Simulation, cloud, loopback, options, rules, selectors, thalweg
from thalweg import planner, plans, simulator
from thalweg.algorithms import Problem
from thalweg.collective import Collective, Kind
from thalweg.network import even_network

HOSTS, ON_EACH, LATENCY = 8, 5, 0.01
CALLS = """
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, ranks;

/* Whether one call on all ranks was right. */
static int called(const char* kind, int root, int in_place) {
  int own = rank + 1, all = rank == root ? 7 : 0;
  const int sum = ranks * (ranks + 1) / 2;
  const void* from = &own;
  if (in_place) all = own, from = MPI_IN_PLACE;
  if (strcmp(kind, "bcast") == 0)
    return MPI_Bcast(&all, 1, MPI_INT, root, MPI_COMM_WORLD), in_place || all == 7;
  if (strcmp(kind, "reduce") == 0) {
    MPI_Reduce(rank == root ? from : &own, &all, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    return rank != root || all == sum;
  }
  if (strcmp(kind, "allreduce") == 0)
    return MPI_Allreduce(from, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), all == sum;
  if (strcmp(kind, "scatter") == 0) {
    int each[64];
    for (int i = 0; i < ranks; ++i) each[i] = 10 * i + root;
    void* to = rank == root && in_place ? MPI_IN_PLACE : (void*)&all;
    MPI_Scatter(each, 1, MPI_INT, to, 1, MPI_INT, root, MPI_COMM_WORLD);
    return to == MPI_IN_PLACE || all == 10 * rank + root;
  }
  return MPI_Barrier(MPI_COMM_WORLD), 1;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* kinds[] = {"bcast", "reduce", "allreduce", "barrier", "scatter"};
  double begin = 0;
  int right = 1;
  for (int i = 0; i < 5; ++i) {
    for (int root = 0; root < 8; ++root)
      right &= called(kinds[i], root, 0) && called(kinds[i], root, 1);
    begin += 10;
    usleep((begin - MPI_Wtime()) * 1e6); /* all ranks begin at once */
    right &= called(kinds[i], 0, 0);
    const double end = MPI_Wtime();
    double last;
    PMPI_Reduce(&end, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%s %.6f\\n", kinds[i], last - begin);
  }
  if (!right) printf("wrong 0\\n");
  MPI_Finalize();
}
"""


@dataclass(frozen=True)
class Calls(Program):
    file: Path = Path()

    def sources(self) -> list[Path]:
        return [self.file]


def program(bcast: str, file: Path = Path()) -> Program:
    return Calls("calls", "", "", 4096, bcast, file=file)


def inputs(folder: Path, on_each: int = ON_EACH) -> Inputs:
    net = even_network(HOSTS, LATENCY, 1e9)
    for host in range(HOSTS):
        net.latency[host, host], net.bandwidth[host, host] = loopback
    placement = [host for host in range(HOSTS) for _ in range(on_each)]
    return Inputs(net, placement, folder)


def by_hosts(environment: Mapping[str, str]) -> str:
    return environment.get("BY_HOSTS", "")


def test_mpich_goes_by_hosts_where_they_have_several_ranks(tmp_path: Path) -> None:
    shared = inputs(tmp_path)
    short = shared.environment(program("8"), rules)
    assert by_hosts(short) == "[bcast][reduce][allreduce][barrier]"
    numbers = Path(short["HOSTS_OF_RANKS"]).read_text().split()
    assert numbers == [str(rank // ON_EACH) for rank in range(HOSTS * ON_EACH)]
    # From 12 KiB on, MPICH has no levels in a bcast of 40 ranks, which are no power of two.
    long = shared.environment(program("100000"), rules)
    assert by_hosts(long) == "[reduce][allreduce][barrier]"
    # Only short ones are native in Thalweg's runs.
    assert by_hosts(shared.environment(program("100000"), thalweg)) == by_hosts(short)
    for variant in selectors:
        assert not by_hosts(shared.environment(program("8"), variant))
    alone = inputs(tmp_path, 1)
    assert not by_hosts(alone.environment(program("8"), rules))


def test_algorithms_are_those_that_mpich_selects_by_size(tmp_path: Path) -> None:
    powers = inputs(tmp_path, 2)  # 16 ranks
    for size, name in {
        "0": "binomial_tree",
        "12288": "binomial_tree",
        "12289": "scatter_rdb_allgather",
        "1000000": "scatter_LR_allgather",
    }.items():
        chosen = powers.native(program(size), rules)
        assert f"--cfg=smpi/bcast:{name}" in chosen
    assert "--cfg=smpi/bcast:binomial_tree" in powers.native(program("1000000"), thalweg)
    assert powers.native(program("8"), "ompi") == ["--cfg=smpi/coll-selector:ompi"]


@pytest.mark.skipif(not shutil.which("smpirun"), reason="SimGrid isn't installed")
@pytest.mark.parametrize("planned", [False, True])
def test_levels_are_right_and_cross_between_hosts_as_often_as_leaders_need(
    tmp_path: Path, planned: bool
) -> None:
    """Also of what is native under the runtime, whose plan has no entries here."""
    shared = inputs(tmp_path)
    (tmp_path / "calls.c").write_text(CALLS)
    calls = program("8", tmp_path / "calls.c")
    built = build(calls, tmp_path)[planned]
    variant = thalweg if planned else rules
    shared.write_plan("", [])
    found = []
    environments: list[dict[str, str]] = [{}, {"BY_HOSTS": ""}]
    for environment in environments:
        said = shared.simulate(calls, variant, built, options, environment=environment).said
        lines = re.findall(r"^([a-z]+) ([0-9.]+)$", said, re.MULTILINE)
        found.append({kind: float(time) / LATENCY for kind, time in lines})
    with_levels, without = found
    # A scatter has no levels.
    assert with_levels.pop("scatter") == without.pop("scatter")
    assert list(with_levels) == ["bcast", "reduce", "allreduce", "barrier"] == list(without)
    # Eight leaders double what they have three times. All 40 ranks together need longer: the path
    # 31, 30, 28, 24, 16, 0 of a binomial tree crosses four times.
    assert list(with_levels.values()) == pytest.approx([3] * 4, rel=0.01)
    assert min(without.values()) == pytest.approx(4, rel=0.01)


def test_the_page_counts_where_thalweg_is_slower() -> None:
    simulated = {"CG": (0.8, 0.2), "N-body": (0.05, 0.1), "SOR": (1.0, 1.0), "IS (NAS)": (None, 1)}
    samples = [
        {"program": name, "variant": variant, "simulated": time, "wall": 1.0, "memory": 1}
        for name, times in simulated.items()
        for variant, time in zip((rules, thalweg), times, strict=True)
    ]
    labels = {"network": "cloud-64", "ranks": 256}
    table, costs = smpi_page.contents(
        [Part(labels, {"planning": 1.0}, samples, "2026-11-28", "abc")]
    )
    assert [row[-1] for row in table.rows] == ["4.00x", "0.50x", "1.00x", "-"]
    assert "Thalweg is slower than a rival in 1 of 3 rows (more than 1 %)." in table.notes
    assert table.rows[-1][-3:-1] == ["too long", "1.00 s"]
    assert any(
        "3-D stencil 0, IS (NAS) 256, IS (NAS, class S) 0; IS refuses" in note
        for note in table.notes
    )
    assert any("4 us and 0.1 ns per byte" in note and "100 %" in note for note in table.notes)
    assert costs.notes[-1] == "0 of the 7 simulations that came to their end need more than 8 GB."


def test_plans_are_made_with_the_costs_that_are_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for case in smpi.cases:
        net = smpi.network_of(case)
        costs = net.message_costs[plans.known_library(net, None, case.network)]
        assert f"--cfg=smpi/os:0:{costs.send}:{costs.per_byte}" in smpi_model.options()
    asked: list[str] = []

    def simulate(command: list[str], *_: object) -> Simulation:
        asked.extend(command)
        return Simulation(1.0, 1.0, 1, "", "")

    monkeypatch.setattr(smpi_run, "_simulate", simulate)
    monkeypatch.setattr(Inputs, "make_plan", lambda _inputs, _library: 0.0)
    smpi.Setting(smpi.cases[0], tmp_path).simulate(programs[0], rules, {False: tmp_path / "cg"})
    assert set(smpi_model.options(smpi_model.whole_rate)) <= set(asked)


def test_programs_are_tried_with_as_many_ranks_as_they_can_have() -> None:
    most = {program.name: program.most_ranks for program in programs}
    assert (most.pop("IS (NAS)"), most.pop(smallest)) == (1024, 64)
    assert set(most.values()) == {max(case.ranks for case in smpi.cases)}


def test_rows_for_many_ranks_take_what_they_promise() -> None:
    """A prediction from a sample of ranks once chose an allreduce eight times as long."""
    net = cloud(networks.Draw(64), 64)
    placement = [rank * 64 // 1024 for rank in range(1024)]
    options = planner.Options(library="mpich")
    table = planner.make_table(net, placement, [Kind.allreduce], options, 16)
    for row in table.entries:
        for found in row.times:
            problem = Problem(
                Collective(Kind.allreduce, 1024, 0, found.size), net, placement, "mpich"
            )
            took = simulator.simulate(problem, row.skeleton, simulator.Options()).time
            assert found.plan_ns == pytest.approx(1e9 * took, rel=0.3)
            assert found.plan_ns < found.native_ns
