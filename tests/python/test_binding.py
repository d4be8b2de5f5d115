"""Which core each rank is bound to, and what launchers are told of it."""

import json
import re
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from thalweg import binding, launch_files, mapping, network
from thalweg.binding import Core, bind
from thalweg.cli import main
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.mapping import Communication
from thalweg.preparation import Request, prepare

pytestmark = pytest.mark.skipif(not binding.has_hwloc(), reason="this build has no hwloc")

FILE = Path("/x/hosts")
HOSTS = [Host("a", 4), Host("b", 4)]
TWO_SOCKETS = "package:2 core:2 pu:2"
PLACEMENT = ["a", "b", "a", "b", "a", "b", "a", "b"]


def ring(order: list[int]) -> Communication:
    """Each rank of a list talks to the next, much to every second one."""
    ranks = len(order)
    following = [order[(at + 1) % ranks] for at in range(ranks)]
    nbytes = [1e6 if at % 2 == 0 else 1e3 for at in range(ranks)]
    return mapping.communication(ranks, order, following, [10] * ranks, nbytes)


def package(core: Core) -> int:
    return core.number // 2


@pytest.mark.parametrize("order", list(permutations(range(4)))[::5])
def test_ranks_that_talk_share_a_package(order: list[int]) -> None:
    found = bind(ring(list(order)), ["a"] * 4, TWO_SOCKETS, alike=False)
    assert sorted(core.number for core in found) == [0, 1, 2, 3]
    assert package(found[order[0]]) == package(found[order[1]])
    assert package(found[order[2]]) == package(found[order[3]])
    assert [core.processors for core in found] == [
        [2 * core.number, 2 * core.number + 1] for core in found
    ]


def test_each_host_by_itself_or_all_alike() -> None:
    # On host a ranks 0 and 2 talk, on b ranks 1 and 7: the first and second there, first and last.
    matrix = mapping.communication(8, [0, 1, 4, 3], [2, 7, 6, 5], [1] * 4, [1e6] * 4)
    found = bind(matrix, PLACEMENT, TWO_SOCKETS, alike=False)
    for one, other in ((0, 2), (1, 7), (4, 6), (3, 5)):
        assert package(found[one]) == package(found[other])
    alike = bind(matrix, PLACEMENT, TWO_SOCKETS, alike=True)
    assert [core.number for core in alike[::2]] == [core.number for core in alike[1::2]]


def test_a_topology_that_cannot_be_read_is_named() -> None:
    with pytest.raises(UserError, match='topology "sofa:2": must be "this"'):
        bind(ring([0, 1]), ["a", "a"], "sofa:2", alike=True)


def test_what_each_launcher_is_told() -> None:
    placement = ["a", "b", "a", "a", "b", "b"]
    matrix = mapping.communication(6, [0, 1], [3, 4], [1, 1], [1e6, 1e6])
    cores = bind(matrix, placement, "package:2 core:2 pu:2", alike=True)
    by_number = [cores[0], cores[2], cores[3]]  # of host a, and alike of b
    first = ",".join(str(core.processors[0]) for core in by_number)
    both = ",".join("+".join(map(str, core.processors)) for core in by_number)

    def options(form: str) -> list[str]:
        return list(launch_files.order(form, HOSTS, placement, FILE, cores).options)

    assert options("mpich")[-2:] == ["-bind-to", f"user:{both}"]
    assert options("slurm")[-1] == f"--cpu-bind=map_cpu:{first}"
    assert options("cray")[-1] == f"--cpu-bind=map_cpu:{first}"
    assert options("intel")[-3:] == ["-genv", "I_MPI_PIN_PROCESSOR_LIST", first]
    with pytest.raises(UserError, match="cores can't be chosen: this MPICH"):
        options("mpich-4")
    lines = [f"rank {r}={placement[r]} slot={cores[r].number}" for r in range(6)]
    for form, told in (("openmpi", ["--map-by", "rankfile:file=/x/hosts"]),
                       ("openmpi-4", ["--rankfile", "/x/hosts"])):  # fmt: skip
        found = launch_files.order(form, HOSTS, placement, FILE, cores)
        assert list(found.options) == [*told, "-H", "a:4,b:4"]
        assert found.content.splitlines() == lines


def test_a_core_of_several_ranks_must_be_allowed() -> None:
    cores = bind(ring([0, 1, 2, 3]), ["a"] * 4, "core:2 pu:1", alike=False)
    found = launch_files.order("openmpi", HOSTS, ["a"] * 4, FILE, cores)
    assert "core:overload-allowed" in found.options


def test_the_command_writes_cores(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matrix, net = tmp_path / "pairs.csv", tmp_path / "net.json"
    matrix.write_text("from,to,messages,bytes\n0,3,10,1000000\n1,2,10,1000000\n")
    network.write(network.even_network(2, 1e-4, 1e8), net)
    words = ["place", str(matrix), "--network", str(net), "-H", "host0:4,host1:4"]
    words += ["--write", "openmpi-4", "-o", str(tmp_path / "ranks"), "--bind", "package:2 core:2"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "their cores" in said and f"--rankfile {tmp_path / 'ranks'}" in said
    found = re.findall(r"rank (\d)=host0 slot=(\d)", (tmp_path / "ranks").read_text())
    core = {int(rank): int(number) for rank, number in found}
    assert core[0] // 2 == core[3] // 2 and core[1] // 2 == core[2] // 2
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["cores"] == [core[rank] for rank in range(4)]


def test_a_run_binds_ranks_by_the_named_matrix(tmp_path: Path) -> None:
    matrix, launcher = tmp_path / "pairs.csv", tmp_path / "mpiexec"
    matrix.write_text("from,to,messages,bytes\n0,3,10,1000000\n1,2,10,1000000\n")
    launcher.write_text("#!/bin/sh\necho 'mpirun (Open MPI) 5.0.7'\n")
    launcher.chmod(0o755)
    request = Request(
        ranks=4, hosts="localhost:4", launcher=str(launcher), matrix=matrix,
        bind="package:2 core:2",
    )  # fmt: skip
    prepared = prepare(request, ["./app"])
    cores = [core.number for core in prepared.cores]
    assert sorted(cores) == [0, 1, 2, 3]
    assert cores[0] // 2 == cores[3] // 2 and cores[1] // 2 == cores[2] // 2
    order = prepared.order(tmp_path / "ranks")
    assert f"rank 3=localhost slot={cores[3]}\n" in order.content
    # Where nothing is known of the messages, ranks have cores in their order.
    unknown = prepare(replace(request, matrix=None), [str(tmp_path / "app")])
    assert [core.number for core in unknown.cores] == [0, 1, 2, 3]
    with pytest.raises(UserError, match="nonsense"):
        prepare(replace(request, bind="nonsense"), ["./app"])
