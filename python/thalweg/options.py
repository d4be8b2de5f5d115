"""Arguments and options that several commands take."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer

from thalweg.caution import Start, Verify
from thalweg.errors import UserError

Json = Annotated[bool, typer.Option("--json", help="Print JSON; docs/guide.md says which.")]
Net = Annotated[
    Path,
    typer.Argument(
        metavar="NET", help="A network file, or a scenario: its file, or its name in the lab."
    ),
]
Hosts = Annotated[
    str | None,
    typer.Option("-H", "--hosts", help='Hosts, and ranks on each: "a,b:2,node[0-3]".'),
]
Hostfile = Annotated[
    Path | None, typer.Option(help='A file of hosts, one per line: "a", "a slots=2" or "a:2".')
]
Launcher = Annotated[str | None, typer.Option(help="The mpirun or mpiexec to use.")]
Mpi = Annotated[
    Literal["openmpi", "mpich"] | None, typer.Option(help="The MPI library whose launcher to use.")
]
Library = Annotated[
    Literal["openmpi", "mpich"] | None,
    typer.Option(
        "--mpi",
        help="Plan for this MPI library; default: the file's first by name. Where a file has none, "
        "as a scenario's, native is predicted by whichever library's rules are fastest at each "
        "size.",
    ),
]
Ranks = Annotated[int | None, typer.Option("-n", "--ranks", min=1, help="How many ranks.")]
Size = Annotated[
    str | None,
    typer.Argument(
        help='Bytes of the vector or of one block, "8MB" or "64KiB" (default 1MB); with '
        "commas, of each block.",
        metavar="SIZE",
    ),
]
CollectiveOption = Annotated[
    str | None, typer.Option("--collective", help="The same as the argument.", metavar="COLLECTIVE")
]
SizeOption = Annotated[
    str | None, typer.Option("--size", help="The same as the argument.", metavar="SIZE")
]
Effort = Annotated[
    Literal["estimate", "normal", "patient"],
    typer.Option(help="Effort of planning: milliseconds, the usual one, or a search."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of a patient search's random choices.")]
Budget = Annotated[
    str,
    typer.Option(
        help="Length of a patient search: counted in simulated messages, a million per second."
    ),
]
Root = Annotated[int, typer.Option(min=0, help="The root's rank.")]
NetworkFile = Annotated[
    Path | None,
    typer.Option("--network", help="The hosts' network file; default: cached or probed."),
]
VerifyNetwork = Annotated[
    Verify,
    typer.Option(
        help="Sample a few pairs of hosts before the run: if nothing was measured for an "
        "hour, always, or never."
    ),
]
StartMeasured = Annotated[
    Start,
    typer.Option(
        "--start",
        help="Measure hosts that were never seen in about a second, and plan quickly for programs "
        "that may be short; or do both fully, also for hosts that were only measured quickly.",
    ),
]
Recalibrate = Annotated[
    str, typer.Option(help="How far off a network may be before it is calibrated anew.")
]
PlanFile = Annotated[Path | None, typer.Option("--plan", help="A plan file; default: planned now.")]
NoPlacement = Annotated[
    bool,
    typer.Option("--no-placement", help="Leave the ranks where the launcher would start them."),
]
Matrix = Annotated[
    Path | None,
    typer.Option(
        "--matrix",
        help="Place ranks by this communication matrix: a run record, .csv or .mtx; default: an "
        "earlier run like this one.",
    ),
]
Bind = Annotated[
    str | None,
    typer.Option(
        metavar="TOPOLOGY",
        help="Choose each rank's core, too, for hosts that are inside as said: `this` (as this "
        "machine), an .xml of lstopo, or hwloc's description, such as `package:2 core:8`.",
    ),
]
Record = Annotated[
    Path | None,
    typer.Option(
        "--record",
        help="The folder for the run record; default: one in the cache, which keeps the last five.",
        metavar="DIR",
    ),
]
NoRecord = Annotated[bool, typer.Option("--no-record", help="Leave no run record.")]
Race = Annotated[
    Literal["on", "off"],
    typer.Option(help="Let plans race against the MPI library's own collectives."),
]
Adapt = Annotated[
    Literal["on", "off"] | None,
    typer.Option(
        help="Plan anew inside the running program when the network has changed; default: off, "
        "unless THALWEG_ADAPT is on."
    ),
]
Variables = Annotated[
    list[str] | None,
    typer.Option(
        "-x",
        metavar="NAME=VALUE",
        help="Set a variable for the ranks, or with NAME alone hand on your own; may be repeated.",
    ),
]
KeepNetwork = Annotated[
    Path | None,
    typer.Option(
        "--keep-network",
        help="Write the network that the run ended with to this file (with --adapt on).",
        metavar="FILE",
    ),
]
Events = Annotated[
    str | None,
    typer.Option(
        help='Record events, too: the most bytes per rank, such as "64MB", or "all".',
        metavar="SIZE",
    ),
]
Live = Annotated[
    bool,
    typer.Option(
        "--watch", help="Say every two seconds what the collectives do (ranks on this machine)."
    ),
]
Trace = Annotated[
    Path | None, typer.Option(help="Keep each rank's events and the summary in this folder.")
]
RunFolder = Annotated[
    Path, typer.Argument(metavar="RUN", help="A run record with events, or a folder of --trace.")
]
RunNetwork = Annotated[
    Path | None, typer.Option("--network", help="The network that the run was planned for.")
]


def refuse(options: Mapping[str, object], why: str) -> None:
    """Raises UserError, which ends with why, if one of the options is given."""
    for name, value in options.items():
        if value:
            raise UserError(f"{name} {why}")


def said_once(argument: str | None, option: str | None, name: str) -> str | None:
    """Returns the argument or the option. Raises UserError if the two differ."""
    if argument and option and argument != option:
        raise UserError(f"{argument} and --{name} {option} differ: leave out one")
    return argument or option
