"""The type stubs of the C++ core name what it has, and nothing else."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import thalweg

STUBS = sorted((Path(thalweg.__file__).parent / "_core").glob("[!_]*.pyi"))


def public(names: list[str]) -> set[str]:
    return {name for name in names if not name.startswith("_") and not name.startswith("@")}


def stated(body: list[ast.stmt]) -> set[str]:
    names = [node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    for node in body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
        if isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return public(names)


def is_open(node: ast.ClassDef) -> bool:
    """Whether the class has more attributes than its stub states, as the stub says."""
    return any(
        isinstance(each, ast.FunctionDef) and each.name == "__getattr__" for each in node.body
    )


@pytest.mark.parametrize("stub", STUBS, ids=lambda stub: stub.stem)
def test_the_stub_of_a_module_is_complete(stub: Path) -> None:
    module = importlib.import_module(f"thalweg._core.{stub.stem}")
    body = ast.parse(stub.read_text()).body
    assert stated(body) == public(list(vars(module)))
    for node in body:
        if isinstance(node, ast.ClassDef):
            members = vars(getattr(module, node.name))
            found = public([name for name, value in members.items() if not inspect.ismodule(value)])
            if is_open(node):
                assert stated(node.body) <= found, node.name
            else:
                assert stated(node.body) == found, node.name
