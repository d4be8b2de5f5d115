"""srun starts each rank on the host that thalweg.launch_files tells it: a Slurm of its own on this
machine, with a slurmd for each of several node names."""

import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from bench import builds
from thalweg import binding, launch_files, launch_order, mapping
from thalweg.hosts import Host
from thalweg.launch_files import Order

HOSTS = [Host("n10", 2), Host("n0", 3), Host("n2", 2), Host("n1", 2), Host("n01", 2)]
CONFIGURATION = """
ClusterName=test
SlurmctldHost={machine}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPort={port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmdSpoolDir={folder}/%n
StateSaveLocation={folder}/state
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin={plugin}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
"""


def free_ports(count: int) -> list[int]:
    taken = [socket.socket() for _ in range(count)]
    for one in taken:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


def daemon(*words: str) -> None:
    """Starts a program that goes into the background by itself."""
    found = shutil.which(words[0], path=f"{os.environ['PATH']}:/usr/sbin")
    assert found, f"{words[0]} is missing: script/setup installs it"
    subprocess.run([found, *words[1:]], check=True, timeout=60)


def working_in(folder: Path) -> list[int]:
    """Processes that have this working folder."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and (entry / "cwd").resolve() == folder:
                found.append(int(entry.name))
    return found


@contextmanager
def slurm(folder: Path, plugin: str) -> Iterator[dict[str, str]]:
    """A Slurm of HOSTS while the block runs: the environment in which srun finds it."""
    machine = socket.gethostname().split(".")[0]
    ports = free_ports(1 + len(HOSTS))
    lines = [
        f"NodeName={host.name} NodeHostname={machine} NodeAddr=127.0.0.1 Port={port} "
        f"CPUs={host.slots}"
        for host, port in zip(HOSTS, ports[1:], strict=True)
    ]
    nodes = ",".join(host.name for host in HOSTS)
    lines.append(f"PartitionName=all Nodes={nodes} Default=YES MaxTime=INFINITE State=UP\n")
    configuration = folder / "slurm.conf"
    head = CONFIGURATION.format(
        machine=machine, user=getpass.getuser(), folder=folder, port=ports[0], plugin=plugin
    )
    configuration.write_text(head + "\n".join(lines))
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    (folder / "state").mkdir()
    try:
        daemon(
            "munged", f"--key-file={key}", f"--socket={folder}/munge.socket", "--force",
            f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log",
            f"--seed-file={folder}/seed",
        )  # fmt: skip
        daemon("slurmctld", "-f", str(configuration), "-c")
        for host in HOSTS:
            (folder / host.name).mkdir()
            daemon("slurmd", "-N", host.name, "-f", str(configuration))
        yield {"SLURM_CONF": str(configuration)}
    finally:
        # Nothing is worth an orderly end, which takes slurmctld seconds.
        for file in folder.glob("*.pid"):
            os.kill(int(file.read_text()), signal.SIGKILL)
        for process in working_in(folder):  # slurmd's own children
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with slurm(tmp_path_factory.mktemp("slurm"), "task/none") as environment:
        yield environment


@pytest.fixture
def binding_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Binds ranks to processors, so no host can have more than this machine."""
    with slurm(tmp_path_factory.mktemp("slurm"), "task/affinity") as environment:
        yield environment


def started_by(
    command: Sequence[str], order: Order, cluster: dict[str, str], ranks: int
) -> list[str]:
    """Starts ranks by another launcher in a job of all hosts, and returns the host of each."""
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(
        ["salloc", "-Q", "-n", str(sum(host.slots for host in HOSTS)), *command, "-n", str(ranks),
         *order.options, "sh", "-c",
         'echo "rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK} $SLURMD_NODENAME."'],
        env={**os.environ, **cluster, **order.environment, **root}, capture_output=True, text=True,
        timeout=100, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return in_order_of_ranks(done, ranks)


def in_order_of_ranks(done: "subprocess.CompletedProcess[str]", ranks: int) -> list[str]:
    found = re.findall(r"rank=(\d+) (\w+)\.", done.stdout)
    by_rank = sorted((int(rank), host) for rank, host in found)
    assert [rank for rank, _ in by_rank] == list(range(ranks)), done.stderr
    return [host for _, host in by_rank]


def launched(order: Order, cluster: dict[str, str], ranks: int) -> list[str]:
    """Starts ranks by srun and returns the host of each."""
    done = subprocess.run(
        ["srun", *order.options, "-n", str(ranks),
         "sh", "-c", 'echo "rank=$SLURM_PROCID $SLURMD_NODENAME."'],
        env={**os.environ, **cluster, **order.environment}, capture_output=True, text=True,
        timeout=100, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return in_order_of_ranks(done, ranks)


IN_ORDER = ["n0", "n0", "n0", "n1", "n1", "n2"]
BLOCKS = ["n2", "n2", "n0", "n1", "n1"]
MIXED = ["n2", "n0", "n1", "n0", "n0", "n2"]


@pytest.mark.parametrize(
    ("name", "form", "placement"),
    [
        *(("openmpi-4.1", "openmpi-4", each) for each in (IN_ORDER, BLOCKS, MIXED)),
        ("mpich-4.0", "mpich-4", IN_ORDER),
        *(("mpich-5.0", "mpich", each) for each in (IN_ORDER, BLOCKS, MIXED)),
    ],
)
def test_other_launchers_start_ranks_where_they_are_told_in_a_job(
    cluster: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, form: str,
    placement: list[str],
) -> None:  # fmt: skip
    build = next((each for each in builds.available() if each.name == name), None)
    if build is None:
        pytest.skip(f"no {name} here")
    with monkeypatch.context() as job:
        job.setenv("SLURM_JOB_ID", "1")
        job.setenv("SLURM_JOB_NODELIST", "n[0,01,1-2,10]")
        order = launch_files.order(form, HOSTS, placement, tmp_path / "hosts")
        assert launch_order.takes_any_order(form) == (form != "mpich-4")
    order.write()
    command = ["env", *(f"{key}={value}" for key, value in build.environment.items())]
    found = started_by([*command, str(build.launcher)], order, cluster, len(placement))
    assert found == placement


@pytest.mark.parametrize(
    "placement",
    [
        ["n2", "n0", "n1", "n0", "n0", "n2"],
        ["n0", "n0", "n0", "n1", "n1", "n2", "n2"],
        ["n1", "n2", "n2", "n1"],
    ],
    ids=["mixed", "filled", "two hosts"],
)
def test_srun_starts_ranks_where_it_is_told(
    cluster: dict[str, str], tmp_path: Path, placement: list[str]
) -> None:
    order = launch_files.order("slurm", HOSTS, placement, tmp_path / "hosts")
    order.write()
    assert launched(order, cluster, len(placement)) == placement


@pytest.mark.parametrize(
    "placement",
    [
        ["n2", "n1", "n1", "n2"],
        ["n2", "n10", "n1", "n01", "n0", "n0", "n01", "n10", "n1", "n2"],
        ["n10", "n2", "n0"],
    ],
    ids=["two hosts", "all hosts", "a rank each"],
)
def test_cray_renumbers_ranks_from_where_srun_starts_them(
    cluster: dict[str, str], tmp_path: Path, placement: list[str]
) -> None:
    order = launch_files.order("cray", HOSTS, placement, tmp_path / "hosts")
    order.write()
    started = launched(order, cluster, len(placement))
    new = [int(rank) for rank in (tmp_path / "hosts").read_text().split(",")]
    assert dict(zip(new, started, strict=True)) == dict(enumerate(placement))


def test_srun_reads_long_lists_of_hosts_from_a_file(
    cluster: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placement = ["n2", "n10", "n1", "n2", "n10", "n1"]
    short = launch_files.order("cray", HOSTS, placement, tmp_path / "short")
    monkeypatch.setattr(launch_files, "LONGEST", 0)
    order = launch_files.order("cray", HOSTS, placement, tmp_path / "long")
    order.write()
    assert order.hosts_file
    assert launched(order, cluster, len(placement)) == launched(short, cluster, len(placement))


@pytest.mark.skipif(not binding.has_hwloc(), reason="this build has no hwloc")
def test_srun_binds_ranks_to_the_cores_that_it_is_told(
    binding_cluster: dict[str, str], tmp_path: Path
) -> None:
    placement = ["n1", "n2", "n2", "n1"]
    matrix = mapping.communication(4, [0, 1], [3, 2], [1, 1], [1000, 1000])
    cores = binding.bind(matrix, placement, "this", alike=True)
    order = launch_files.order("slurm", HOSTS, placement, tmp_path / "hosts", cores)
    order.write()
    says = 'echo "$SLURM_PROCID $(sed -n "s/^Cpus_allowed_list:.//p" /proc/self/status)."'
    done = subprocess.run(
        ["srun", *order.options, "--exclusive", "-n", "4", "sh", "-c", says],
        env={**os.environ, **binding_cluster, **order.environment}, capture_output=True, text=True,
        timeout=100, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    found = sorted(re.findall(r"(\d+) (\S+)\.", done.stdout))
    wanted = [(str(rank), str(core.processors[0])) for rank, core in enumerate(cores)]
    assert found == wanted, done.stderr
