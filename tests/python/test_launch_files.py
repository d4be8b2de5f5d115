"""What launchers are told of placements; tests/mpi/placed.py and test_slurm.py launch with it."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from thalweg import launch_files, launch_order
from thalweg.binding import Core
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.launch_files import FORMS, Order, order

HOSTS = [Host("a", 2), Host("b", 2), Host("c", 3)]
FILE = Path("/x/hosts")
MIXED = ["c", "a", "c", "c", "b", "a"]
BLOCKS = ["c", "c", "c", "b"]


@pytest.fixture(autouse=True)
def _another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_order, "is_this_machine", lambda name: name == "here")
    monkeypatch.delenv("PRTE_MCA_hwloc_default_binding_policy", raising=False)


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ("openmpi", ["--map-by", "slot", "-H", "c:3,b:2,a:2"]),
        ("openmpi-4", ["-H", "c:3,b:2,a:2"]),
        ("mpich", ["-hosts", "c:3,b:2,a:2"]),
        ("mpich-4", ["-hosts", "c:3,b:2,a:2"]),
    ],
)
def test_hosts_in_their_order_need_no_file(form: str, options: list[str]) -> None:
    assert order(form, HOSTS, BLOCKS, FILE) == Order(options)


@pytest.mark.parametrize(
    ("policy", "option"),
    [("slot:PE=2", "slot:PE=2"), (":PE=4:OVERSUBSCRIBE", "slot:PE=4:OVERSUBSCRIBE"),
     ("node:PE=2", "slot:PE=2"), ("ppr:2:node", "slot"), ("ppr:2:node:PE=4", "slot:PE=4")],
)  # fmt: skip
def test_the_cores_that_the_user_gives_a_rank_stay(
    monkeypatch: pytest.MonkeyPatch, policy: str, option: str
) -> None:
    monkeypatch.setenv("PRTE_MCA_rmaps_default_mapping_policy", policy)
    found = order("openmpi", HOSTS, BLOCKS, FILE)
    assert list(found.options[:2]) == ["--map-by", option]
    assert ("isn't followed" in found.remark) == policy.startswith(("node", "ppr"))


@pytest.mark.parametrize(
    ("policy", "by"),
    [("node", "slot"), ("ppr:1:node", "slot"), ("node:PE=2", "slot:PE=2"), ("slot", "slot")],
)
def test_open_mpi_4_fills_slots_whatever_policy_the_user_has(
    policy: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_rmaps_base_mapping_policy", policy)
    found = order("openmpi-4", HOSTS, BLOCKS, FILE)
    assert found.options == ["--map-by", by, "-H", "c:3,b:2,a:2"]
    assert bool(found.remark) == (policy != "slot")


def test_a_rankfile_has_no_colon_in_its_name() -> None:
    cores = cast("list[Core]", [SimpleNamespace(number=at) for at in range(len(BLOCKS))])
    with pytest.raises(UserError, match="colon"):
        order("openmpi", HOSTS, BLOCKS, Path("/x/12:30/ranks"), cores)
    assert order("openmpi-4", HOSTS, BLOCKS, Path("/x/12:30/ranks"), cores).file


def test_a_host_that_is_not_filled_gets_no_more_than_its_ranks() -> None:
    assert order("mpich", HOSTS, ["c", "a", "b"], FILE) == Order(["-hosts", "c:1,a:1,b:2"])


@pytest.mark.parametrize(
    ("form", "options", "content"),
    [
        ("openmpi", ["--map-by", "seq", "--bind-to", "none", "--hostfile", "/x/hosts"],
         "c\na\nc\nc\nb\na\n"),
        ("openmpi-4", ["--mca", "rmaps", "seq", "--hostfile", "/x/hosts"], "c\na\nc\nc\nb\na\n"),
        ("mpich", ["-f", "/x/hosts", "-rankmap", "2,0,(2,1,2),1,0"], "a:2\nb:2\nc:3\n"),
        ("mpich-4", ["-f", "/x/hosts"], "c:1\na:1\nc:2\nb:1\na:1\n"),
        ("intel", ["-machinefile", "/x/hosts"], "c:1\na:1\nc:2\nb:1\na:1\n"),
        ("slurm", ["-m", "arbitrary"], "c\na\nc\nc\nb\na\n"),
    ],
)  # fmt: skip
def test_any_order(form: str, options: list[str], content: str) -> None:
    found = order(form, HOSTS, MIXED, FILE)
    assert (list(found.options), found.content, found.file) == (options, content, FILE)
    assert bool(found.remark) == (form == "mpich-4")
    assert found.unbound == form.startswith("openmpi")
    assert len(found.remarks) == (found.unbound or bool(found.remark))


def test_open_mpi_4_begins_with_this_machine_unless_each_rank_is_named() -> None:
    hosts = [Host("here"), Host("a")]
    assert order("openmpi-4", hosts, ["here", "a"], FILE).file is None
    assert order("openmpi-4", hosts, ["a", "here"], FILE).content == "a\nhere\n"
    assert order("openmpi-4", hosts, ["a"], FILE).options == ["-H", "a:1"]


@pytest.mark.parametrize("chosen", ["slurm", "ssh", None])
def test_intel_mpi_that_starts_by_srun_keeps_slurms_order(
    monkeypatch: pytest.MonkeyPatch, chosen: str | None
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "1")
    monkeypatch.delenv("I_MPI_HYDRA_BOOTSTRAP", raising=False)
    if chosen:
        monkeypatch.setenv("I_MPI_HYDRA_BOOTSTRAP", chosen)
    is_bound_to_it = chosen == "slurm"
    assert launch_order.takes_any_order("intel") != is_bound_to_it
    others = launch_order.as_filled("intel", [Host("b"), Host("a")])
    assert [host.name for host in others] == (["a", "b"] if is_bound_to_it else ["b", "a"])
    assert not order("intel", HOSTS, ["a", "a", "b"], FILE).remark
    for placement in (BLOCKS, MIXED):
        said = order("intel", HOSTS, placement, FILE).remark
        assert ("I_MPI_HYDRA_BOOTSTRAP=ssh" in said) == is_bound_to_it


def test_a_policy_of_binding_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRTE_MCA_hwloc_default_binding_policy", "core")
    assert "--bind-to" not in order("openmpi", HOSTS, MIXED, FILE).options


def test_cray_renumbers_the_ranks_of_hosts_in_slurms_order() -> None:
    placement = ["c", "b", "a", "c", "b", "a"]
    found = order("cray", HOSTS, placement, FILE)
    assert found.options == ["-m", "block", "--ntasks-per-node=2", "-w", "a,b,c"]
    assert found.environment == {
        "MPICH_RANK_REORDER_METHOD": "3",
        "MPICH_RANK_REORDER_FILE": "/x/hosts",
    }
    assert found.content == "2,5,1,4,0,3\n"
    with pytest.raises(UserError, match="on every host, but b has 2 and a 1: use --write slurm"):
        order("cray", HOSTS, ["c", "c", "a", "b", "b"], FILE)


def test_slurm_sorts_numbers_in_names_of_hosts() -> None:
    names = ["n10", "n9b", "n9", "m-2", "n09", "n-1", "nid000010", "nid000009", "n0", "n9b10"]
    found = order("cray", [Host(name) for name in names], names, FILE)
    assert found.options[-1] == "m-2,n-1,n0,n09,n9,n9b,n9b10,n10,nid000009,nid000010"


@pytest.mark.parametrize("form", FORMS)
def test_placements_that_do_not_fit_the_hosts(form: str) -> None:
    with pytest.raises(UserError, match="ranks on d, which isn't among the hosts"):
        order(form, HOSTS, ["a", "d"], FILE)
    with pytest.raises(UserError, match="3 ranks on a, which has 2 slots; list a:3"):
        order(form, HOSTS, ["a", "b", "a", "a"], FILE)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"launch file .*missing/hosts: can't be written"):
        order("slurm", HOSTS, MIXED, tmp_path / "missing" / "hosts").write()
    order("openmpi-4", HOSTS, MIXED, tmp_path / "hosts").write()
    assert (tmp_path / "hosts").read_text().splitlines() == MIXED


def test_commands_are_typed_in_a_shell() -> None:
    file = Path("/x/my hosts")
    assert set(launch_files.PROGRAMS) == set(FORMS)
    line = launch_files.command_line("slurm", order("slurm", HOSTS, MIXED, file), len(MIXED))
    assert line == "SLURM_HOSTFILE='/x/my hosts' srun -m arbitrary -n 6 ./app"
    line = launch_files.command_line("mpich", order("mpich", HOSTS, BLOCKS, file), len(BLOCKS))
    assert line == "mpiexec -hosts c:3,b:2,a:2 -n 4 ./app"


MANY = [Host(f"node{number:041}", 2) for number in range(5000)]
"""Hosts of which no list fits into an argument of a command line."""
IN_TURN = [host.name for host in MANY for _ in range(2)]


@pytest.mark.parametrize(
    ("form", "options", "line"),
    [
        ("openmpi", ["--map-by", "slot", "--hostfile"], "{} slots=2\n"),
        ("openmpi-4", ["--hostfile"], "{} slots=2\n"),
        ("mpich", ["-f"], "{}:2\n"),
        ("mpich-4", ["-f"], "{}:2\n"),
    ],
)
def test_long_lists_of_hosts_are_in_a_file(form: str, options: list[str], line: str) -> None:
    found = order(form, MANY, IN_TURN, FILE)
    assert (list(found.options), found.file) == ([*options, "/x/hosts"], FILE)
    assert found.content == "".join(line.format(host.name) for host in MANY)
    assert not found.remarks


@pytest.mark.parametrize("form", FORMS)
def test_no_argument_is_longer_than_linux_takes(form: str) -> None:
    found = order(form, MANY, IN_TURN, FILE)
    assert max(map(len, found.options)) <= launch_files.LONGEST < 128 << 10


def test_cray_finds_a_long_list_of_hosts_beside_its_file(tmp_path: Path) -> None:
    found = order("cray", MANY, IN_TURN, tmp_path / "ranks")
    assert found.options[-2:] == ["-w", str(tmp_path / "ranks.hosts")]
    found.write()
    names = [host.name for host in MANY]
    assert (tmp_path / "ranks.hosts").read_text().splitlines() == names
    assert (tmp_path / "ranks").read_text().startswith("0,1,2,")


def test_a_rankfile_has_a_long_list_of_hosts_beside_it(tmp_path: Path) -> None:
    cores = cast("list[Core]", [SimpleNamespace(number=at % 2) for at in range(len(IN_TURN))])
    found = order("openmpi-4", MANY, IN_TURN, tmp_path / "ranks", cores)
    assert found.options[-2:] == ["--hostfile", str(tmp_path / "ranks.hosts")]
    found.write()
    first = MANY[0].name
    assert (tmp_path / "ranks").read_text().startswith(f"rank 0={first} slot=0\n")
    assert (tmp_path / "ranks.hosts").read_text().startswith(f"{first} slots=2\n")


def test_a_map_that_is_too_long_is_refused() -> None:
    placement = [host.name for _ in range(2) for host in MANY]
    assert "-rankmap" in order("mpich", MANY[:100], placement[:100] * 2, FILE).options
    hosts = [Host(host.name, 6) for host in MANY]
    message = (
        r"the map of 30000 ranks that MPICH needs \(-rankmap\) takes \d+ bytes"
        ".* more than 100000.*--no-placement"
    )
    with pytest.raises(UserError, match=message):
        order("mpich", hosts, placement * 3, FILE)


def test_capitals_in_names_of_hosts_do_not_count() -> None:
    found = order("mpich", [Host("Node1", 2), Host("node2")], ["NODE2", "node1"], FILE)
    assert found == Order(["-hosts", "node2:1,Node1:2"])
    both = [Host("a"), Host("A")]
    assert order("mpich", both, ["A", "a"], FILE) == Order(["-hosts", "A:1,a:1"])
