"""The commands of `thalweg`: a module for each, named like its command.

Such a module has an `app` that declares the command, and the command's work. It may import the
library modules of `thalweg`, which never import a command, but no other command.
"""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from thalweg.arguments import quicken


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
