"""Command line arguments are converted as typer converts them."""

from pathlib import Path
from typing import Any

import pytest
import typer

from thalweg.arguments import quickened
from thalweg.cli import app
from thalweg.commands import Commands

VALUES = [
    "", "on", "ON", "off", "openmpi", "0", "1", "007", "-3", "+4", "1.5", "٣", "1_000",
    "999999999", "9999999999999999999999", "true", "a b", ".", "no/such/file", "nul\0", "-",
    "name" * 100, 5, 2.5, True, None, (), ("1", "2"), ("a",), ["x", "3"], ("", None),
]  # fmt: skip


def outcome(convert: Any, value: Any, parameter: Any, context: typer.Context) -> tuple[Any, ...]:
    """The type and the value that a conversion gives, or its error."""
    try:
        found = convert().coerce(value, param=parameter, ctx=context)
    except typer.BadParameter as error:
        return ("error", error.format_message())
    return (type(found), found)


@pytest.mark.parametrize("name", ["", *Commands()])
def test_arguments_are_converted_as_by_typer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    whole = typer.main.get_command(app)
    command: Any = Commands()[name] if name else whole
    context: Any = typer.Context(command, info_name=name)
    parameters = command.get_params(context)
    assert parameters
    for parameter in parameters:
        quick = parameter.get_runtime_param
        typers = type(parameter).get_runtime_param.__get__(parameter)
        (tmp_path / "name").touch()
        for value in VALUES:
            expected = outcome(typers, value, parameter, context)
            assert outcome(quick, value, parameter, context) == expected, (parameter.name, value)
    assert quickened(parameters) == parameters  # a second time changes nothing
    assert all(parameter.get_runtime_param is not typers for parameter in parameters)
