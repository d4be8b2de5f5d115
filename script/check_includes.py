"""Checks that modules include only modules below them, and so do the folders inside a module.

The order of modules is that of `module_order` in CMakeLists.txt; the order of a module's folders is
that of FOLDER_ORDER. Folders without an order must not include each other in a circle.
Usage: check_includes.py [ROOT]
"""

import re
from collections.abc import Iterator
from pathlib import Path

from check import run
from circles import circle

INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')
# The preloaded runtime lives in other people's processes: no JSON there, nor in what it is made of.
JSON = (
    "nlohmann/", "network/file.hpp", "network/node.hpp", "network/pairs_from_json.hpp",
    "network/parse.hpp",
)  # fmt: skip
JSON_ALLOWED = ("network", "probe", "lab")
FOLDER_ORDER = {"runtime": ("observe", "mpi", "execute", "choose", "adapt", "setup", "intercept")}
"""The folders of a module, lowest first."""


def module_order(root: Path) -> list[str]:
    """The modules, lowest first."""
    found = re.search(r"set\(module_order\s+([^)]*)\)", (root / "CMakeLists.txt").read_text())
    if not found:
        raise SystemExit(f"{root}/CMakeLists.txt sets no module_order")
    return found[1].split()


def faults(root: Path) -> Iterator[str]:
    """One line per include that goes upward, and per module without a place in the order."""
    order = module_order(root)
    for folder in sorted(path for path in (root / "src").iterdir() if path.is_dir()):
        if folder.name not in order and any(folder.rglob("*.[ch]pp")):
            yield f"src/{folder.name}: not in module_order of CMakeLists.txt"
    for module in order:
        for file in sorted((root / "src" / module).rglob("*.[ch]pp")):
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if (found := INCLUDE.match(line)) and (why := fault(order, module, found[1])):
                    yield f"{file.relative_to(root)}:{number}: {why}"
    for module in order:
        yield from folder_faults(root, module)


def fault(order: list[str], module: str, included: str) -> str | None:
    """What is wrong with a file of `module` including `included`, if anything."""
    if included.startswith(JSON) and module not in JSON_ALLOWED:
        return f"{module} must not read or write JSON ({included})"
    target = included.split("/")[0]
    if target in order and order.index(target) > order.index(module):
        return f"{module} includes {included}, but {target} is above it"
    return None


def folder_faults(root: Path, module: str) -> Iterator[str]:
    """Includes that go upward inside a module, or in a circle where its folders have no order.

    A module's own files, which lie in no folder of it, may include all of its folders and be
    included by them.
    """
    order = FOLDER_ORDER.get(module)
    includes: dict[str, set[str]] = {}
    for file in sorted((root / "src" / module).glob("*/*.[ch]pp")):
        folder = file.parent.name
        includes.setdefault(folder, set())
        if order and folder not in order:
            yield f"src/{module}/{folder}: has no place in FOLDER_ORDER of check_includes.py"
            return
        for number, line in enumerate(file.read_text().splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            parts = found[1].split("/")
            if len(parts) < 3 or parts[0] != module or parts[1] == folder:
                continue
            includes[folder].add(parts[1])
            if order and order.index(parts[1]) > order.index(folder):
                yield (
                    f"{file.relative_to(root)}:{number}: {module}/{folder} includes {found[1]}, "
                    f"but {parts[1]} is above it"
                )
    if not order and (found_circle := circle(includes)):
        yield f"src/{module}: folders include each other: {' -> '.join(found_circle)}"


if __name__ == "__main__":
    run(faults, "includes: all downward")
