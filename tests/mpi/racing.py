"""Runs racing.cpp with plans that race:
racing.py FLAVOUR BUILD_FOLDER RANKS SEED CALLS [threads|lasting [fast]].

Ranks record what they do, so that clocks are compared and rooted collectives race, too. With
"lasting" their plans are for a wrong network, which they follow; it prints how often they tried to
change plans, and how often others came into force. With "fast" that network is faster than any, so
that they must try, on the communicator that stays.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

from behaviour import Case, adapts, events_module, races, said

from thalweg import record

STAYING = (20_000, 80_000)
"""Bytes of calls that only the communicator that stays has (racing.cpp)."""
LONGER = (1, 4, 16)
"""Plans that take longer than predicted must do so for three seconds of calls: where nothing was
noticed there are more of them."""


def algorithms(case: Case, settings: dict[str, str]) -> set[str]:
    """What allreduces of two calls on MPI_COMM_WORLD are executed by."""
    case.semantics("calls", settings, ranks=3)
    found = record.read(Path(settings["THALWEG_RECORD"]))
    return {
        found.name_of("algorithms", call["algorithm"])
        for call in found.calls
        if found.name_of("collectives", call["collective"]) == "allreduce"
    }


def recall_on_copy(case: Case) -> None:
    """What native won on MPI_COMM_WORLD begins with it on a copy, and so do calls with counts."""
    kinds = ("allreduce", "reduce_scatter", "allgather")
    won = ",".join(f"{kind}:0:{1 << bits}" for kind in kinds for bits in range(31))
    program = [str(case.program(f"racing_{case.flavour}")), "1", "0"]
    for settings, begins_native in (({}, False), ({"THALWEG_RACED": won}, True)):
        _, summary = case.run(program, races(case) | settings, ranks=3)
        for kind in ("reduce_scatter", "allgather"):
            counts = summary["collectives"][kind]
            raced = counts["native"].get("race", {}).get("calls", 0)
            assert (raced, counts["planned"]["calls"]) == ((6, 0) if begins_native else (0, 6)), (
                counts
            )


def executions(case: Case) -> list[set[int]]:
    """The algorithms by which ranks executed each call on communicators that were set up, of which
    there should be one; empty where numpy is missing."""
    events = events_module()
    found: dict[tuple[Any, ...], set[int]] = {}
    for rank in events.read_all(case.folder / "trace") if events else ():
        calls = rank.calls[rank.calls["tag"] >= 0]
        keys = zip(*(calls[name].tolist() for name in ("tag", "leader", "sequence")), strict=True)
        for key, algorithm in zip(keys, calls["algorithm"].tolist(), strict=True):
            found.setdefault(key, set()).add(algorithm)
    return list(found.values())


def follow(case: Case, ranks: int, seed: str, calls: int) -> None:
    """Plans of the communicator that stays are noticed to be worse than predicted, and an attempt
    is made to replace them. Whatever is decided, all ranks execute each call alike."""
    settings = adapts(case, ranks, "fast") | {"THALWEG_EVENTS": "64MB"}
    program = str(case.program(f"racing_{case.flavour}"))
    changes: list[dict[str, Any]] = []
    for longer in LONGER:
        arguments = [seed, str(longer * calls), "lasting"]
        stderr, summary = case.run([program, *arguments], settings, ranks=ranks)
        assert said(stderr) == [], stderr
        assert summary["races"], summary
        executed = executions(case)
        differing = [each for each in executed if len(each) > 1]
        assert not differing, (len(executed), differing[:10])
        # Some calls are native (0), others have a plan.
        assert not executed or {0} < set[int]().union(*executed), len(executed)
        changes = [
            change
            for change in summary.get("changes", [])
            if change["size"] in STAYING and not change["improvement"]
        ]
        if changes:
            break
    assert changes, summary
    for change in changes:
        assert change["outcome"] in {"adopted", "taken back", "nothing better", "open"}, change
        assert change["seconds"]["noticed"] > 0, change


def main() -> int:
    flavour, build_folder, ranks, *arguments = sys.argv[1:]
    lasting = arguments[2:] == ["lasting"]
    with tempfile.TemporaryDirectory() as folder:
        case = Case(flavour, Path(build_folder), Path(folder))
        if arguments[2:] == ["lasting", "fast"]:
            follow(case, int(ranks), arguments[0], int(arguments[1]))
            return 0
        plans = (adapts if lasting else races)(case, int(ranks))
        settings = plans | {"THALWEG_RECORD": str(Path(folder) / "record")}
        program = [str(case.program(f"racing_{flavour}")), *arguments]
        stderr, summary = case.run(program, settings, ranks=int(ranks))
        assert said(stderr) == [], stderr
        assert summary["races"], summary
        if lasting:
            changes = summary.get("changes", [])
            adopted = sum(change["adopted"] > 0 for change in changes)
            print(f"attempts {len(changes)} adopted {adopted}")
            return 0
    if ranks != "3":
        return 0
    with tempfile.TemporaryDirectory() as folder:
        case = Case(flavour, Path(build_folder), Path(folder))
        settings = races(case) | {"THALWEG_RECORD": str(Path(folder) / "record")}
        first = algorithms(case, settings)
        won = ",".join(f"allreduce:0:{1 << bits}:second" for bits in range(31))
        second = algorithms(case, settings | {"THALWEG_RACED": won})
        assert len(first) == len(second) == 1 and not first & second, (first, second)
        assert "native" not in first | second, (first, second)
        recall_on_copy(case)
    return 0


if __name__ == "__main__":
    sys.exit(main())
