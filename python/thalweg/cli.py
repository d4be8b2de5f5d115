"""The command line. Each command's work is in the module that is named after it."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from thalweg import __version__
from thalweg.errors import UserError

app = typer.Typer(
    name="thalweg",
    help="Makes unmodified MPI programs faster on networks that nobody gave you a map of.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON (docs/guide.md says which).")]


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
def doctor(json: Json = False) -> int:
    """Say what of MPI, launchers, clock and kernel is here, and what to do about the rest.

    Exits with status 1 if no MPI program can be run with Thalweg here.

    Example: [bold]thalweg doctor[/bold]
    """
    from thalweg import doctor

    return doctor.run(json=json)


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
    except BrokenPipeError:
        sys.stderr.close()
        return 141
    return status or 0


def _complain(message: str, status: int) -> int:
    if message:
        print(f"thalweg: {message}", file=sys.stderr)
    return status
