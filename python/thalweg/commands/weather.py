"""`thalweg weather`: the history of a network and its forecast, and samples in the background."""

import time
from pathlib import Path
from typing import Annotated

import typer

from thalweg import (
    console,
    host_names,
    inputs,
    paths,
    picture,
    record,
    units,
    weather_file,
    weather_findings,
    weather_index,
    weather_text,
    weather_watch,
)  # fmt: skip
from thalweg.errors import UserError
from thalweg.files import check_output, is_file, is_folder
from thalweg.network import Network
from thalweg.options import Hostfile, Hosts, Json, Launcher, Mpi, Variables, refuse
from thalweg.preparation import Request, choose_launcher, choose_several, for_ranks
from thalweg.signals import ended_by_signals

app = typer.Typer(add_completion=False)

SHARE = "0.1%"
_NO_HOSTS = (
    f"no hosts are named, and one host alone has no network: {weather_index.NAME_THEM}; "
    "`thalweg weather` lists those that have a history"
)


@app.command(name="weather")
def command(
    what: Annotated[
        Path | None,
        typer.Argument(
            metavar="[NET|RUN]", help="A network file, or a run record: whose hosts' weather."
        ),
    ] = None,
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    output: Annotated[
        Path | None, typer.Option("--picture", help="Draw the series: .svg or .png.")
    ] = None,
    watch: Annotated[
        str | None, typer.Option(help="Sample a few pairs each so often, such as 10min.")
    ] = None,
    share: Annotated[
        str | None,
        typer.Option(
            help=f"With --watch: the most of the time that samples may take (default {SHARE})."
        ),
    ] = None,
    times: Annotated[
        int | None, typer.Option(min=1, help="With --watch: end after so many samples.")
    ] = None,
    launcher: Launcher = None,
    mpi: Mpi = None,
    variables: Variables = None,
    json: Json = False,
) -> int:
    """Show what was measured and observed between hosts over time, and what to expect.

    Each probe, run record and sample adds to the history of its hosts, which the cache keeps.
    If no hosts are named, and there is only this machine, it lists those that have one.

    Example: [bold]thalweg weather -H 'node[0-15]'[/bold]
    """
    if what and (hosts or hostfile):
        raise UserError(f"{what} and hosts are given; leave out one")
    request = Request(
        hosts=hosts, hostfile=hostfile, launcher=launcher, mpi=mpi,
        variables=for_ranks(variables or ()),
    )  # fmt: skip
    if watch:
        refuse({"--picture": output, "--json": json}, "doesn't go with --watch, which only samples")
        _watch(what, request, watch, share or SHARE, times)
        return 0
    refuse(
        {"--share": share, "--times": times, "--launcher": launcher, "--mpi": mpi}
        | {"-x": variables},
        "is for samples; add --watch 10min, or leave it out",
    )
    _show(what, request, output, json=json)
    return 0


def _watch(what: Path | None, request: Request, every: str, share: str, times: int | None) -> None:
    names = _hosts(what) if what else _listed(request)
    if not names:
        raise UserError(_NO_HOSTS)
    with ended_by_signals():
        weather_watch.watch(
            names,
            what if what and is_file(what) else None,
            choose_launcher(request),
            every=units.parse_time(every),
            share=weather_watch.parse_share(share),
            times=times,
        )


def _show(what: Path | None, request: Request, output: Path | None, *, json: bool) -> None:
    if output:
        check_output(output, f"weather {output}", inputs=[what])
        picture.check_name(output)
    names = _hosts(what) if what else host_names.own(_listed(request))
    if not names:
        _show_known(output, json=json)
        return
    history = weather_file.load(names)
    found = weather_findings.lines(history, time.time())
    if output:
        picture.write(output, weather_text.picture(history, found))
    if json:
        console.show_json(weather_text.as_json(history, found))
        return
    console.show(*weather_text.parts(history, found, _network(what, names)))
    if output:
        console.show(f"written to {output}")


def _show_known(output: Path | None, *, json: bool) -> None:
    """Shows which hosts have a history. Raises UserError if there is to be a picture."""
    if output:
        raise UserError(_NO_HOSTS)
    known = weather_index.known()
    if json:
        console.show_json({"histories": [{"hosts": hosts} for hosts in known]})
    else:
        console.show(*weather_index.lines(known))


def _listed(request: Request) -> list[str]:
    return [host.name for host in choose_several(request)]


def _hosts(what: Path) -> list[str]:
    """Returns the hosts of a network file or a run record. Raises UserError."""
    if is_folder(what):
        run = record.read(what)
        return list(run.launch.get("hosts") or run.hosts)
    return [host.name for host in inputs.network(what).hosts]


def _network(what: Path | None, names: list[str]) -> Network | None:
    """Returns the network file that is given, or what the cache has; None if there is none."""
    if what and not is_folder(what):
        return inputs.network(what)
    path = paths.network(names)
    try:
        return inputs.network(path) if path.is_file() else None
    except UserError as error:
        console.note(str(error))
        return None
