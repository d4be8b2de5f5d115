"""`thalweg place`: which rank of a program should run on which host."""

import contextlib
import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from thalweg import (
    binding,
    console,
    inputs,
    knowledge,
    launch_files,
    launcher,
    matrices,
    picture,
    placement,
    placement_picture,
    record_folder,
    units,
)
from thalweg import hosts as host_lists
from thalweg.binding import Core
from thalweg.errors import UserError
from thalweg.files import check_output, is_same, write_file
from thalweg.hosts import Host
from thalweg.mapping import Method, Metric
from thalweg.matrices import Program
from thalweg.network import Network
from thalweg.options import Bind, Json, Ranks
from thalweg.placement import ComparedPlacement
from thalweg.printable import short

app = typer.Typer(add_completion=False)

_LIBRARY = re.compile(r"(mpich|openmpi)(-[0-9.]+)?")
"""An MPI library whose rules of choice are known (src/planner/native_algorithm.hpp)."""


@dataclass(frozen=True)
class _Written:
    """The files that a placement was written to, and the command that starts ranks so."""

    file: Path | None = None
    hosts_file: Path | None = None
    launch: str | None = None


@app.command(name="place")
def command(
    program: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|MATRIX",
            help="A run record, a matrix (.csv, .mtx), an OTF2 trace, or what Open MPI's "
            "monitoring wrote.",
        ),
    ],
    hosts: Annotated[
        str | None,
        typer.Option(
            "-H",
            "--hosts",
            help='Hosts, and ranks on each: "a,b:2,node[0-3]"; default: those of the recorded run '
            "with its ranks on each, else the network's, with equal numbers.",
        ),
    ] = None,
    ranks: Ranks = None,
    network: Annotated[
        Path | None,
        typer.Option(
            "--network",
            metavar="NET",
            help="The network; default: the run record's, else what the cache has of the hosts "
            "of -H.",
        ),
    ] = None,
    method: Annotated[
        Method,
        typer.Option(help="How to place; all but thalweg are for comparison."),
    ] = "thalweg",
    cost: Annotated[
        Metric,
        typer.Option(help="What of a message counts: its latency, its bytes, or both."),
    ] = "both",
    pin: Annotated[
        list[str] | None,
        typer.Option(help="A rank's host, RANK=HOST; may be repeated.", metavar="RANK=HOST"),
    ] = None,
    migration: Annotated[
        str,
        typer.Option(help="Cost of each rank that leaves the host of the recorded run."),
    ] = "0s",
    native: Annotated[
        str,
        typer.Option(
            metavar="LIBRARY",
            help="The program is to run without plans: compare by this MPI library's own "
            "collectives, as openmpi-4.1 or mpich.",
        ),
    ] = "",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the search's random choices.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help="Write the host of each rank, a line each, or with --write the launcher's file.",
        ),
    ] = None,
    write: Annotated[
        Literal["openmpi", "openmpi-4", "mpich", "mpich-4", "intel", "slurm", "cray"] | None,
        typer.Option(
            help="Print the command that starts ranks so, and write the file that it needs: "
            "openmpi and mpich are Open MPI 5 and the MPICH that has -rankmap, -4 those before."
        ),
    ] = None,
    bind: Bind = None,
    drawn: Annotated[
        Path | None,
        typer.Option(
            "--picture",
            metavar="FILE",
            help="Draw the matrix by hosts and the traffic, before and after: .svg or .png.",
        ),
    ] = None,
    json: Json = False,
) -> int:
    """Place the ranks of a program by what they send and what the network takes for it.

    Hosts may have more slots than there are ranks; which to use is part of the answer.

    Example: [bold]thalweg place matrix.csv -H a:4,b:4 --network net.json[/bold]
    """
    if native and not _LIBRARY.fullmatch(native):
        raise UserError(
            f"--native {short(native)}: must be mpich or openmpi, or a release of one, such as "
            "openmpi-4.1"
        )
    file = output or (Path(f"placement.{write}") if write else None)
    read = [program, network, host_lists.file_of(hosts or ""), Path(bind or "")]
    _check_outputs(file, write, drawn, read)
    found = _read(program, ranks)
    if native and not found.calls:
        console.note(f"{program} has no collectives, so that --native has no effect")
    given = None if hosts is None else host_lists.parse(hosts)
    net = _network(program, found, network, given, shlex.quote(short(hosts or "HOSTS", 200)))
    if found.remark:
        console.note(found.remark)
    listed = placement.usual_hosts(net, found) if given is None else given
    placed, names = _place(
        found, net, listed, pin or [], migration,
        method=method, cost=cost, seed=seed, native=native,
    )  # fmt: skip
    if bind is not None:
        placed = _bound(placed, bind, write)
    written = _write(file, write, listed, names, placed.cores) if file else _Written()
    if drawn:
        picture.write(drawn, _drawing(placed))
    _show(placed, written, drawn, json=json)
    return 0


def _check_outputs(
    file: Path | None, write: str | None, drawn: Path | None, read: Sequence[Path | None]
) -> None:
    """Raises UserError for an output that can't be written or would replace what is `read`."""
    if write and file:
        beside = launch_files.beside(file)  # where the launcher needs a list of hosts, too
        for each in read:
            if each and is_same(beside, each):
                raise UserError(f"hosts {beside}: would replace the input {each}; name another -o")
    if file:
        if file.suffix in (".svg", ".png"):
            raise UserError(f"{file}: -o writes the host of each rank; --picture draws")
        check_output(file, f"placement {file}", inputs=read)
    if drawn:
        picture.check_name(drawn)
        check_output(drawn, f"picture {drawn}", inputs=read)


def _read(path: Path, ranks: int | None) -> Program:
    """Reads what the program sends. Raises UserError if it has another number of ranks."""
    found = matrices.read(path, ranks or 0)
    if ranks is not None and ranks != found.matrix.ranks:
        raise UserError(
            f"{path} is of {found.matrix.ranks} ranks, not of {ranks}: leave out -n, or record "
            f"a run of {ranks} ranks"
        )
    return found


def _place(
    found: Program, net: Network, listed: Sequence[Host], pins: Sequence[str], migration: str, *,
    method: str, cost: str, seed: int, native: str,
) -> tuple[ComparedPlacement, list[str]]:  # fmt: skip
    """Places the ranks on the listed hosts, by options of the command. Returns the host of each by
    its name in the list, too."""
    slots, host_order = placement.slots_of(net, listed, found.matrix.ranks)
    seconds = units.parse_time(migration)
    pinned = _pinned(net, pins)
    _check_slots(net, pinned, slots)
    previous = _previous(net, found) if seconds else None
    with console.progress(f"placing {found.matrix.ranks} ranks"):
        placed = placement.place(
            net, found, slots, host_order, method=method, cost=cost, seed=seed, pinned=pinned,
            previous=previous, migration=seconds, native=native,
        )  # fmt: skip
    listed_as = dict(zip(host_order, listed, strict=True))
    return placed, [listed_as[host].name for host in placed.found.placement]


def _previous(net: Network, found: Program) -> list[int]:
    """Returns where ranks ran before. Raises UserError if that isn't known."""
    if not found.run:
        raise UserError("--migration needs a run record, which says where ranks ran before")
    return placement.recorded(net, found.run)


def _bound(placed: ComparedPlacement, inside: str, form: str | None) -> ComparedPlacement:
    """Returns the placement with a core for each rank. `inside`: what hosts are like inside;
    `form`: that of the launcher's file, if one is written."""
    alike = form is None or form not in launch_files.EACH_BY_ITSELF
    cores = binding.bind(placed.program.matrix, placed.hosts, inside, alike=alike)
    return replace(placed, cores=cores)


def _write(
    file: Path,
    form: str | None,
    listed: Sequence[Host],
    names: Sequence[str],
    cores: Sequence[Core],
) -> _Written:
    """Writes the host of each rank, by its name in the list: in the launcher's form, with notes on
    what it takes, or a line each."""
    if not form:
        write_file(file, f"placement {file}", "".join(f"{name}\n" for name in names))
        return _Written(file)
    order = launch_files.order(form, listed, names, file.absolute(), cores)
    order.write()
    launch = launch_files.command_line(form, order, len(names))
    for remark in order.remarks:
        console.note(remark)
    if here := launcher.other_on_path(form):
        console.note(f"{here.path.name} here is {here.name}: use --write {here.form} for it")
    return _Written(order.file, order.hosts_file, launch)


def _show(placed: ComparedPlacement, written: _Written, drawn: Path | None, *, json: bool) -> None:
    """Shows a placement, which files have it, and the command that starts ranks so."""
    if json:
        console.show_json(
            placement.as_json(placed)
            | {"file": written.file, "command": written.launch, "picture": drawn}
        )
        return
    console.show(*placement.parts(placed))
    for each in (written.file, written.hosts_file, drawn):
        if each:
            console.show(f"written to {each}")
    if written.launch:
        console.show_line(f"start with: {written.launch}")


def _drawing(placed: ComparedPlacement) -> str:
    """Draws a placement beside that of the recorded run or, if it isn't known, a launcher's."""
    net = placed.network
    names = [host.name for host in net.hosts]
    before, other = next(iter(placed.others.items()))
    hosts = [names[host] for host in other.placement]
    if placed.program.run:
        with contextlib.suppress(UserError):
            where = placement.recorded(net, placed.program.run)
            before, hosts = "the recorded run", [names[host] for host in where]
    return placement_picture.placement(
        placed.program.matrix,
        placement_picture.NamedPlacement(f"before: {before}", hosts),
        placement_picture.NamedPlacement(f"after: {placed.found.method}", placed.hosts),
        placement_picture.sites(net),
    )


def _network(
    path: Path, found: Program, given: Path | None, hosts: Sequence[Host] | None, called: str
) -> Network:
    """Returns the network that is given, the run record's, or what the cache has of the hosts.

    Raises UserError if there is none, with how to measure it between the hosts as they are called.
    """
    if given:
        return inputs.network(given)
    kept = path / record_folder.NETWORK
    if found.run and kept.exists():
        return inputs.network(kept)
    if hosts and (known := knowledge.kept(hosts)):
        return known
    raise UserError(
        f"{path} has no network: name one with --network, or measure it: `thalweg probe -H "
        f"{called} -o net.json`"
    )


def _pinned(net: Network, pins: Sequence[str]) -> dict[int, int]:
    pinned: dict[int, int] = {}
    for pin in pins:
        if not (words := re.fullmatch(r"(\d{1,9})=(.+)", pin)):
            raise UserError(f'--pin "{short(pin)}": must be a rank and its host, such as 0=node3')
        rank, (number,) = int(words[1]), inputs.placement(net, [words[2]])
        if pinned.setdefault(rank, number) != number:
            raise UserError(f"rank {rank} is pinned to two hosts: leave out one --pin")
    return pinned


def _check_slots(net: Network, pinned: dict[int, int], slots: Sequence[int]) -> None:
    """Raises UserError for a host to which more ranks are pinned than it has slots."""
    for host, ranks in Counter(pinned.values()).items():
        if ranks > slots[host]:
            name = net.hosts[host].name
            raise UserError(
                f"{ranks} of the ranks are pinned to {name}, which has {slots[host]} slots; list "
                f"{name}:{ranks} with -H, or leave out a --pin"
            )
