"""The command line. Each command's work is in the module that is named after it."""

import enum
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from thalweg import __version__
from thalweg.errors import UserError
from thalweg.lab.cli import app as lab_app
from thalweg.options import (
    Budget,
    Collective,
    CollectiveOption,
    Effort,
    Hostfile,
    Hosts,
    Json,
    Launcher,
    Library,
    Mpi,
    Net,
    NetworkFile,
    PlanFile,
    Ranks,
    Root,
    Seed,
    Size,
    SizeOption,
    Trace,
)

if TYPE_CHECKING:
    from thalweg.plans import Search
    from thalweg.run import Request

app = typer.Typer(
    name="thalweg",
    help="Makes unmodified MPI programs faster on networks that nobody gave you a map of.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(lab_app, name="lab")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"thalweg {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


@app.command()
def doctor(
    net: Annotated[
        Path | None,
        typer.Argument(metavar="[NET]", help="Whether TCP's buffers suffice for this network."),
    ] = None,
    json: Json = False,
) -> int:
    """Say what of MPI, launchers, clock and kernel is here, and what to do about the rest.

    Exits with status 1 if no MPI program can be run with Thalweg here.

    Example: [bold]thalweg doctor[/bold]
    """
    from thalweg import doctor

    return doctor.run(net, json=json)


@app.command()
def probe(
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="The network file.")] = Path(
        "net.json"
    ),
    budget: Annotated[str, typer.Option(help="Time that measuring may take.")] = "30s",
    launcher: Launcher = None,
    mpi: Mpi = None,
    base: Annotated[
        Path | None, typer.Option(help="Only add the MPI library to this network file.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an interrupted probe ended.")
    ] = False,
    plan: Annotated[
        str | None,
        typer.Option(help="Only say how so many hosts, or a network file's, would be measured."),
    ] = None,
    json: Json = False,
) -> int:
    """Measure the network between hosts, and write it to a file.

    Example: [bold]thalweg probe -H node0,node1,node2 -o net.json[/bold]
    """
    from thalweg import probe_command

    if plan:
        return probe_command.plan(plan, budget=budget, json=json)
    request = _request(hosts=hosts, hostfile=hostfile, launcher=launcher, mpi=mpi)
    return probe_command.run(request, output, budget=budget, base=base, resume=resume, json=json)


class MatrixName(enum.Enum):
    """Of a network's matrices, as --matrix takes them."""

    latency = "latency"
    bandwidth = "bandwidth"


@app.command()
def show(
    net: Net,
    matrix: Annotated[
        list[MatrixName] | None,
        typer.Option(help="Only this matrix, as a heatmap; may be repeated."),
    ] = None,
    hierarchy: Annotated[
        bool, typer.Option("--hierarchy", help="Only the hierarchy of hosts.")
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="Draw the one matrix, or the hierarchy, into this file: .svg or .png.",
            metavar="FILE",
        ),
    ] = None,
    size: Annotated[
        str, typer.Option(help="Of the messages that the hierarchy is made for.", metavar="SIZE")
    ] = "1MB",
    base: Annotated[float, typer.Option(help="k: factor between two levels of the hierarchy.")] = 4,
    span: Annotated[
        int, typer.Option(help="Hosts by which groups of a level may differ in size.", min=0)
    ] = 1,
    adjust: Annotated[
        Literal["close", "printed"],
        typer.Option(
            help="How groups are made equal: keeping hosts close, or as the paper prints it."
        ),
    ] = "close",
    json: Json = False,
) -> int:
    """Show a network: sites, links, matrices, hierarchy, capacities and trunks.

    Example: [bold]thalweg show net.json --matrix latency[/bold]
    """
    from thalweg import show, units
    from thalweg.picture import MATRICES, View

    asked = {name.value for name in matrix or []}
    views: list[View] = [name for name in MATRICES if name in asked]
    if hierarchy:
        views.append("hierarchy")
    grouping = show.Grouping(units.parse_size(size), base, span, adjust)
    return show.run(net, views=views, grouping=grouping, json=json, drawn=picture)


@app.command()
def plan(
    net: Net,
    collective: Collective = None,
    size: Size = None,
    ranks: Ranks = None,
    hosts: Hosts = None,
    collective_option: CollectiveOption = None,
    size_option: SizeOption = None,
    root: Root = 0,
    mpi: Library = None,
    effort: Effort = "normal",
    seed: Seed = 0,
    budget: Budget = "10s",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Write the table, or plan, as a plan file."),
    ] = None,
    draw: Annotated[
        Path | None,
        typer.Option(help="Draw the plan of the collective: .svg or .png.", metavar="FILE"),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(help="Write the schedule of the collective as JSON.", metavar="FILE"),
    ] = None,
    schedule: Annotated[
        list[Path] | None,
        typer.Option(
            help="Plan to use the schedule in this JSON file; may be repeated.", metavar="FILE"
        ),
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(help="Plan to use the tree in this file (docs/tree-file.md).", metavar="FILE"),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            help='With --tree: plan all, with the tree for these sizes, "64KB-8MB".',
            metavar="FROM-TO",
        ),
    ] = None,
    write_tree: Annotated[
        Path | None,
        typer.Option(
            help="Write the tree of the collective's plan: JSON if it ends with .json, else text.",
            metavar="FILE",
        ),
    ] = None,
    no_wisdom: Annotated[
        bool,
        typer.Option(
            "--no-wisdom", help="Plan anew: neither use nor keep what was planned before."
        ),
    ] = False,
    json: Json = False,
) -> int:
    """Plan one collective, or the table of all that a run needs.

    Ranks fill the slots of one host after the other; without -n, there is one per slot.

    Example: [bold]thalweg plan net.json -n 16 -o plan.bin[/bold]
    """
    from thalweg import plan_command

    search = _search(effort, seed, budget)
    question = plan_command.Question(net, ranks, hosts, mpi, search, remember=not no_wisdom)
    outputs = plan_command.Outputs(output, draw, export, write_tree)
    name = _once(collective, collective_option, "collective")
    length = _once(size, size_option, "size")
    if schedule:
        if length:
            raise UserError("a schedule file says its size: leave out SIZE, or --schedule")
        return plan_command.run_schedules(question, schedule, name, outputs, json=json)
    if sizes:
        if not (tree and name) or length or draw or export or write_tree:
            raise UserError(
                "--sizes says where a table takes the --tree of a collective: name both"
            )
        by_hand = plan_command.ByHand(tree, name, sizes)
        return plan_command.run_table(question, output, by_hand, json=json)
    if name is not None:
        return plan_command.run_one(question, name, length or "1MB", root, outputs, tree, json=json)
    if draw or export or tree or write_tree:
        raise UserError(
            "a drawing, a schedule or a tree is of one collective: name it, as in bcast 8MB"
        )
    return plan_command.run_table(question, output, json=json)


@app.command()
def explain(
    net: Net,
    collective: Collective = None,
    size: Size = None,
    ranks: Ranks = None,
    hosts: Hosts = None,
    collective_option: CollectiveOption = None,
    size_option: SizeOption = None,
    root: Root = 0,
    mpi: Library = None,
    effort: Effort = "normal",
    seed: Seed = 0,
    budget: Budget = "10s",
    json: Json = False,
) -> int:
    """Say why a plan was chosen: candidates, predicted times, the bound, the critical path.

    Example: [bold]thalweg explain net.json allgather 1MB[/bold]
    """
    from thalweg import explain, plan_command

    search = _search(effort, seed, budget)
    question = plan_command.Question(net, ranks, hosts, mpi, search)
    name = _once(collective, collective_option, "collective")
    if name is None:
        raise UserError("explain what? Name a collective, as in: thalweg explain NET bcast 8MB")
    length = _once(size, size_option, "size")
    return explain.run(question, name, length or "1MB", root, json=json)


def _search(effort: str, seed: int, budget: str) -> "Search":
    from thalweg import units
    from thalweg.plans import Search

    return Search(effort, seed, units.parse_time(budget))


def _once(argument: str | None, option: str | None, name: str) -> str | None:
    """What was given as an argument or as an option."""
    if argument and option and argument != option:
        raise UserError(f"{argument} and --{name} {option} differ: leave out one")
    return argument or option


@app.command()
def report(
    net: Net,
    output: Annotated[Path, typer.Option("-o", "--output", help="The page.")] = Path("report.html"),
    ranks: Ranks = None,
    hosts: Hosts = None,
    mpi: Library = None,
    results: Annotated[
        Path | None, typer.Option(help="Tables of results to show, as JSON.", metavar="FILE")
    ] = None,
    json: Json = False,
) -> int:
    """Write a page about a network: matrices, hierarchy, trunks, and what is planned for it.

    One HTML file that needs nothing else.

    Example: [bold]thalweg report net.json -o report.html[/bold]
    """
    from thalweg import plan_command, report

    return report.run(plan_command.Question(net, ranks, hosts, mpi), output, results, json=json)


@app.command()
def export(
    net: Net,
    format_name: Annotated[
        Literal["simgrid"], typer.Option("--format", help="Of the file: a SimGrid platform.")
    ] = "simgrid",
    output: Annotated[Path, typer.Option("-o", "--output", help="The file.")] = Path(
        "platform.xml"
    ),
    json: Json = False,
) -> int:
    """Write a network in the format of another program.

    Example: [bold]thalweg export net.json --format simgrid -o platform.xml[/bold]
    """
    from thalweg import export

    return export.run(net, format_name, output, json=json)


@app.command(context_settings={"allow_interspersed_args": False})
def run(
    program: Annotated[list[str], typer.Argument(help="The program and its arguments, after --.")],
    ranks: Ranks = None,
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    network: NetworkFile = None,
    plan: PlanFile = None,
    trace: Trace = None,
    launcher: Launcher = None,
    mpi: Mpi = None,
    json: Json = False,
) -> int:
    """Run an MPI program with plans for the network between its hosts.

    Probes the network unless its file is given or cached, plans, and starts the program by the
    launcher of its own MPI library. Passes on the program's exit status. With --json, what the
    program prints goes to standard error.

    Example: [bold]thalweg run -n 16 -H node[0-7]:2 -- ./app input[/bold]
    """
    from thalweg import run

    request = _request(
        ranks=ranks, hosts=hosts, hostfile=hostfile, launcher=launcher, mpi=mpi,
        network=network, plan=plan,
    )  # fmt: skip
    return run.run(request, program, trace=trace, json=json)


@app.command()
def env(
    ranks: Ranks = None,
    hosts: Hosts = None,
    hostfile: Hostfile = None,
    network: NetworkFile = None,
    plan: PlanFile = None,
    trace: Trace = None,
    launcher: Launcher = None,
    mpi: Mpi = None,
    json: Json = False,
) -> int:
    """Print the options with which a plain mpirun or mpiexec does what `thalweg run` does.

    Example: [bold]mpirun -n 16 -H a:8,b:8 $(thalweg env -n 16 -H a:8,b:8) ./app[/bold]
    """
    from thalweg import run

    request = _request(
        ranks=ranks, hosts=hosts, hostfile=hostfile, launcher=launcher, mpi=mpi,
        network=network, plan=plan,
    )  # fmt: skip
    return run.environment(request, trace=trace, json=json)


def _request(
    *,
    ranks: int | None = None,
    hosts: str | None = None,
    hostfile: Path | None = None,
    launcher: str | None = None,
    mpi: str | None = None,
    network: Path | None = None,
    plan: Path | None = None,
) -> "Request":
    from thalweg.run import Request

    return Request(ranks, hosts, hostfile, launcher, mpi, network, plan)


@app.command()
def man(
    folder: Annotated[Path, typer.Argument(help="Where the pages go.")] = Path("man/man1"),
    json: Json = False,
) -> int:
    """Write manual pages of all commands.

    Example: [bold]thalweg man ~/.local/share/man/man1[/bold]
    """
    from thalweg import man

    return man.run(app, folder, json=json)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit status: 2 if the user did something wrong."""
    try:
        status = app(args=arguments, prog_name="thalweg", standalone_mode=False)
    except UserError as error:
        return _complain(str(error), 2)
    except typer.TyperException as error:
        return _complain(error.format_message(), error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _complain("interrupted", 130)
    except ImportError as error:
        if not (error.name or "").startswith("thalweg._core"):
            raise
        return _complain(
            f"the compiled core is not there, or too old: {error}; run script/setup", 1
        )
    except BrokenPipeError:
        sys.stderr.close()
        return 141
    return status or 0


def _complain(message: str, status: int) -> int:
    if message:
        print(f"thalweg: {message}", file=sys.stderr)
    return status
