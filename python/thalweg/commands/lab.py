"""`thalweg lab`: the emulated network."""

import json as json_format
from typing import Annotated

import typer

from thalweg import console
from thalweg.lab import check as checks
from thalweg.lab import counters, launch, lifecycle, scenario, state

app = typer.Typer(
    name="lab",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def command() -> None:
    """Emulate a network of hosts on this machine (as root)."""


@app.command()
def up(
    name: Annotated[
        str, typer.Argument(help="A scenario's name, or its file.", metavar="SCENARIO")
    ],
    dilation: Annotated[
        float | None,
        typer.Option(
            min=1, max=1000, help="Factor by which everything runs slower than real time."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Bring a lab up. It stays until `thalweg lab down`.

    Example: thalweg lab up two-sites
    """
    lab = lifecycle.up(scenario.find(name), dilation)
    if json:
        console.show_json(lab.record)
    else:
        print(f"{lab.name}: {len(lab.hosts)} hosts, time dilated {lab.dilation:g} times")


@app.command()
def down() -> None:
    """End the running lab, with everything that runs in it."""
    print("the lab is down" if lifecycle.down() else "no lab was running")


@app.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": True})
def run(
    command: Annotated[list[str], typer.Argument(help="The command and its arguments.")],
    host: Annotated[
        str | None, typer.Option(help="The host to run it on; default: the first.")
    ] = None,
) -> None:
    """Run a command on a host of the lab, from which mpirun and mpiexec reach the others.

    Example: thalweg lab run -- mpirun -n 16 ./app
    """
    lab = state.require()
    launch.replace_process(lab, host or lab.hosts[0], command)


@app.command(name="list")
def list_scenarios(json: Json = False) -> None:
    """List the scenarios that come with Thalweg, and the lab that is up."""
    lab = state.running()
    found = [scenario.document(name) for name in scenario.names()]
    if json:
        console.show_json(
            {"scenarios": {each["name"]: each for each in found}, "running": lab and lab.name}
        )
        return
    width = 2 + max(len(each["name"]) for each in found)
    for each in found:
        mark = " (running)" if lab and lab.name == each["name"] else ""
        print(f"{each['name']:<{width}}{each['description']}{mark}")
    if lab and lab.name not in scenario.names():
        print(f"{lab.name:<{width - 1}} (running)")


@app.command()
def show(name: Annotated[str, typer.Argument(help="A scenario's name.")]) -> None:
    """Print a scenario as a file, as a starting point for your own.

    Example: thalweg lab show cloud > mine.json
    """
    print(json_format.dumps(scenario.document(name), indent=1))


@app.command()
def status(json: Json = False) -> None:
    """Show the lab that is up, its fixed settings, and its switch's counters.

    Exits with status 1 if none is up.
    """
    lab = state.running()
    if lab is None:
        if json:
            console.show_json({"running": None})
        else:
            print("no lab is running")
        raise typer.Exit(1)
    counted = counters.answer(state.require())
    if json:
        console.show_json({"running": lab.name, **lab.record, "counters": counted})
        return
    record = lab.record
    print(f"{lab.name}: {len(lab.hosts)} hosts, time dilated {record.get('dilation', 0):g} times")
    print(f"TCP: {record.get('tcp', {}).get('congestion_control')}, MTU {record.get('mtu')}")
    print(
        f"switch: {counted['frames']} frames, {counted['late']} late, "
        f"{counted['busy'] / counted['elapsed']:.1%} busy since the start"
    )


@app.command()
def check(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Brought up for the check; default: the lab that is up.", metavar="[SCENARIO]"
        ),
    ] = None,
    every_pair: Annotated[bool, typer.Option("--all", help="All pairs, not a sample.")] = False,
    json: Json = False,
) -> None:
    """Verify latencies and rates with ping and iperf3: each within 5 % of the scenario.

    Exits with status 1 if one is not.
    """
    passed = checks.run(name, every_pair=every_pair, json=json)
    raise typer.Exit(0 if passed else 1)
