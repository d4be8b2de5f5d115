"""Which launcher belongs to a program, and the command lines that it is given."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from thalweg import launcher, program_output
from thalweg.errors import UserError
from thalweg.launch_files import Order
from thalweg.launcher import Launcher

OPENMPI = Launcher(Path("/opt/x/bin/mpirun"), "openmpi", "4.1.4")
MPICH = Launcher(Path("/opt/x/bin/mpiexec"), "mpich", "4.0.2")
ORDER = Order(["-hosts", "a:2,b:1"])


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "PRTE_MCA_plm_ssh_agent", "OMPI_MCA_plm_rsh_agent", "HYDRA_LAUNCHER_EXEC", "HYDRA_LAUNCHER",
        "I_MPI_HYDRA_BOOTSTRAP", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE",
        "OAR_NODEFILE", "COBALT_NODEFILE", "SLURM_JOB_NODELIST",
    ):  # fmt: skip
        monkeypatch.delenv(name, raising=False)


def fake(folder: Path, name: str, says: str) -> Path:
    """A program that prints something whatever it is asked."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n")
    path.chmod(0o755)
    return path


def test_open_mpi_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    command = OPENMPI.command(3, ORDER, {"LD_PRELOAD": "/l.so", "A": "b c"}, ["./app", "-n", "7"])
    assert command == [
        "/opt/x/bin/mpirun", "-hosts", "a:2,b:1", "-x", "LD_PRELOAD=/l.so", "-x", "A=b c",
        "-n", "3", "./app", "-n", "7",
    ]  # fmt: skip


def test_root_is_told_to_open_mpi_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert "--allow-run-as-root" in OPENMPI.command(1, Order(), {}, ["./app"])
    assert "--allow-run-as-root" not in MPICH.command(1, Order(), {}, ["./app"])


def test_mpich_command() -> None:
    command = MPICH.command(3, ORDER, {"LD_PRELOAD": "/l.so"}, ["./app"])
    assert command == [
        "/opt/x/bin/mpiexec", "-hosts", "a:2,b:1", "-genv", "LD_PRELOAD", "/l.so",
        "-n", "3", "./app",
    ]  # fmt: skip


def test_a_launchers_own_variables_are_set_for_each_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    for launcher_of_all, options in (
        (OPENMPI, ["-x", "A=1", "-x", "B=2"]),
        (replace(OPENMPI, version="5.0.7"), ["-x", "A=1", "-x", "B=2"]),
        (MPICH, ["-genv", "A", "1", "-genv", "B", "2"]),
    ):
        own = replace(launcher_of_all, variables={"A": "1"})
        assert own.command(1, Order(), {"B": "2"}, ["./app"])[1:-3] == options


def test_launchers_take_placements_in_forms_of_their_own(tmp_path: Path) -> None:
    assert OPENMPI.form == "openmpi-4"
    assert Launcher(Path("mpirun"), "openmpi", "5.0.11").form == "openmpi"
    assert Launcher(Path("prterun"), "openmpi", "5.x (PRRTE 4.0.0)").form == "openmpi"
    old = fake(tmp_path, "old", "  -hosts {host list}")
    new = fake(tmp_path, "new", "  -rankmap {rank map}  comma separated rank to node id list")
    assert Launcher(old, "mpich", "4.0.2").form == "mpich-4"
    assert Launcher(new, "mpich", "5.0.2").form == "mpich"
    intel = Launcher(new, "mpich", "2021.19.0")
    assert (intel.form, intel.name) == ("intel", "Intel MPI 2021.19.0")


@pytest.mark.parametrize(
    ("name", "says", "form", "other"),
    [
        ("mpirun", "mpirun (Open MPI) 4.1.4", "openmpi", "openmpi-4"),
        ("mpirun", "mpirun (Open MPI) 4.1.4", "openmpi-4", None),
        ("mpirun", "mpirun (Open MPI) 5.0.7", "openmpi-4", "openmpi"),
        ("mpiexec", "HYDRA\n Version: 4.0.2\n -hosts", "mpich", "mpich-4"),
        ("mpiexec", "HYDRA\n Version: 4.2.0\n -hosts -rankmap", "mpich", None),
        ("mpiexec.hydra", "Intel(R) MPI Library, Version 2021.18 Build", "mpich", "intel"),
        ("mpiexec.hydra", "Intel(R) MPI Library, Version 2021.18 Build", "intel", None),
        ("mpirun", "mpirun (Open MPI) 4.1.4", "mpich", None),
        ("mpirun", "mpirun (Open MPI) 4.1.4", "slurm", None),
        ("mpirun", "mpirun (Open MPI) 4.1.4", "cray", None),
    ],
)
def test_the_launcher_on_the_path_may_take_another_form(
    own_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    says: str,
    form: str,
    other: str | None,
) -> None:
    path = fake(own_cache, name, says)
    monkeypatch.setenv("PATH", str(own_cache))
    monkeypatch.setattr(program_output, "printed", lambda _: path.read_text())
    found = launcher.other_on_path(form)
    assert (found and (found.path, found.form)) == (other and (path, other))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mpirun.openmpi (OpenRTE) 4.1.4\n\nReport bugs to http://", ("openmpi", "4.1.4")),
        ("mpirun (Open MPI) 5.0.11\n", ("openmpi", "5.0.11")),
        ("prterun (PRRTE) 3.0.3\n", ("openmpi", "5.x (PRRTE 3.0.3)")),
        ("HYDRA build details:\n    Version:       4.0.2\n", ("mpich", "4.0.2")),
        ("Intel(R) MPI Library for Linux* OS, Version 2021.18 Build", ("mpich", "2021.18")),
        ("GNU coreutils 9.1", ("", "")),
        ("", ("", "")),
    ],
)
def test_versions(text: str, expected: tuple[str, str]) -> None:
    assert launcher.identify(text) == expected


@pytest.mark.parametrize(
    ("listing", "expected"),
    [
        ("\tlibmpi.so.40 => /usr/lib/libmpi.so.40 (0x7f)\n", "/usr/lib/libmpi.so.40"),
        ("\tlibmpi_mpifh.so.40 => /o/libmpi_mpifh.so.40 (0x7f)\n", "/o/libmpi_mpifh.so.40"),
        ("\tlibmpich.so.12 => /usr/lib/libmpich.so.12 (0x7f)\n", "/usr/lib/libmpich.so.12"),
        ("\tlibm.so.6 => /l/libm.so.6 (0x1)\n\tlibmpi.so.12 => not found\n", "libmpi.so.12"),
        ("\tlibmpi.so.41 => /l/libmpi.so.41 (0x1)\n", None),
        ("\tlibmpdec.so.3 => /l/libmpdec.so.3 (0x1)\n", None),
        ("\tnot a dynamic executable\n", None),
    ],
)
def test_the_library_that_a_program_loads(listing: str, expected: str | None) -> None:
    assert launcher.library_of(listing) == (Path(expected) if expected else None)


def test_the_launcher_beside_the_library_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path / "path", "mpirun", "mpirun (Open MPI) 4.1.4")
    own = fake(tmp_path / "own" / "bin", "mpirun", "mpirun (Open MPI) 5.0.7")
    library = tmp_path / "own" / "lib" / "libmpi.so.40"
    library.parent.mkdir()
    library.touch()
    monkeypatch.setenv("PATH", f"{tmp_path / 'path'}:/usr/bin:/bin")
    assert launcher.find("openmpi", library) == Launcher(own, "openmpi", "5.0.7")


def test_a_launcher_of_the_other_library_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path, "mpirun", "HYDRA build details:\n Version: 4.0.2")
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin-without-mpi")
    monkeypatch.setattr(program_output, "printed", lambda command: Path(command[0]).read_text())
    assert launcher.find("mpich").path == tmp_path / "mpirun"
    with pytest.raises(UserError, match="no launcher of Open MPI on the PATH"):
        launcher.find("openmpi")


def test_a_launcher_in_this_folder_is_not_looked_for_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "mpirun"
    script.write_text("#!/bin/sh\necho 'mpirun (Open MPI) 4.1.4'\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert launcher.at("./mpirun").path == script


def test_a_binary_is_asked_once_as_long_as_it_stays_the_same(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    says = "mpirun (Open MPI) 4.1.4"

    def output(command: list[str]) -> str:
        asked.append(command[1])
        return says

    monkeypatch.setattr(program_output, "printed", output)
    binary = own_cache / "mpirun"

    def versions(content: bytes) -> list[str]:
        """What two runs take a launcher's version for."""
        binary.write_bytes(content)
        binary.chmod(0o755)
        asked.clear()
        return [launcher.at(str(binary)).version for _ in range(2)]

    assert versions(b"\x7fELF, of 4.1.4") == ["4.1.4"] * 2 and asked == ["--version"]
    says = "mpirun (Open MPI) 5.0.11"
    assert versions(b"\x7fELF, of 5.0.11") == ["5.0.11"] * 2 and asked == ["--version"]
    assert versions(b"#!/bin/sh") == ["5.0.11"] * 2 and asked == ["--version"] * 2
    says = "mpirun: error while loading shared libraries"
    for _ in range(2):
        with pytest.raises(UserError, match="neither of Open MPI"):
            versions(b"\x7fELF, broken")
        assert asked == ["--version"]
    says = "mpirun (Open MPI) 5.0.11"
    assert versions(b"\x7fELF, broken") == ["5.0.11"] * 2


def test_a_damaged_cache_of_answers_is_made_anew(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = own_cache / "mpiexec"
    binary.write_bytes(b"\x7fELF")
    binary.chmod(0o755)
    kept = own_cache / "thalweg/launchers.json"
    kept.parent.mkdir()
    for damaged in ("", "[1]", '{"a": 1}', "\N{REPLACEMENT CHARACTER}"):
        kept.write_text(damaged)
        monkeypatch.setattr(program_output, "printed", lambda _: "HYDRA\n Version: 4.0.2\n")
        assert launcher.at(str(binary)).version == "4.0.2"
        monkeypatch.setattr(program_output, "printed", lambda _: "")
        assert launcher.at(str(binary)).version == "4.0.2"


def test_what_is_no_launcher_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"launcher \./none: no such program"):
        launcher.at("./none")
    other = fake(tmp_path, "mpirun", "GNU hello 1.0")
    with pytest.raises(UserError, match="neither of Open MPI, MPICH nor Intel MPI"):
        launcher.at(str(other))


@pytest.mark.parametrize("name", ["srun", "start"])
def test_who_names_srun_is_told_how_it_places_ranks(tmp_path: Path, name: str) -> None:
    srun = fake(tmp_path, name, "slurm 22.05.8")
    message = f"launcher {srun}: .*mpirun or mpiexec.*`thalweg place RUN --write slurm -o FILE`"
    with pytest.raises(UserError, match=message):
        launcher.at(str(srun))


def test_who_names_flux_is_told_how_programs_are_started(tmp_path: Path) -> None:
    flux = fake(tmp_path, "flux", "commands: 0.60.0")
    message = rf"launcher {flux}: .*mpirun or mpiexec.*-H \"\$\(flux getattr hostlist\)\""
    with pytest.raises(UserError, match=message):
        launcher.at(str(flux))


def test_programs_that_do_not_tell_their_library(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"program \./none: no such program"):
        launcher.of_program(["./none"])
    with pytest.raises(UserError, match=f"program {tmp_path}: is a folder; name a program in it"):
        launcher.of_program([str(tmp_path)])
    file = fake(tmp_path, "not yet", "nothing")
    file.chmod(0o644)
    with pytest.raises(UserError, match=f"isn't executable; `chmod \\+x '{file}'` makes it so"):
        launcher.of_program([str(file)])
    with pytest.raises(UserError, match="can't tell which MPI library it uses"):
        launcher.of_program([str(fake(tmp_path, "script", "nothing"))])


def test_a_program_that_may_only_be_executed_does_not_tell_its_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = fake(tmp_path, "licensed", "nothing")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied", str(program))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UserError, match=r"can't tell which MPI library it uses; name .*--launcher"):
        launcher.of_program([str(program)])


def test_a_python_script_uses_its_interpreters_mpi4py(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "mpi4py"
    package.mkdir()
    # Maps a file of that name, as loading the library would.
    (tmp_path / "libmpi.so.40.30.4").write_bytes(b"x" * 4096)
    (package / "__init__.py").write_text("class rc: initialize = True\n")
    (package / "MPI.py").write_text(
        "import mmap, pathlib\n"
        f"file = open({str(tmp_path / 'libmpi.so.40.30.4')!r}, 'rb')\n"
        "keep = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n"
    )
    script = tmp_path / "script.py"
    script.write_text(f"#!{sys.executable}\n")
    script.chmod(0o755)
    python = tmp_path / "python3"
    python.symlink_to(sys.executable)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    found: list[tuple[str, Path | None]] = []
    monkeypatch.setattr(launcher, "find", lambda *arguments: found.append(arguments))
    for program in ([str(script)], [sys.executable, "script.py"]):
        launcher.of_program(program)
    assert found == [("openmpi", tmp_path / "libmpi.so.40")] * 2


def test_hosts_are_reached_as_the_launcher_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ssh = ["ssh", "-x", "-o", "BatchMode=yes", "-o", "ConnectTimeout=7", "far", "true"]
    assert OPENMPI.reach("far", 7) == ssh
    assert MPICH.reach("far", 7) == ssh
    monkeypatch.setenv("OMPI_MCA_plm_rsh_agent", "/bin/agent -v : rsh")
    monkeypatch.setenv("HYDRA_LAUNCHER_EXEC", "/bin/other")
    assert OPENMPI.reach("far", 7) == ["/bin/agent", "-v", "far", "true"]
    assert MPICH.reach("far", 7) == ["/bin/other", "far", "true"]


def test_nothing_to_reach_on_this_machine_or_under_a_batch_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert OPENMPI.reach("localhost", 7) is None
    with monkeypatch.context() as job:
        job.setenv("SLURM_JOB_ID", "1")
        assert OPENMPI.reach("far", 7) is None
    for variable in ("PE_HOSTFILE", "OAR_NODEFILE", "COBALT_NODEFILE"):
        with monkeypatch.context() as job:
            job.setenv(variable, "/hosts")
            assert OPENMPI.reach("far", 7) is None
            assert MPICH.reach("far", 7) is None
    for variable in ("HYDRA_LAUNCHER", "I_MPI_HYDRA_BOOTSTRAP"):
        with monkeypatch.context() as job:
            job.setenv(variable, "slurm")
            assert MPICH.reach("far", 7) is None


@pytest.mark.parametrize("folder", ["lib", "lib64", "lib/release"])
def test_our_programs_find_a_library_outside_the_system(
    tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    path = fake(tmp_path / "bin", "mpirun", "")
    own = Launcher(path, "openmpi", "5.0.0")
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "libmpi_other.so.40").touch()
    assert own.libraries() == {}
    (tmp_path / folder / "libmpi.so.40").touch()
    assert own.libraries() == {"LD_LIBRARY_PATH": str(tmp_path / folder)}
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/ucx/lib")  # which the library may need
    assert own.libraries() == {"LD_LIBRARY_PATH": f"{tmp_path / folder}:/opt/ucx/lib"}


@pytest.mark.parametrize("folder", ["lib", "lib64", "lib/release"])
def test_the_launcher_of_a_librarys_own_installation_is_found(tmp_path: Path, folder: str) -> None:
    said = "echo 'Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 1'"
    path = fake(tmp_path / "bin", "mpiexec.hydra", said)
    (tmp_path / folder).mkdir(parents=True)
    library = tmp_path / folder / "libmpi.so.12"
    library.touch()
    assert launcher.find("mpich", library) == Launcher(path, "mpich", "2021.9")


def test_variables_join_a_list_of_the_users_for_open_mpi_4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_MCA_mca_base_env_list", "FOO=7")
    assert OPENMPI.setting({"A": "1", "B": "x y"}) == [
        "--mca", "mca_base_env_list", "FOO=7;A=1;B=x y",
    ]  # fmt: skip
    assert Launcher(Path("mpirun"), "openmpi", "5.0.7").setting({"A": "1"}) == ["-x", "A=1"]
    with pytest.raises(UserError, match="B has a semicolon"):
        OPENMPI.setting({"B": "bcast=chain;reduce=native"})
