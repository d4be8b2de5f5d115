"""What the preloaded runtime does to a program besides its results: one case per call.

behaviour.py FLAVOUR CASE BUILD_FOLDER; exits with 77 where a case needs what isn't installed.
"""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from launch import DEFAULTS, build, environment, environment_of_mpi4py, run

from bench.machine import repository

SKIPPED = 77
Each = TypeVar("Each")
OTHERS = ("openmpi-5.0", "mpich-5.0", "intel-2021")


class Case:
    """What a case has at hand: the programs, a folder of its own, and how to run them."""

    def __init__(self, flavour: str, build: Path, folder: Path) -> None:
        self.flavour = flavour
        self.build = build
        self.folder = folder
        self.library = str(build / "src" / "runtime" / f"libthalweg-{flavour}.so")
        # Ranks outnumber cores here.
        self.others = [str(self.program("libyield.so"))] if flavour == "mpich" else []

    def program(self, name: str) -> Path:
        return self.build / "tests" / "mpi" / name

    def share(self, tests: Sequence[Each]) -> Sequence[Each]:
        """All with Debian's builds; each of the others takes its third of them, or one of two."""
        name = build(self.flavour).name
        if name not in OTHERS:
            return tests
        return tests[OTHERS.index(name) % len(tests) :: len(OTHERS)]

    def run(
        self,
        program: list[str],
        settings: Mapping[str, str] = {},
        ranks: int = 3,
        preload: list[str] | None = None,
    ) -> tuple[str, dict[str, Any]]:
        """Runs to success; what it wrote to stderr and its summary (empty if there is none)."""
        folders = {"THALWEG_TRACE": str(self.folder / "trace"), "TEST_FOLDER": str(self.folder)}
        own = environment([*(preload or [self.library]), *self.others], {**folders, **settings})
        done = run(self.flavour, (ranks, own, program), capture=True)
        assert done.returncode == 0, f"{program} failed:\n{done.stdout}{done.stderr}"
        path = self.folder / "trace" / "summary.json"
        return done.stderr, json.loads(path.read_text()) if path.exists() else {}

    def semantics(
        self, case: str, settings: Mapping[str, str] = {}, **arguments: Any
    ) -> tuple[str, dict[str, Any]]:
        return self.run(
            [str(self.program(f"semantics_{self.flavour}")), case], settings, **arguments
        )


def planned(summary: dict[str, Any]) -> dict[str, int]:
    return {
        name: counts["planned"]["calls"] for name, counts in summary.get("collectives", {}).items()
    }


def native(summary: dict[str, Any], collective: str) -> dict[str, int]:
    counts = summary["collectives"][collective]["native"]
    return {reason: count["calls"] for reason, count in counts.items()}


VECTORS = ["bcast", "reduce", "allreduce", "scan", "exscan", "barrier"]
BLOCKS = ["gather", "scatter", "allgather", "alltoall", "reduce_scatter"]
EACH_ONCE = dict.fromkeys([*VECTORS, *BLOCKS], 1)
# Calls of semantics.cpp's "collectives" where there are several forms.
FORMS = {"allgather": 2, "alltoall": 3, "reduce_scatter": 2, "gather": 2, "scatter": 2}
# Algorithms that can also do what has blocks of sizes that only their ends know.
WITHOUT_RELAYS = {
    "THALWEG_FORCE": DEFAULTS["THALWEG_FORCE"]
    .replace("gather=binomial", "gather=paced-linear", 1)
    .replace("scatter=binomial", "scatter=paced-linear", 1)
}


def said(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith("thalweg: ")]


def unforced(stderr: str) -> list[str]:
    """What is said besides what the program's own forced algorithms can't do."""
    return [line for line in said(stderr) if not line.startswith("thalweg: THALWEG_FORCE: ")]


def fortran(case: Case) -> None:
    for interface in ["mpif", "mpi", "mpi_f08"]:
        program = str(case.program(f"fortran_{interface}_{case.flavour}"))
        _, summary = case.run([program], WITHOUT_RELAYS)
        expected = {
            **EACH_ONCE,
            "allreduce": 2,
            "gather": 2,
            "scatter": 2,
            "scan": 2,
            "allgather": 2,
            "alltoall": 4,
            "reduce_scatter": 2,
        }
        assert planned(summary) == expected, (interface, summary)
        _, summary = case.run([program, "nonblocking"], {"THALWEG_NONBLOCKING": "1"})
        expected = {"bcast": 4, "allreduce": 4}  # once as nonblocking, three times as persistent
        assert planned({"collectives": summary["nonblocking"]}) == expected, (interface, summary)


def mpi4py(case: Case) -> int | None:
    if importlib.util.find_spec("mpi4py") is None:
        return SKIPPED
    script = str(Path(__file__).parent / "with_mpi4py.py")
    settings = WITHOUT_RELAYS | environment_of_mpi4py(build(case.flavour), case.folder)
    _, summary = case.run([sys.executable, script], settings)
    once = {"bcast": 1, "allreduce": 1, "gather": 1, "scatter": 1, "barrier": 1}
    expected = {**once, "allgather": 2, "alltoall": 3}
    assert planned(summary) == expected, summary
    return None


def tools(case: Case) -> None:
    """A tool above sees every call once; a tool below, every call that is native. The runtime's own
    communicators are freed in MPI_Finalize."""
    all_calls = ["3 2 0"] * 3
    for force, below in [("native", all_calls), ("bcast=flat;allreduce=ring", list[str]())]:
        for place, expected in [("above", all_calls), ("below", below)]:
            tool = str(case.program(f"lib{place}_{case.flavour}.so"))
            counts = case.folder / f"{place}-{force[:6]}"
            order = [tool, case.library] if place == "above" else [case.library, tool]
            settings = {"THALWEG_FORCE": force, f"TOOL_FILE_{place.upper()}": str(counts)}
            _, summary = case.semantics("calls", settings, preload=order)
            seen = [path.read_text().strip() for path in case.folder.glob(f"{counts.name}.*")]
            assert seen == expected, (place, force, seen)
            assert planned(summary)["bcast"] == (0 if force == "native" else 3), summary


def without_mpi(case: Case) -> None:
    """Programs without MPI aren't harmed, and nothing but libc is needed or exported."""
    subprocess.run(["env", f"LD_PRELOAD={case.library}", "/bin/true"], check=True)
    dynamic = subprocess.run(
        ["readelf", "-d", case.library], check=True, capture_output=True, text=True
    )
    needed = set(re.findall(r"NEEDED.*\[(.*?)\.so", dynamic.stdout))
    assert needed <= {"libc", "libm", "ld-linux-x86-64", "ld-linux-aarch64"}, needed
    symbols = subprocess.run(
        ["nm", "-D", "--defined-only", case.library], check=True, capture_output=True, text=True
    )
    for line in symbols.stdout.splitlines():
        assert re.fullmatch(r"P?MPIX?_\w+|thalweg_\w+", line.split()[-1]), line


def other_library(case: Case) -> None:
    """A library for another MPI says so."""
    other = "mpich" if case.flavour == "openmpi" else "openmpi"
    library = case.library.replace(case.flavour, other)
    if not Path(library).exists():
        return
    program = [str(case.program(f"semantics_{case.flavour}")), "calls"]
    done = run(case.flavour, (2, environment([library], {}), program), capture=True)
    assert done.returncode != 0
    assert f"libthalweg-{other}.so is preloaded into a program of another MPI" in done.stderr
    source, caller = case.folder / "caller.c", case.folder / "caller"
    source.write_text("int MPI_Init(int *, char ***);\nint main(void) { return MPI_Init(0, 0); }\n")
    own = environment([case.library], {})
    for mpi in with_other_handles(case):
        subprocess.run(
            ["cc", "-o", caller, source, str(mpi), f"-Wl,-rpath,{mpi.parent}"], check=True
        )
        done = subprocess.run(
            ["env", *(f"{name}={value}" for name, value in own.items()), caller],
            check=False, text=True, capture_output=True,
        )  # fmt: skip
        assert done.returncode == 1, (mpi, done.returncode, done.stderr)
        refusal = f"libthalweg-{case.flavour}.so is preloaded into a program of another MPI"
        assert refusal in done.stderr, (mpi, done.stderr)


def with_other_handles(case: Case) -> list[Path]:
    """Libraries that have all of MPI's functions, and other handles: one named as MPItrampoline's,
    and that of MPI's standard ABI, if it is installed."""
    source, trampoline = case.folder / "trampoline.c", case.folder / "libmpitrampoline.so.5"
    source.write_text(
        "".join(
            f"int {name}(int *count, char ***arguments) {{ return 0; }}\n"
            for name in ("MPI_Init", "PMPI_Init")
        )
    )
    compiler = [f"mpicc.{case.flavour}", "-shared", "-fPIC", "-Wl,--no-as-needed"]
    subprocess.run([*compiler, "-o", trampoline, source], check=True)
    abi = repository / ".cache" / "mpi" / "mpich-5.0" / "lib" / "libmpi_abi.so.1"
    return [trampoline, abi] if abi.exists() else [trampoline]


def locale(case: Case) -> int | None:
    """Numbers have a point in JSON where the program's have a comma."""
    if shutil.which("localedef") is None:
        return SKIPPED
    source = case.folder / "comma.txt"
    source.write_text(
        'LC_NUMERIC\ndecimal_point ","\nthousands_sep ""\ngrouping -1\nEND LC_NUMERIC\n'
    )
    # The other categories are missing, which only gives warnings.
    made = ["localedef", "--force", "--quiet", "-i", str(source), str(case.folder / "comma")]
    subprocess.run(made, check=False, capture_output=True)
    settings = {"LOCPATH": str(case.folder), "LC_ALL": "comma", "THALWEG_LAB_DILATION": "2.5"}
    _, summary = case.semantics("locale", settings)
    assert planned(summary) == {"bcast": 3}, summary
    assert summary["dilation"] == 2.5, summary
    return None


def preload(case: Case) -> None:
    case.semantics("preload")


def off(case: Case) -> None:
    """THALWEG=off is quiet, and must be said to all ranks."""
    stderr, summary = case.semantics("calls", {"THALWEG": "off"})
    assert said(stderr) == [] and summary == {}, (stderr, summary)
    program = [str(case.program(f"semantics_{case.flavour}")), "calls"]
    own = environment([case.library, *case.others], {})
    without = {**own, "THALWEG": "no"}
    done = run(case.flavour, (1, own, program), (2, without, program), capture=True)
    assert done.returncode == 0, done.stderr
    assert said(done.stderr) == ["thalweg: ranks differ in THALWEG=off; everything is native"]


def partly_preloaded(case: Case) -> None:
    """Ranks without the library aren't waited for for ever."""
    program = [str(case.program(f"semantics_{case.flavour}")), "calls"]
    own = environment([case.library, *case.others], {"THALWEG_SETUP_TIMEOUT": "2"})
    bare = {"LD_PRELOAD": ":".join(case.others)}
    for first, rest in [(own, bare), (bare, own)]:
        done = run(case.flavour, (1, first, program), (2, rest, program), capture=True)
        assert done.returncode == 0, done.stderr
        # The world's first rank and each host's say so, among those that have the library.
        expected = 1 if first is own else 0
        found = [line for line in said(done.stderr) if "don't have this library loaded" in line]
        assert len(found) == expected, done.stderr


def impatient(case: Case) -> None:
    """Where one rank gives the others up, all do without the library, recorded or not.

    The others come to the agreement when it has (late.c), and a tool below sees all native calls.
    """
    program = [str(case.program(f"semantics_{case.flavour}")), "calls"]
    libraries = [str(case.program(f"lib{name}_{case.flavour}.so")) for name in ("late", "below")]
    begun, record = str(case.folder / "begun"), case.folder / "record"
    for recorded in (False, True):
        settings = {"THALWEG_RECORD": str(record)} if recorded else {}
        for hasty_first in (False, True):
            Path(begun).unlink(missing_ok=True)
            counts = case.folder / f"counts-{recorded}-{hasty_first}"
            own = environment(
                [case.library, *libraries, *case.others],
                {**settings, "TOOL_FILE_BELOW": str(counts)},
            )
            patient = {**own, "THALWEG_SETUP_TIMEOUT": "1", "TEST_WAITS_FOR": begun}
            hasty = {**own, "THALWEG_SETUP_TIMEOUT": "1e-9", "TEST_BEGUN": begun}
            first, rest = (hasty, patient) if hasty_first else (patient, hasty)
            done = run(case.flavour, (1, first, program), (2, rest, program), capture=True)
            assert done.returncode == 0, done.stderr
            (line,) = said(done.stderr)  # rank 0's
            assert "some ranks don't have this library loaded, or took longer" in line, done.stderr
            seen = [path.read_text().strip() for path in case.folder.glob(f"{counts.name}.*")]
            assert seen == ["3 2 0"] * 3, seen
            assert not record.exists()


def plan(case: Case) -> None:
    """A plan decides for the world; placements it doesn't know are planned for when they appear."""
    path = case.folder / "plan"
    subprocess.run([case.program("make_plan"), "4", path], check=True)
    settings = {"THALWEG_FORCE": "", "THALWEG_PLAN": str(path)}
    stderr, summary = case.semantics("calls", settings, ranks=4)
    assert said(stderr) == [], stderr
    assert planned(summary) == {"bcast": 3, "allreduce": 2}, summary
    _, summary = case.semantics("collectives", settings, ranks=4)
    assert planned(summary) == {**EACH_ONCE, **FORMS}, summary
    random = str(case.program(f"random_collectives_{case.flavour}"))
    stderr, summary = case.run([random, "21", "200"], settings, ranks=4)
    assert unforced(stderr) == [], stderr
    # A launcher may have taken another order; what is planned for the found one is right, too.
    other = {**settings, "THALWEG_ASSUME_HOSTS": "b,a,c"}
    stderr, _ = case.run([random, "22", "200"], other, ranks=4)
    (line,) = unforced(stderr)
    assert "rank 0 runs on b, where the plan has it on a (3 of 4 ranks are elsewhere)" in line
    # One rank pretends to be on a host that the plan's network lacks.
    stderr, summary = case.semantics(
        "calls", {**settings, "THALWEG_ASSUME_HOSTS": "a,b,x"}, ranks=4
    )
    assert said(stderr) == ["thalweg: host 'x' isn't in the plan's network; everything is native"]
    assert native(summary, "bcast") == {"unknown-host": 3}, summary


def copies(case: Case) -> None:
    """Ranks take the plan from a file of their own only if it is that of rank 0; it decides."""
    own, other = case.folder / "own", case.folder / "other"
    for folder, hosts in [(own, "3"), (other, "2")]:
        folder.mkdir()
        subprocess.run([case.program("make_plan"), hosts, folder / "whole"], check=True)
    whole, elsewhere = (folder / "whole" for folder in (own, other))
    good = whole.read_bytes()
    files = {
        "same": good, "shorter": good[:-1], "longer": good + b"x", "empty": b"",
        "another": elsewhere.read_bytes(), "missing": None,
    }  # fmt: skip

    def start(*contents: bytes | None) -> tuple[str, dict[str, Any]]:
        """Runs with a file for each rank, at the same relative path."""
        groups = []
        for rank, content in enumerate(contents):
            folder = case.folder / str(rank)
            folder.mkdir(exist_ok=True)
            (folder / "plan").unlink(missing_ok=True)
            if content is not None:
                (folder / "plan").write_bytes(content)
            program = f"cd {folder} && exec {case.program(f'semantics_{case.flavour}')} calls"
            settings = {
                "THALWEG_FORCE": "", "THALWEG_PLAN": "plan",
                "THALWEG_SUMMARY": str(case.folder / "summary.json"),
            }  # fmt: skip
            groups.append(
                (1, environment([case.library, *case.others], settings), ["sh", "-c", program])
            )
        done = run(case.flavour, *groups, capture=True)
        assert done.returncode == 0, done.stderr
        return done.stderr, json.loads((case.folder / "summary.json").read_text())

    for name, content in case.share(list(files.items())):
        stderr, summary = start(good, content, good)
        assert said(stderr) == [], (name, stderr)
        assert planned(summary) == {"bcast": 3, "allreduce": 2}, (name, summary)
    for name in ["shorter", "missing"]:
        stderr, summary = start(files[name], good, good)
        (line,) = said(stderr)
        assert line.startswith("thalweg: plan 'plan' (THALWEG_PLAN): "), stderr
        assert native(summary, "bcast") == {"no-plan": 3}, summary


def listed(case: Case) -> None:
    """A plan may hold schedules that were made elsewhere."""
    path = case.folder / "plan"
    random = str(case.program(f"random_collectives_{case.flavour}"))
    for ranks in case.share([3, 4, 5]):
        subprocess.run([case.program("make_plan"), str(ranks), path, "listed"], check=True)
        settings = {"THALWEG_FORCE": "", "THALWEG_PLAN": str(path)}
        stderr, summary = case.semantics("calls", settings, ranks=ranks)
        assert said(stderr) == [], stderr
        assert planned(summary) == {"bcast": 3, "allreduce": 2}, summary
        stderr, _ = case.run([random, str(ranks + 30), "100"], settings, ranks=ranks)
        assert unforced(stderr) == [], stderr


def races(case: Case, ranks: int = 3) -> dict[str, str]:
    """Settings with which a plan's calls race."""
    path = case.folder / "raced.plan"
    if not path.exists():
        subprocess.run([case.program("make_plan"), str(ranks), path], check=True)
    return {"THALWEG_FORCE": "", "THALWEG_PLAN": str(path), "THALWEG_RACE": "1"}


def adapts(case: Case, ranks: int, network: str = "wrong") -> dict[str, str]:
    """Settings with which plans for another network (see make_plan.cpp) are noticed and replaced.

    For a "fast" one that doesn't depend on how quick or busy this machine is.
    """
    path = case.folder / f"{network}.plan"
    subprocess.run([case.program("make_plan"), str(ranks), path, network], check=True)
    return {
        "THALWEG_FORCE": "", "THALWEG_PLAN": str(path), "THALWEG_RACE": "1", "THALWEG_ADAPT": "1",
        "THALWEG_RECORD": str(case.folder / "record"),
    }  # fmt: skip


def race(case: Case) -> None:
    """Calls of a plan are native in a race; the summary has its verdicts."""
    racing = [str(case.program(f"racing_{case.flavour}")), "5", "4000"]
    stderr, summary = case.run(racing, races(case))
    assert said(stderr) == [], stderr
    raced = {
        name
        for name, counts in summary["collectives"].items()
        if counts["native"].get("race", {}).get("calls", 0) > 0
    }
    assert raced - {"barrier"}, summary
    for found in summary["races"]:
        assert found["collective"] in raced, summary
        assert found["verdicts"][-1]["winner"] == found["winner"], found
        assert {"winner", "loser"} <= found["verdicts"][-1].keys(), found
        assert all(each["winner"] != each["loser"] for each in found["verdicts"]), found
        assert sum(seconds > 0 for seconds in found["seconds"].values()) >= 2, found
    # Reductions don't, if they are to be reproducible; nothing does, if it isn't wanted.
    for setting in case.share([{"THALWEG_REPRODUCIBLE": "1"}, {"THALWEG_RACE": "0"}]):
        _, summary = case.run(racing, races(case) | setting)
        if "THALWEG_RACE" in setting:
            assert "races" not in summary, summary
            continue
        for name in ["reduce", "allreduce", "reduce_scatter", "scan", "exscan"]:
            assert "race" not in native(summary, name), summary


def tree(case: Case) -> None:
    """Rank 0 reads a declared tree for all; a bad one is named, and everything is native."""
    path = case.folder / "mine.tree"
    path.write_text("ranks 5  # any order\nsegment_size 1KB\n2: 0 4\n4: 1 3\n")
    kinds = ["bcast", "reduce", "allreduce"]
    force = ";".join(f"{kind}=tree:file={path}" for kind in kinds)
    random = str(case.program(f"random_collectives_{case.flavour}"))
    stderr, _ = case.run([random, "41", "60"], {"THALWEG_FORCE": force}, ranks=5)
    assert unforced(stderr) == [], stderr
    _, summary = case.semantics("calls", {"THALWEG_FORCE": force}, ranks=5)
    assert planned(summary) == {"bcast": 3, "allreduce": 2}, summary
    stderr, summary = case.semantics("calls", {"THALWEG_FORCE": force}, ranks=4)
    assert len(said(stderr)) == 1 and "the tree is for 5 ranks, the bcast has 4" in stderr, stderr
    assert native(summary, "bcast") == {"failure": 3}, summary
    path.write_text("ranks 5\n2: 0 4 9\n")
    bad = f"bcast=tree:file={path};allreduce=ring"
    stderr, summary = case.semantics("calls", {"THALWEG_FORCE": bad}, ranks=5)
    assert len(said(stderr)) == 1, stderr
    assert f"'{path}': line 2: there is no rank 9 among 5" in stderr, stderr
    assert planned(summary) == {"bcast": 0, "allreduce": 2}, summary
    path.write_text('{"schema": 1, "children": {"0": [1, 2, 3, 4]}}')
    stderr, summary = case.semantics("calls", {"THALWEG_FORCE": bad}, ranks=5)
    assert len(said(stderr)) == 1 and "a tree file in JSON" in stderr, stderr
    assert planned(summary) == {"bcast": 0, "allreduce": 2}, summary


def refused(case: Case) -> None:
    """World rank 0 says once what a forced algorithm can't do, wherever it can't; all else is
    planned."""
    force = "allgather=neighbor-exchange;alltoall=mesh;bcast=flat;allreduce=ring"
    stderr, summary = case.semantics("collectives", {"THALWEG_FORCE": force}, ranks=5)
    assert [line.split(" can't be done by 5 ranks: it needs ")[0] for line in said(stderr)] == [
        "thalweg: THALWEG_FORCE: allgather=neighbor-exchange",
        "thalweg: THALWEG_FORCE: alltoall=mesh",
    ], stderr
    assert planned(summary)["allgather"] == planned(summary)["alltoall"] == 0, summary
    assert planned(summary)["bcast"] == planned(summary)["allreduce"] == 1, summary
    # World rank 0 isn't in the communicator of three ranks.
    stderr, _ = case.semantics("halves", {"THALWEG_FORCE": force}, ranks=7)
    assert len(said(stderr)) == 1 and "can't be done by 3 ranks" in stderr, stderr
    stderr, _ = case.semantics("halves", {"THALWEG_FORCE": force}, ranks=8)
    assert said(stderr) == [], stderr


def no_plan(case: Case) -> None:
    """Without a plan, or with one that can't be read, the program runs and is told once."""
    stderr, summary = case.semantics("calls", {"THALWEG_FORCE": ""})
    assert len(said(stderr)) == 1 and "THALWEG_PLAN" in stderr, stderr
    assert native(summary, "bcast") == {"no-plan": 3}, summary
    bad = case.folder / "bad.plan"
    bad.write_text("this isn't a plan")
    for plan in [bad, case.folder / "missing.plan"]:
        stderr, summary = case.semantics("calls", {"THALWEG_FORCE": "", "THALWEG_PLAN": str(plan)})
        assert len(said(stderr)) == 1, stderr
        assert native(summary, "allreduce") == {"no-plan": 2}, summary
    stderr, _ = case.semantics("calls", {"THALWEG_FORCE": "bcast=no-such-thing"})
    assert len(said(stderr)) == 1 and "no-such-thing" in stderr, stderr


def single_host(case: Case) -> None:
    stderr, summary = case.semantics("calls", {"THALWEG_ASSUME_HOSTS": "a"})
    native_alone = "thalweg: THALWEG_FORCE: all ranks are on one host; everything is native"
    assert said(stderr) == [native_alone], stderr
    for force in ["", "bcast=native"]:
        settings = {"THALWEG_ASSUME_HOSTS": "a", "THALWEG_FORCE": force}
        plan = case.folder / "plan"
        subprocess.run([case.program("make_plan"), "3", plan], check=True)
        stderr, summary = case.semantics("calls", {**settings, "THALWEG_PLAN": str(plan)})
        (line,) = said(stderr)
        assert "rank 1 runs on a, where the plan has it on b (2 of 3 ranks" in line, stderr
    assert native(summary, "bcast") == {"single-host": 3}, summary
    one_host = {"THALWEG_ASSUME_HOSTS": "a", "THALWEG_ONE_HOST": "1"}
    stderr, summary = case.semantics("calls", one_host)
    assert said(stderr) == [], stderr
    _, between_hosts = case.semantics("calls")
    assert planned(summary) == planned(between_hosts), summary
    assert "single-host" not in native(summary, "bcast"), summary


def files(case: Case) -> None:
    """What an MPI library calls for its own purposes isn't the program's."""
    for nonblocking in ("", "1"):
        settings = {"OMPI_MCA_io": "^ompio", "THALWEG_NONBLOCKING": nonblocking}
        _, summary = case.semantics("file", settings)
        assert summary["collectives"] == summary.get("nonblocking", {}) == {}, summary


def events_module() -> Any:
    """thalweg.events of the work tree, or None where numpy is missing."""
    if importlib.util.find_spec("numpy") is None:
        return None
    sys.path.insert(0, str(Path(__file__).parents[2] / "python"))
    return importlib.import_module("thalweg.events")


def window(case: Case) -> int | None:
    """A plan has the window it asks for up to THALWEG_WINDOW, on awkward numbers of ranks."""
    if (events := events_module()) is None:
        return SKIPPED
    usual = "bcast=flat;allreduce=ring"
    wide = "bcast=flat:window=64;allreduce=ring:window=1000"
    for force, limit, windows in [
        (usual, "", {8}),
        (usual, "2", {2}),
        (usual, "200", {200}),
        (wide, "", {64, 128}),
        (wide, "2", {2}),
    ]:
        case.semantics("calls", {"THALWEG_FORCE": force, "THALWEG_WINDOW": limit})
        for rank in events.read_all(case.folder / "trace"):
            assert set(rank.calls["window"]) == windows, rank.calls
    path = case.folder / "plan"
    random = str(case.program(f"random_collectives_{case.flavour}"))
    narrow = "bcast=far-first;reduce=two-tier;allreduce=two-tier"
    wide = (
        "bcast=pipelined-chain:segment_size=64,window=64;reduce=binomial:segment_size=64,window=100;"
        "allgather=linear:window=128;alltoall=slowest-first:segment_size=16,window=128"
    )
    for ranks in [3, 5, 7]:
        subprocess.run([case.program("make_plan"), str(ranks), path], check=True)
        plan = {"THALWEG_PLAN": str(path), "THALWEG_FORCE": narrow}
        case.run([random, str(ranks + 20), "60"], plan, ranks=ranks)
        case.semantics("calls", plan, ranks=ranks)
        for rank in events.read_all(case.folder / "trace"):
            assert set(rank.calls["window"]) == {1}, rank.calls
            for direction in [events.SEND, events.RECEIVE]:
                it = rank.transfers[rank.transfers["direction"] == direction]
                assert (it["posted_ns"][1:] >= it["done_ns"][:-1]).all(), it
    for ranks in [3, 5]:
        case.run([random, str(ranks + 30), "60"], {"THALWEG_FORCE": wide}, ranks=ranks)
    return None


def trace(case: Case) -> int | None:
    """Each message is recorded at both ends, inside its call, and all data is accounted for."""
    if (events := events_module()) is None:
        return SKIPPED
    case.semantics("calls", ranks=4)
    ranks = events.read_all(case.folder / "trace")
    assert [len(rank.calls) for rank in ranks] == [5] * 4
    ends: dict[tuple[int, ...], int] = {}
    for rank in ranks:
        assert rank.dropped == 0
        assert rank.calls["planned"].all() and (rank.calls["leader"] == 0).all()
        assert rank.calls["sequence"].tolist() == list(range(5))
        for it in rank.transfers:
            call = rank.calls[it["call"]]
            times = [call["enter_ns"], it["posted_ns"], it["done_ns"], it["applied_ns"]]
            assert times == sorted(times) and it["applied_ns"] <= call["exit_ns"], it
            send = it["direction"] == events.SEND
            pair = (rank.rank, it["peer"]) if send else (it["peer"], rank.rank)
            key = (call["sequence"], *pair, it["step"], it["segment"], it["size"])
            ends[key] = ends.get(key, 0) + (1 if send else -1)
        received = rank.transfers[rank.transfers["direction"] == events.RECEIVE]
        broadcasts = rank.calls["call"][rank.calls["collective"] == 0]
        # 100 ints reach every rank but the root, once per broadcast.
        size = sum(received["size"][received["call"] == call].sum() for call in broadcasts)
        assert size == (0 if rank.rank == 0 else 3 * 400)
    assert not any(ends.values()), ends
    return None


def late(case: Case) -> None:
    _, summary = case.semantics("late")
    # Before the set-up: a bcast, an empty allreduce, and the allreduce that sets up.
    assert native(summary, "bcast") == {"not-set-up": 1}, summary
    assert native(summary, "allreduce") == {"not-set-up": 2}, summary
    assert planned(summary) == {"bcast": 1, "allreduce": 1, "barrier": 1}, summary
    assert native(summary, "barrier") == {"not-set-up": 1}, summary


def new_communicators(case: Case) -> None:
    """Communicators are planned for once their calls have cost more than that, one placement
    once."""
    _, summary = case.semantics("rooted", ranks=4)
    # The ranks agree in the first call and wait for it in the ninth.
    assert planned(summary)["bcast"] == 92, summary
    path = case.folder / "plan"
    # The fewer ranks, the sooner a plan can be afforded.
    subprocess.run([case.program("make_plan"), "2", path], check=True)
    settings = {"THALWEG_FORCE": "", "THALWEG_PLAN": str(path)}
    stderr, summary = case.semantics("unknown-placement", settings, ranks=2)
    assert said(stderr) == [], stderr
    assert native(summary, "scan") == {"not-set-up": 200}, summary
    # The first communicator gets its plans at last, be they native.
    decided = {**native(summary, "allreduce"), "planned": planned(summary)["allreduce"]}
    assert sum(decided.values()) > decided["not-set-up"], summary
    # The second communicator takes over the first one's plans, at its 20th call or so.
    assert native(summary, "barrier")["not-set-up"] <= 30, summary


def reproducible(case: Case) -> None:
    """Reductions have the same bits with every network, placement and plan."""
    path = case.folder / "plan"
    program = [str(case.program(f"semantics_{case.flavour}")), "sums"]
    for ranks in [3, 6]:
        subprocess.run([case.program("make_plan"), str(ranks), path], check=True)
        variants = [
            {"THALWEG_FORCE": ""},
            {"THALWEG_FORCE": "", "THALWEG_ASSUME_HOSTS": "a"},
            {"THALWEG_FORCE": "", "THALWEG_ASSUME_HOSTS": "c,b,a,c"},
            {"THALWEG_FORCE": "", "THALWEG_PLAN": str(path)},
            {"THALWEG_FORCE": "allreduce=ring;reduce=flat;scan=native", "THALWEG_WINDOW": "2"},
        ]
        hashes = set()
        for variant in [variants[0], *case.share(variants[1:])]:
            own = environment(
                [case.library, *case.others], {**variant, "THALWEG_REPRODUCIBLE": "1"}
            )
            done = run(case.flavour, (ranks, own, program), capture=True)
            assert done.returncode == 0 and said(done.stderr) == [], done.stderr
            hashes |= set(re.findall("sums ([0-9a-f]+)", done.stdout))
        assert len(hashes) == 1, hashes


def verbose(case: Case) -> None:
    """World rank 0 says one line for each plan that it uses."""
    settings = {"THALWEG_VERBOSE": "1", "THALWEG_FORCE": "bcast=flat:segment_size=1KiB,window=4"}
    stderr, _ = case.semantics("calls", settings, ranks=3)
    assert said(stderr) == [
        "thalweg: bcast of 400B, 3 ranks, root 0: flat, segments of 1KiB, window 4",
        "thalweg: allreduce of 400B, 3 ranks: native (plan-native)",
    ], stderr


def neighborhoods(case: Case) -> None:
    """Collectives of neighbourhoods are counted with their bytes, and with their reason where they
    are native; blocking ones are planned once their ranks have agreed on that."""
    program = str(case.program(f"neighborhoods_{case.flavour}"))
    kinds = ("neighbor_allgather", "neighbor_alltoall")
    events = events_module() if importlib.util.find_spec("polars") else None
    tables = importlib.import_module("thalweg.analysis.tables") if events else None
    runs = [
        ("blocking", 1, "by-rank"),
        ("blocking", 5, ""),
        ("blocking", 2, "by-rank:window=1"),
        ("blocking", 5, "by-host"),
        ("blocking", 6, "by-rank:window=2"),
        ("blocking", 8, "far-first"),
        ("nonblocking", 4, "by-rank"),
    ]
    for form, ranks, force in case.share(runs):
        settings = {"THALWEG_NONBLOCKING": "1", "THALWEG_FORCE": "bcast=flat"}
        if force:
            settings["THALWEG_FORCE"] = ";".join(f"{kind}={force}" for kind in kinds)
        repeats = "16" if force and form == "blocking" else "2"
        shutil.rmtree(case.folder / "trace", ignore_errors=True)
        stderr, summary = case.run([program, form, str(ranks), "6", repeats], settings, ranks=ranks)
        if events is not None and tables is not None and form == "blocking":
            # Also those of communicators that never got a tag are put together.
            run = tables.build(events.read_all(case.folder / "trace"), tables.Names())
            called = sum(
                int(number) for number in re.findall(r"counted (\d+) \d+ (\d+)", stderr)[0]
            )
            assert (run.calls["call"].n_unique(), run.left_out) == (called, 0), run.left_out
        found = re.search(r"counted (\d+) (\d+) (\d+) (\d+)", stderr)
        assert found is not None, stderr
        numbers = [int(number) for number in found.groups()]
        counted = summary["collectives" if form == "blocking" else "nonblocking"]
        assert set(counted) == set(kinds), summary
        for kind, calls, size in zip(kinds, numbers[::2], numbers[1::2], strict=True):
            found_planned, by_reason = counted[kind]["planned"], counted[kind]["native"]
            all_calls = [found_planned, *by_reason.values()]
            assert sum(each["calls"] for each in all_calls) == calls, summary
            assert sum(each["bytes"] for each in all_calls) == size, summary
            assert all(each["seconds"] > 0 for each in by_reason.values()), summary
            if ranks == 1:
                assert set(by_reason) <= {"not-set-up", "single-rank"}, summary
            elif form == "nonblocking":
                assert set(by_reason) == {"not-planned"}, summary
            elif not force:
                assert set(by_reason) == {"not-set-up"}, summary
            if ranks > 1 and force and form == "blocking":
                assert found_planned["calls"] > calls // 10, summary
            else:
                assert found_planned["calls"] == 0, summary
    # With a plan file their ranks agree, too, and the first of them simulates.
    path = case.folder / "plan"
    subprocess.run([case.program("make_plan"), "4", path], check=True)
    settings = {"THALWEG_FORCE": "", "THALWEG_PLAN": str(path)}
    _, summary = case.run([program, "blocking", "9", "3", "60"], settings, ranks=4)
    reasons = set(native(summary, "neighbor_allgather"))
    assert "not-set-up" in reasons, summary
    assert reasons <= {"not-set-up", "not-planned", "plan-native"}, summary


def lifetimes(case: Case) -> None:
    """Attributes, calls in MPI_Finalize, spawned worlds and sessions."""
    program = str(case.program(f"lifetimes_{case.flavour}"))
    _, summary = case.run([program, "attributes"])
    assert planned(summary)["allreduce"] >= 4, summary  # of six
    case.run([program, "finalize"])
    # The others can't spawn here, with or without us.
    if build(case.flavour).name not in ("mpich-4.0", "intel-2021"):
        settings = {"TEST_PRELOAD": ":".join([case.library, *case.others])}
        stderr, summary = case.run([program, "spawn"], settings, ranks=2)
        expected = ["thalweg: a spawned world isn't planned for; everything is native"]
        assert said(stderr) == expected, stderr
        assert planned(summary)["bcast"] == 3, summary
        assert native(summary, "bcast") == {"not-in-world": 3}, summary
    if case.flavour == "mpich":  # Open MPI's headers here have no sessions.
        case.run([program, "session"])
        case.run([program, "session-alone"])


def device(case: Case) -> None:
    """Where a device's library is loaded everything is native; also if one rank alone has it."""
    program = [str(case.program(f"semantics_{case.flavour}")), "calls"]
    loaded = "a device library (CUDA, ROCm, Level Zero) is loaded"
    for name in ["libcuda.so.1", "libamdhip64.so.7"]:
        library = str(case.program(name))
        stderr, summary = case.run(program, preload=[case.library, library])
        assert said(stderr) == [f"thalweg: {loaded}; everything is native"], (name, stderr)
        assert native(summary, "bcast") == {"device": 3}, summary
    without = environment([case.library, *case.others], {})
    with_it = environment([case.library, library, *case.others], {})
    done = run(case.flavour, (2, without, program), (1, with_it, program), capture=True)
    assert done.returncode == 0, done.stderr
    expected = f"thalweg: ranks differ in whether {loaded}; everything is native"
    assert said(done.stderr) == [expected], done.stderr


def fault_tolerance(case: Case) -> None:
    """Where the MPI library goes on when ranks die, all is native, and nothing is recorded."""
    program = [str(case.program(f"semantics_{case.flavour}")), "calls"]
    path = case.folder / "summary.json"
    record = case.folder / "record"
    wanted = {"THALWEG_SUMMARY": str(path), "THALWEG_RECORD": str(record)}
    stderr, traced = case.run(program, {**wanted, "OMPI_MCA_mpi_ft_enable": "1"})
    why = "the MPI library goes on when ranks die (mpirun --with-ft): nothing is recorded"
    assert said(stderr) == [f"thalweg: {why}; everything is native"], stderr
    summary = json.loads(path.read_text())
    assert native(summary, "bcast") == {"fault-tolerance": 3}, summary
    assert not traced and not record.exists(), list(case.folder.iterdir())


def semantics(case: Case) -> None:
    if build(case.flavour).name != "mpich-5.0":  # Its wheel doesn't check arguments.
        case.semantics("errors", ranks=4)
    for name in ["reuse", "intercommunicators", "threads"]:
        case.semantics(name, ranks=4)
    case.semantics("ahead", WITHOUT_RELAYS, ranks=4)
    case.semantics("overlapping", ranks=9)
    _, summary = case.semantics("lower-bounds", ranks=4)
    assert planned(summary) == {"allreduce": 6}, summary


def collectives(case: Case) -> None:
    """Each collective is planned; v-forms count with the others. A v-form whose blocks would go
    through ranks that don't know their sizes is native."""
    for ranks in [2, 5, 8]:
        _, summary = case.semantics("collectives", WITHOUT_RELAYS, ranks=ranks)
        assert planned(summary) == {**EACH_ONCE, **FORMS}, summary
    relays = {"alltoall": "bruck", "gather": "binomial", "scatter": "knomial"}
    force = ";".join(f"{kind}={algorithm}" for kind, algorithm in relays.items())
    stderr, summary = case.semantics("collectives", {"THALWEG_FORCE": force}, ranks=5)
    for kind, algorithm in relays.items():
        assert planned(summary)[kind] == 1, summary
        assert native(summary, kind) == {"unknown-sizes": FORMS[kind] - 1}, summary
        assert stderr.count(f"{kind}={algorithm} can't be done by 5 ranks: it sends blocks") == 1


def in_place(case: Case) -> None:
    """Native calls in place, and barriers, have their sizes also where calls are only counted."""
    folder = case.folder / "trace"  # where run() finds the summary
    folder.mkdir()
    settings = {
        "THALWEG_FORCE": "", "THALWEG_TRACE": "", "THALWEG_SUMMARY": str(folder / "summary.json")
    }  # fmt: skip
    program = [str(case.program(f"sizes_{case.flavour}")), "world"]
    _, summary = case.run(program, settings)
    found = {
        name: (counts["native"]["no-plan"]["calls"], counts["native"]["no-plan"]["bytes"])
        for name, counts in summary["collectives"].items()
    }
    kinds = {*VECTORS, *BLOCKS} - {"bcast", "barrier"}
    assert found == dict.fromkeys(kinds, (1, 24)) | {"barrier": (1, 0)}, summary


def large(case: Case) -> None:
    """More than 2^31 bytes, whole and in segments."""
    for force in case.share(["bcast=binomial", "bcast=pipelined-chain:segment_size=256MB"]):
        _, summary = case.semantics("large", {"THALWEG_FORCE": force}, ranks=2)
        assert planned(summary) == {"bcast": 1}, summary


CASES: dict[str, Callable[[Case], int | None]] = {
    "fortran": fortran,
    "mpi4py": mpi4py,
    "tools": tools,
    "without-mpi": without_mpi,
    "other-library": other_library,
    "locale": locale,
    "preload": preload,
    "off": off,
    "partly-preloaded": partly_preloaded,
    "impatient": impatient,
    "plan": plan,
    "copies": copies,
    "listed": listed,
    "race": race,
    "tree": tree,
    "refused": refused,
    "no-plan": no_plan,
    "single-host": single_host,
    "files": files,
    "trace": trace,
    "window": window,
    "late": late,
    "reproducible": reproducible,
    "verbose": verbose,
    "neighborhoods": neighborhoods,
    "new-communicators": new_communicators,
    "collectives": collectives,
    "in-place": in_place,
    "lifetimes": lifetimes,
    "device": device,
    "fault-tolerance": fault_tolerance,
    "semantics": semantics,
    "large": large,
}


def main() -> int:
    flavour, name, build = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        return CASES[name](Case(flavour, Path(build), Path(folder))) or 0


if __name__ == "__main__":
    sys.exit(main())
