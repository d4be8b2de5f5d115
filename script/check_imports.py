"""Checks that Python modules import without circles, and commands only from the library.

Looks at every import of python/thalweg and bench, also at those inside functions and those for
types only. Usage: check_imports.py [ROOT]
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from check import run
from circles import circle

PACKAGES = ("python/thalweg", "bench")
COMMANDS = "thalweg.commands"
COMMAND_LINE = "thalweg.cli"
"""The one module that may import COMMANDS, which finds the commands by their names."""


def modules(root: Path) -> dict[str, Path]:
    """The file of each module, by the module's name."""
    found = {}
    for package in PACKAGES:
        folder = root / package
        for file in sorted(folder.rglob("*.py")):
            parts = file.relative_to(folder.parent).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(name: str, file: Path, known: Mapping[str, Path]) -> Iterator[tuple[int, str]]:
    """Line number and name of each of the known modules that a module imports."""
    package = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            inside = [f"{base}.{alias.name}" for alias in node.names]
            targets = [each if each in known else base for each in inside]
        else:
            continue
        for target in targets:
            if target in known and target != name:
                yield node.lineno, target


def fault(name: str, target: str) -> str | None:
    """What is wrong with a module importing another by itself, if anything."""
    if target == COMMANDS and name == COMMAND_LINE:
        return None
    if f"{target}.".startswith(f"{COMMANDS}."):
        who = "a command" if name.startswith(f"{COMMANDS}.") else "the library"
        return f"{who} must not import a command ({target})"
    if name.startswith("thalweg") and target.startswith("bench"):
        return f"the library must not import a benchmark ({target})"
    return None


def faults(root: Path) -> Iterator[str]:
    known = modules(root)
    graph: dict[str, list[str]] = {name: [] for name in known}
    for name, file in known.items():
        for number, target in imports(name, file, known):
            graph[name].append(target)
            if why := fault(name, target):
                yield f"{file.relative_to(root)}:{number}: {why}"
    if found := circle(graph):
        yield f"imports go in a circle: {' -> '.join(found)}"


if __name__ == "__main__":
    run(faults, "imports: no circle")
