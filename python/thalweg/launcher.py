"""Launches MPI programs: finds a program's MPI library and its launcher, and makes the command line
that starts it on given hosts."""

import contextlib
import errno
import os
import re
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from thalweg import batch_job, program_output
from thalweg.errors import UserError
from thalweg.hosts import is_this_machine
from thalweg.launch_files import Order

FLAVOURS = {"openmpi": "Open MPI", "mpich": "MPICH"}
"""Libraries by ABI, each with one runtime library: MPICH includes Intel MPI."""

_LAUNCHERS = {
    "openmpi": ("mpirun", "mpiexec", "mpirun.openmpi"),
    "mpich": ("mpiexec.hydra", "mpiexec", "mpirun", "mpiexec.mpich"),
}
"""The distribution's own names come last: what the user has loaded comes first."""
NAMES = ("mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.mpich", "mpiexec.hydra")
"""What launchers of either flavour are called, those that the user has loaded first."""
LIBRARIES = {"openmpi": ("libmpi.so.40",), "mpich": ("libmpi.so.12", "libmpich.so.12")}
"""What MPI libraries' files are called, of each flavour."""
_LIBRARY_FOLDERS = ("lib", "lib64", "lib/release")
_SYSTEM = (Path("/usr"), Path("/usr/local"), Path("/"))
_LIBMPI = re.compile(r"libmpi(?:_\w+)?\.so\.40|libmpi(?:ch|fort|cxx|chfort|chcxx)?\.so\.12")
# Loads mpi4py's MPI library without initialising it, and says which file it is.
_MPI4PY = (
    "import mpi4py; mpi4py.rc.initialize = False; from mpi4py import MPI; import re\n"
    "print(*(line.split()[-1] for line in open('/proc/self/maps') if re.search(r'/libmpi', line)))"
)
_LIST = "mca_base_env_list"
"""Open MPI 4's parameter of variables for the program, name=value or names, with semicolons."""


@dataclass(frozen=True)
class Launcher:
    """The mpirun or mpiexec of one MPI library."""

    path: Path
    flavour: str
    version: str
    variables: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Set for each program that it starts."""

    @property
    def name(self) -> str:
        library = "Intel MPI" if self._is_intel else FLAVOURS[self.flavour]
        return f"{library} {self.version}"

    @cached_property
    def form(self) -> str:
        """Which of thalweg.launch_files.FORMS it takes placements in."""
        if self.flavour == "openmpi":
            return "openmpi-4" if self._release < 5 else "openmpi"
        if self._is_intel:
            return "intel"
        said = program_output.answer(str(self.path), "--help", lambda said: "-hosts" in said)
        return "mpich" if "-rankmap" in said else "mpich-4"

    @property
    def _release(self) -> int:
        return int(self.version.partition(".")[0] or 0)

    @property
    def _is_intel(self) -> bool:
        """Intel MPI's releases are years."""
        return self.flavour == "mpich" and self._release > 2000

    def command(
        self,
        ranks: int,
        order: Order,
        environment: Mapping[str, str],
        program: Sequence[str],
    ) -> list[str]:
        """Returns the command line that runs `program` on `ranks` ranks.

        With an order of no options, on hosts of the launcher's own choice: those of the batch
        system, or this machine. `environment` is set for the program only, not for the launcher
        and its daemons.
        """
        command = [str(self.path)]
        # Open MPI refuses root by default. A user who calls us as root has chosen that.
        if self.flavour == "openmpi" and os.geteuid() == 0:
            command += ["--allow-run-as-root"]
        command += [*order.options, *self.setting({**self.variables, **environment})]
        return [*command, "-n", str(ranks), *program]

    def setting(self, environment: Mapping[str, str]) -> list[str]:
        """Returns the options that set variables for the program only.

        Raises UserError if they can't be added to a list that the user has.
        """
        if self.flavour == "openmpi" and (listed := self._listed_by_user()):
            return ["--mca", _LIST, ";".join([listed, *map(_listable, environment.items())])]
        if self.flavour == "openmpi":
            return [
                word for name, value in environment.items() for word in ("-x", f"{name}={value}")
            ]
        return [word for name, value in environment.items() for word in ("-genv", name, value)]

    def _listed_by_user(self) -> str:
        """Returns the variables that the user sets by a list of Open MPI 4's, which goes on neither
        with -x nor beside another such list."""
        return os.environ.get(f"OMPI_MCA_{_LIST}", "") if self.version.startswith("4") else ""

    def reach(self, host: str, seconds: int) -> list[str] | None:
        """Returns a command that succeeds if the launcher can start a program on `host`.

        Returns None if no test is needed or possible: this machine, or a batch system.
        """
        if is_this_machine(host):
            return None
        agent = self._agent()
        if not agent:
            return None
        if Path(agent[0]).name == "ssh":
            agent += ["-x", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={seconds}"]
        return [*agent, host, "true"]

    def libraries(self) -> dict[str, str]:
        """Returns the environment in which our own programs find the launcher's MPI library, and
        with it what it needs itself.

        It is empty if the library is on the system's search path.
        """
        library = library_beside(self.flavour, self.path)
        if library is None or library.parent.parent in _SYSTEM:
            return {}
        known = os.environ.get("LD_LIBRARY_PATH", "")
        return {"LD_LIBRARY_PATH": ":".join(filter(None, [str(library.parent), known]))}

    def _agent(self) -> list[str]:
        """Returns the command with which the launcher starts its daemons, such as ssh."""
        if self.flavour == "openmpi":
            names = [f"{prefix}_MCA_plm_{kind}_agent" for prefix in ("PRTE", "OMPI")
                     for kind in ("ssh", "rsh")]  # fmt: skip
            if self.version.startswith("4"):
                names.reverse()
        else:
            names = ["HYDRA_LAUNCHER_EXEC", "I_MPI_HYDRA_BOOTSTRAP_EXEC"]
            bootstraps = ("HYDRA_LAUNCHER", "HYDRA_BOOTSTRAP", "I_MPI_HYDRA_BOOTSTRAP")
            if next(filter(None, map(os.environ.get, bootstraps)), "ssh") not in ("ssh", "rsh"):
                return []
        for name in names:
            if agent := os.environ.get(name):
                return shlex.split(agent.split(":")[0])
        return [] if batch_job.is_inside(os.environ) else ["ssh"]


def at(path: str) -> Launcher:
    """Returns the launcher of this path, or of this name on the PATH.

    Raises UserError if it is unknown.
    """
    found = shutil.which(path)
    if not found:
        raise UserError(
            f"launcher {path}: no such program; name the mpirun or mpiexec of an MPI library"
        )
    said = _said_of_version(found)
    flavour, version = identify(said)
    if Path(found).name == "srun" or said.startswith("slurm "):
        raise UserError(
            f"launcher {path}: programs are started by mpirun or mpiexec, so name that of the MPI "
            "library, or let `thalweg place RUN --write slurm -o FILE` write the host of each rank "
            "and print the srun command that starts them so"
        )
    if Path(found).name == "flux":
        raise UserError(
            f"launcher {path}: programs are started by mpirun or mpiexec, so name that of the MPI "
            f"library; in a Flux instance {batch_job.FLUX_HOSTS}"
        )
    if not flavour:
        raise UserError(
            f"launcher {path}: neither of Open MPI, MPICH nor Intel MPI; name the mpirun or "
            "mpiexec of one of them"
        )
    # A Path drops the "./" without which the launcher would be looked for on the PATH.
    return Launcher(Path(found).absolute(), flavour, version)


def library_beside(flavour: str, launcher: Path) -> Path | None:
    """Returns the MPI library of the installation that a launcher is in, if it has one."""
    prefix = launcher.resolve().parent.parent
    places = (prefix / folder / name for folder in _LIBRARY_FOLDERS for name in LIBRARIES[flavour])
    return next((place for place in places if place.is_file()), None)


def start_error(command: Sequence[str], error: OSError) -> UserError:
    """Returns what is said where the system doesn't start a launcher."""
    remedy = "name another one with --launcher"
    if error.errno == errno.E2BIG:
        remedy = "list fewer hosts, or shorten the program's arguments or the environment"
    return UserError(f"launcher {command[0]} can't be started: {error.strerror}; {remedy}")


def identify(text: str) -> tuple[str, str]:
    """Returns flavour and version from the output of `mpirun --version`; empty if unknown."""
    if found := re.search(r"(?:Open MPI|OpenRTE)\)? v?(\d[\w.]*)", text):
        return "openmpi", found[1]
    if found := re.search(r"PRRTE\)? v?(\d[\w.]*)", text):  # which launches from Open MPI 5 on
        return "openmpi", f"5.x (PRRTE {found[1]})"
    if "HYDRA" in text and (found := re.search(r"Version:\s*(\d[\w.]*)", text)):
        return "mpich", found[1]
    if found := re.search(r"Intel\(R\) MPI.*Version (\d[\w.]*)", text):
        return "mpich", found[1]
    return "", ""


def find(flavour: str, libmpi: Path | None = None) -> Launcher:
    """Returns the launcher of an MPI library: beside `libmpi` if given, else on the PATH.

    Raises UserError if there is none.
    """
    if flavour not in FLAVOURS:
        raise UserError(f"MPI library '{flavour}' is not known; choose {' or '.join(FLAVOURS)}")
    names = _LAUNCHERS[flavour]
    # Intel MPI has its library in lib/release.
    prefixes = libmpi.resolve().parents[1:4] if libmpi else ()
    beside = [str(prefix / "bin" / name) for prefix in prefixes for name in names]
    for candidate in [*beside, *names]:
        if not (found := shutil.which(candidate)):
            continue
        its_flavour, version = _version_of(found)
        if its_flavour == flavour:
            return Launcher(Path(found), flavour, version)
    raise UserError(
        f"no launcher of {FLAVOURS[flavour]} on the PATH (looked for {', '.join(names)}); "
        "install it, or name it with --launcher"
    )


def other_on_path(form: str) -> Launcher | None:
    """Returns the launcher on the PATH of the MPI library that a form of launch_files.FORMS is for,
    if it takes placements in another form. None for forms of batch systems."""
    flavour = "mpich" if form == "intel" else form.removesuffix("-4")
    if flavour not in FLAVOURS:
        return None
    with contextlib.suppress(UserError):  # There is none: the placement is for another machine.
        found = find(flavour)
        return found if found.form != form else None
    return None


def default() -> Launcher:
    """Returns the launcher that the user's `mpirun` or `mpiexec` is, or any installed one.

    Raises UserError if there is none.
    """
    for name in NAMES:
        if found := shutil.which(name):
            flavour, version = _version_of(found)
            if flavour:
                return Launcher(Path(found), flavour, version)
    raise UserError("no MPI launcher on the PATH; install Open MPI or MPICH, or use --launcher")


def of_program(program: Sequence[str]) -> Launcher:
    """Returns the launcher that belongs to the MPI library which a program uses.

    Looks at the libraries that the program loads; for Python programs at mpi4py.
    Raises UserError if the program doesn't exist or its library can't be found.
    """
    path = shutil.which(program[0])
    if not path:
        raise UserError(f"program {program[0]}: {_not_found(program[0])}")
    libmpi = library_of(program_output.printed(["ldd", path])) or _library_of_python(Path(path))
    if not libmpi:
        raise UserError(
            f"program {program[0]}: can't tell which MPI library it uses; "
            "name its launcher with --launcher"
        )
    return find(_flavour(libmpi), libmpi)


def _not_found(program: str) -> str:
    """Says why a program isn't found, and what to do."""
    if "/" not in program or not os.access(program, os.F_OK):
        return "no such program; give its path"
    if Path(program).is_dir():
        return "is a folder; name a program in it"
    return f"isn't executable; `chmod +x {shlex.quote(program)}` makes it so"


def flavour_of(program: Sequence[str]) -> str | None:
    """Returns the flavour of the MPI library that a program is linked with; None for none, as that
    of an interpreter, which may find another one when it is launched."""
    path = shutil.which(program[0])
    libmpi = library_of(program_output.printed(["ldd", path])) if path else None
    return _flavour(libmpi) if libmpi else None


def _flavour(libmpi: Path) -> str:
    return "openmpi" if libmpi.name.endswith(".40") else "mpich"


def library_of(listing: str) -> Path | None:
    """Returns the MPI library in the output of `ldd`: its name ends in .40 (Open MPI) or .12."""
    for line in listing.splitlines():
        name, _, rest = line.strip().partition(" => ")
        if _LIBMPI.fullmatch(Path(name).name):
            where = rest.split(" (")[0].strip()
            return Path(where if where.startswith("/") else name)
    return None


def _library_of_python(path: Path) -> Path | None:
    """Returns the MPI library that mpi4py uses under a Python interpreter, or in a script."""
    interpreter = path
    if not path.name.startswith("python"):
        try:
            with path.open("rb") as file:
                first = file.readline(256)
        except OSError:  # it may be executed only
            return None
        words = first[2:].decode(errors="replace").split() if first.startswith(b"#!") else []
        words = [word for word in words if Path(word).name.startswith("python")]
        if not words or not (found := shutil.which(words[0])):
            return None
        interpreter = Path(found)
    for loaded in program_output.printed([str(interpreter), "-c", _MPI4PY]).split():
        if found_name := _LIBMPI.match(Path(loaded).name):
            return Path(loaded).with_name(found_name[0])
    return None


def _version_of(path: str) -> tuple[str, str]:
    """Returns flavour and version of a launcher; empty if it is none that is known."""
    return identify(_said_of_version(path))


def _said_of_version(path: str) -> str:
    """Returns what a launcher prints of its version."""
    return program_output.answer(path, "--version", lambda said: identify(said)[0])


def _listable(setting: tuple[str, str]) -> str:
    """Raises UserError if a variable can't be in Open MPI's list."""
    name, value = setting
    if ";" in value:
        raise UserError(
            f"OMPI_MCA_{_LIST} is set, and {name} has a semicolon, which separates that list: set "
            "your variables otherwise, and unset it"
        )
    return f"{name}={value}"
