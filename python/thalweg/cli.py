"""The command line: puts the commands of `thalweg.commands` together."""

import contextlib
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from thalweg import __version__
from thalweg.arguments import quickened
from thalweg.commands import Commands, listed
from thalweg.errors import UserError
from thalweg.files import REMEDIES, write_error
from thalweg.printable import printable, short


class _Group(TyperGroup):
    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = Commands()  # type: ignore[assignment]  # only read

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Returns what lists show of a command; resolve_command() returns the command itself."""
        return listed(cmd_name) if cmd_name in set(self.commands) else None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, found, rest = super().resolve_command(ctx, args)
        return name, self.commands[name] if name and found else None, rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # Typer ends with status 1 where an error has this one's errno.
            raise BrokenPipeError from None

    def get_params(self, ctx: Any) -> list[Any]:
        return quickened(super().get_params(ctx))


app = typer.Typer(
    name="thalweg",
    cls=_Group,
    help="Makes unmodified MPI programs faster on networks that nobody gave you a map of.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


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


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit status: 2 if the user did something wrong."""
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = app(args=arguments, prog_name="thalweg", standalone_mode=False)
        sys.stdout.flush()
    except UserError as error:
        return _complain(str(error), 2)
    except typer.TyperException as error:
        words = sys.argv[1:] if arguments is None else arguments
        return _complain(_negative(error, words) or _usage(error), error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _complain("interrupted", 130)
    except ImportError as error:
        if not (error.name or "").startswith("thalweg._core"):
            raise
        return _complain(
            f"the compiled core is not there, or too old: {error}; run script/setup", 1
        )
    except BrokenPipeError:
        _drop_output()  # else Python writes the rest of it at exit, and fails with status 120
        sys.stderr.close()
        return 141
    except OSError as error:
        if error.errno not in REMEDIES:
            raise
        _drop_output()
        return _complain(write_error(error.filename or "standard output", error), 2)
    return status or 0


def _open_missing_streams() -> None:
    """Opens what was closed before the start, as by `>&-`, so that output goes nowhere, and files
    that are opened later don't take its place in programs that are started."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            os.set_inheritable(number, True)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", closefd=False))


def _drop_output() -> None:
    """Sends what is left of the output nowhere, so that Python doesn't complain at its end."""
    with contextlib.suppress(OSError):  # tests replace it by something that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: typer.TyperException) -> str:
    """Says what is wrong, and where the command's arguments are explained; nothing where their
    help has been printed instead."""
    message = error.format_message().rstrip(".")
    context = getattr(error, "ctx", None)
    hint = f"; `{context.command_path} --help` shows what there is" if context else ""
    return message and message + hint


def _negative(error: typer.TyperException, arguments: Sequence[str]) -> str:
    """Says so if a negative size or number was taken for an option, else nothing."""
    option = str(getattr(error, "option_name", ""))
    if not re.fullmatch(r"-[0-9.]", option):
        return ""
    word = next((word for word in arguments if word.startswith(option)), option)
    return f"{short(word)}: a size or a number can't be negative"


def _complain(message: str, status: int) -> int:
    if message:
        lines = message.splitlines()  # some errors quote a program's output
        print("thalweg:", "\n".join(printable(line) for line in lines), file=sys.stderr)
    return status
