"""Converts command line arguments quickly.

typer converts each by pydantic, whose import takes a third of a command's start. Values that are
plainly right are converted here; all others are left to typer, which says what is wrong with them.
"""

import os
import re
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_origin

_LEFT = object()
"""Stands for a value that is left to typer."""


class Conversion:
    """Converts the values of one parameter, in place of typer's conversion."""

    def __init__(self, parameter: Any) -> None:
        self._typers = parameter.get_runtime_param

    def __call__(self) -> Self:
        """Takes the place of typer's method that returns a parameter's conversion."""
        return self

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Returns the converted value, as typer's method of this name does."""
        several = param.multiple or param.nargs == -1
        found = _convert(value, param.type_descriptor, several)
        return self._typers().coerce(value, param=param, ctx=ctx) if found is _LEFT else found


def quicken(command: Any) -> Any:
    """Returns the command of typer after replacing the conversion of its parameters."""
    all_parameters = command.get_params
    command.get_params = lambda context: quickened(all_parameters(context))
    return command


def quickened(parameters: list[Any]) -> list[Any]:
    """Returns the parameters of a command after replacing their conversion."""
    for parameter in parameters:
        if not isinstance(parameter.get_runtime_param, Conversion):
            parameter.get_runtime_param = Conversion(parameter)
    return parameters


def _convert(value: Any, descriptor: Any, several: bool) -> Any:
    annotation, info = descriptor.annotation, descriptor.parameter_info
    if info.parser is not None:
        return _LEFT
    if not several:
        return None if value is None else _convert_one(value, annotation, info)
    if value is None:
        return ()
    kinds = get_args(annotation)
    if get_origin(annotation) is not list or not isinstance(value, list | tuple):
        return _LEFT
    found = [_convert_one(each, kinds[0], info) for each in value]
    return _LEFT if any(each is _LEFT for each in found) else found


def _convert_one(value: Any, annotation: Any, info: Any) -> Any:
    if not isinstance(value, str):
        return _LEFT
    if annotation is str:
        return value
    if annotation is int:
        return _convert_int(value, info)
    if annotation is Path:
        return _convert_path(value, info)
    if get_origin(annotation) is Literal and value in get_args(annotation):
        return value
    return _LEFT


def _convert_int(text: str, info: Any) -> Any:
    if not re.fullmatch("[0-9]{1,9}", text):
        return _LEFT
    number = int(text)
    too_small = info.min is not None and number < info.min
    too_large = info.max is not None and number > info.max
    return _LEFT if too_small or too_large else number


def _convert_path(text: str, info: Any) -> Any:
    checked = info.exists or info.writable or not info.file_okay or not info.dir_okay
    if checked or info.allow_dash or info.resolve_path or info.path_type is not None:
        return _LEFT
    path = Path(text)
    try:
        path.stat()
    except OSError:
        return path
    except ValueError:  # no file can have this name
        return _LEFT
    return path if os.access(path, os.R_OK) else _LEFT
