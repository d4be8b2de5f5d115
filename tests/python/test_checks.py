"""The checks of script/lint find what they are for."""

from pathlib import Path

import pytest

import check_citations
import check_includes

ROOT = Path(__file__).parents[2]
DOCS = "docs"  # apart, so that the check doesn't take what is cited here for real


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
        f"`src/gone.cpp` is not, nor is [this]({DOCS}/gone.md), [that](https://a.example) may.\n"
    )
    (tree / "src/low/a.cpp").write_text(f"// See {DOCS}/none.md.\n")
    (tree / "src/high/a.cpp").touch()
    files = [document, tree / "src/low/a.cpp"]
    assert list(check_citations.faults(tree, files)) == [
        f"README.md:2: cites {DOCS}/gone.md, which doesn't exist",
        "README.md:2: cites src/gone.cpp, which doesn't exist",
        f"src/low/a.cpp:1: cites {DOCS}/none.md, which doesn't exist",
    ]
