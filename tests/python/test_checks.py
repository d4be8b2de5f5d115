"""The checks of script/lint find what they are for."""

from pathlib import Path

import pytest

import check_citations
import check_imports
import check_includes
import check_prose

ROOT = Path(__file__).parents[2]
DOCS = "docs"  # apart, so that the check doesn't take what is cited here for real
SRC = "src/high/none.hpp"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "CMakeLists.txt").write_text("set(module_order low high)\n")
    for module in ("low", "high"):
        (tmp_path / "src" / module).mkdir(parents=True)
    return tmp_path


def test_an_upward_include_is_found(tree: Path) -> None:
    (tree / "src/high/a.hpp").write_text('#include "low/a.hpp"\n')
    (tree / "src/low/a.hpp").write_text('#include <vector>\n#include "high/a.hpp"\n')
    assert list(check_includes.faults(tree)) == [
        "src/low/a.hpp:2: low includes high/a.hpp, but high is above it"
    ]


def test_an_upward_include_inside_a_module_is_found(tree: Path) -> None:
    (tree / "CMakeLists.txt").write_text("set(module_order low runtime high)\n")
    for folder in ("observe", "execute"):
        (tree / "src/runtime" / folder).mkdir(parents=True)
    (tree / "src/runtime/execute/a.hpp").write_text('#include "runtime/observe/a.hpp"\n')
    assert list(check_includes.faults(tree)) == []
    (tree / "src/runtime/observe/a.hpp").write_text('#include "runtime/execute/a.hpp"\n')
    assert list(check_includes.faults(tree)) == [
        "src/runtime/observe/a.hpp:1: runtime/observe includes runtime/execute/a.hpp, "
        "but execute is above it"
    ]
    (tree / "src/runtime/new").mkdir()
    (tree / "src/runtime/new/a.hpp").touch()
    assert any("src/runtime/new: has no place" in each for each in check_includes.faults(tree))


def test_folders_that_include_each_other_are_found(tree: Path) -> None:
    for folder, other in (("a", "b"), ("b", "c"), ("c", "a")):
        (tree / "src/low" / folder).mkdir()
        (tree / "src/low" / folder / "x.hpp").write_text(f'#include "low/{other}/x.hpp"\n')
    (tree / "src/low/top.hpp").write_text('#include "low/a/x.hpp"\n')
    assert list(check_includes.faults(tree)) == [
        "src/low: folders include each other: a -> b -> c -> a"
    ]


def test_json_stays_out_of_the_runtime() -> None:
    order = check_includes.module_order(ROOT)
    assert check_includes.fault(order, "runtime", "nlohmann/json.hpp")
    assert check_includes.fault(order, "planner", "network/file.hpp")
    assert not check_includes.fault(order, "network", "nlohmann/json.hpp")


def test_a_module_without_a_place_in_the_order_is_found(tree: Path) -> None:
    (tree / "src/new").mkdir()
    (tree / "src/new/a.cpp").touch()
    assert list(check_includes.faults(tree)) == ["src/new: not in module_order of CMakeLists.txt"]


def test_cited_paths_must_exist(tree: Path) -> None:
    document = tree / "README.md"
    document.write_text(
        "`src/low/` and `src/{low,high}/*` are there, `src/<module>` is no path,\n"
        f"`src/gone.cpp:5` is not, nor is [this]({DOCS}/gone.md), [that](https://a.example) may.\n"
        "No folder is unknown: `elsewhere/`, `a/b.cpp`; but `12 B/s`, `~/.cache/x`, `/proc/y`.\n"
    )
    (tree / "src/low/a.cpp").write_text(f"// See {DOCS}/none.md, src/high/{{a,b}}.cpp, {SRC}.\n")
    (tree / "src/high/a.cpp").touch()
    files = [document, tree / "src/low/a.cpp"]
    assert sorted(check_citations.faults(tree, files)) == [
        f"README.md:2: cites {DOCS}/gone.md, which doesn't exist",
        "README.md:2: cites src/gone.cpp, which doesn't exist",
        "README.md:3: cites a/b.cpp, which doesn't exist",
        "README.md:3: cites elsewhere/, which doesn't exist",
        f"src/low/a.cpp:1: cites {DOCS}/none.md, which doesn't exist",
        f"src/low/a.cpp:1: cites {SRC}, which doesn't exist",
    ]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A library of which a knows b, and a command that knows a."""
    for name, text in {
        "python/thalweg/__init__.py": "",
        "python/thalweg/a.py": "from thalweg import b\n",
        "python/thalweg/b.py": "import json\n",
        "python/thalweg/cli.py": "from thalweg.commands import Commands\n",
        "python/thalweg/commands/__init__.py": "",
        "python/thalweg/commands/show.py": "from thalweg.a import x\n",
        "bench/__init__.py": "",
        "bench/one.py": "from thalweg import a\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert list(check_imports.faults(tmp_path)) == []
    return tmp_path


@pytest.mark.parametrize(
    "text",
    [
        "from thalweg.a import x\n",
        "def f():\n    import thalweg.a\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from . import a\n",
    ],
)
def test_a_circle_of_imports_is_found(text: str, package: Path) -> None:
    (package / "python/thalweg/b.py").write_text(text)
    assert list(check_imports.faults(package)) == [
        "imports go in a circle: thalweg.a -> thalweg.b -> thalweg.a"
    ]


@pytest.mark.parametrize(
    ("file", "text", "complaint"),
    [
        (
            "python/thalweg/b.py", "from thalweg.commands import show\n",
            "the library must not import a command (thalweg.commands.show)",
        ),
        (
            "python/thalweg/commands/plan.py", "from thalweg.commands.show import x\n",
            "a command must not import a command (thalweg.commands.show)",
        ),
        (
            "python/thalweg/b.py", "import bench.one\n",
            "the library must not import a benchmark (bench.one)",
        ),
    ],
)  # fmt: skip
def test_commands_and_benchmarks_are_above_the_library(
    file: str, text: str, complaint: str, package: Path
) -> None:
    (package / file).write_text(text)
    assert f"{file}:1: {complaint}" in list(check_imports.faults(package))


def test_slips_of_prose_are_found(tree: Path) -> None:
    source, script, document = tree / "src/low/a.hpp", tree / "a.py", tree / "README.md"
    source.write_text(
        "/// Of the hosts,\n/// the nearest.\nint a; // the longest way\n"
        "// One way or the other, a way to\n// win.\nint b; ///< no fewer than so many times\n"
    )
    script.write_text('"""Goes the whole way."""\nurl = "ways"  # Those of a site.\n')
    document.write_text("Both ways.\n```\nways\n```\nOf course.\n")
    assert list(check_prose.faults(tree, [source, script, document])) == [
        'src/low/a.hpp:1: begins with "Of": write a sentence or a noun phrase',
        'src/low/a.hpp:3: says "way": write "path", "link" or "direction"',
        'src/low/a.hpp:6: says "so many times": name the number',
        'a.py:1: says "way": write "path", "link" or "direction"',
        'a.py:2: begins with "Those of": write a sentence or a noun phrase',
        'README.md:1: says "ways": write "path", "link" or "direction"',
    ]
