"""`thalweg man`: manual pages, made from the commands' help texts."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from thalweg import __version__, console
from thalweg.files import write_file, writing
from thalweg.options import Json

app = typer.Typer(add_completion=False)


@app.command(name="man")
def command(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="Folder for the pages.")] = Path("man/man1"),
    json: Json = False,
) -> int:
    """Write manual pages of all commands.

    Example: [bold]thalweg man ~/.local/share/man/man1[/bold]
    """
    written = []
    with writing(f"man {folder}", "name another folder"):
        folder.mkdir(parents=True, exist_ok=True)
    for name, each in commands("thalweg", context.find_root().command):
        path = folder / f"{name}.1"
        write_file(path, f"man {path}", page(name, each))
        written.append(str(path))
    if json:
        console.show_json({"files": written})
    else:
        console.show(f"{len(written)} pages written to {folder}; read one with `man -l`")
    return 0


def commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """Yields the command and all below it, with the names of their pages."""
    yield name, command
    for part, below in getattr(command, "commands", {}).items():
        yield from commands(f"{name}-{part}", below)


def page(name: str, command: Any) -> str:
    """Returns a manual page in the man macros of troff."""
    paragraphs = [_plain(text) for text in (command.help or "").split("\n\n")]
    summary = paragraphs[0].splitlines()[0].rstrip(".") if paragraphs[0] else name
    called = name.replace("-", " ")
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option"]
    synopsis = " ".join([rf"\fB{called}\fR", *(_argument(p) for p in arguments)])
    lines = [
        f'.TH "{name.upper()}" 1 "" "thalweg {__version__}" "Thalweg"',
        ".SH NAME",
        rf"{_escaped(name)} \- {_escaped(summary)}",
        ".SH SYNOPSIS",
        synopsis + (r" [\fIOPTIONS\fR]" if options else ""),
        ".SH DESCRIPTION",
    ]
    for text in paragraphs:
        lines += [".PP", _escaped(text)]
    for title, params in (("ARGUMENTS", arguments), ("OPTIONS", options)):
        lines += [f".SH {title}"] * bool(params)
        for param in params:
            lines += [".TP", rf"\fB{_names(param)}\fR", _escaped(_plain(param.help or ""))]
    below = [f"{name}-{part}" for part in getattr(command, "commands", {})]
    if below:
        lines += [".SH SEE ALSO", ", ".join(rf"\fB{_escaped(each)}\fR(1)" for each in below)]
    return "\n".join(lines) + "\n"


def _argument(param: Any) -> str:
    name = (param.metavar or param.name).strip("[]").upper()
    text = rf"\fI{_escaped(name)}\fR" + ("..." if param.nargs == -1 else "")
    return text if param.required else f"[{text}]"


def _names(param: Any) -> str:
    if param.param_type_name == "argument":
        return _escaped((param.metavar or param.name).strip("[]").upper())
    names = _escaped(", ".join([*param.opts, *param.secondary_opts]))
    takes = "" if param.is_flag else rf" \fI{_escaped((param.metavar or param.name).upper())}"
    return names + takes


def _plain(text: str) -> str:
    """Removes the help's markup."""
    return re.sub(r"\[/?(?:bold|dim)\]", "", text).strip()


def _escaped(text: str) -> str:
    text = text.replace("\\", r"\e").replace("-", r"\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)
