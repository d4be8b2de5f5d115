"""The commands of `thalweg`: a module for each, named like its command.

Such a module has an `app` that declares the command, the function `command`, whose documentation is
the command's help, and the command's work. It may import the library modules of `thalweg`, which
never import a command, but no other command.
"""

import ast
import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from thalweg.arguments import quicken


def listed(name: str) -> Any:
    """Returns a command with its help only, as lists of commands show it.

    It is read from the module's source: to import all modules takes most of a second.
    """
    source = pkgutil.get_data(__name__, f"{name}.py") or b""
    (function,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == "command"
    )
    return typer.core.TyperCommand(name, help=ast.get_docstring(function))


class Commands(Mapping[str, Any]):
    """The commands by name. A command's module is imported when the command is asked for, so that
    none waits for what only others need."""

    def __getitem__(self, name: str) -> Any:
        if name not in set(self):
            raise KeyError(name)
        module = importlib.import_module(f"{__name__}.{name}")
        return quicken(typer.main.get_command(module.app))

    def __iter__(self) -> Iterator[str]:
        return (module.name for module in pkgutil.iter_modules(__path__))

    def __len__(self) -> int:
        return sum(1 for _ in self)
