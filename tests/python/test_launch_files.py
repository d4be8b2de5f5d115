"""What launchers are told of placements; tests/mpi/placed.py and test_slurm.py launch with it."""

from pathlib import Path

import pytest

from thalweg import launch_files
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.launch_files import FORMS, Order, order

HOSTS = [Host("a", 2), Host("b", 2), Host("c", 3)]
FILE = Path("/x/hosts")
MIXED = ["c", "a", "c", "c", "b", "a"]
BLOCKS = ["c", "c", "c", "b"]


@pytest.fixture(autouse=True)
def _another_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch_files, "is_this_machine", lambda name: name == "here")
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
    assert order("openmpi-4", hosts, ["a"], FILE).content == "a\n"


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
