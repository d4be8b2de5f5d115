"""Mutates inputs, and tries properties with them: what fuzz_inputs.py and fuzz_files.py share."""

import argparse
import copy
import math
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from thalweg.errors import UserError

CURRENT = [Path("/dev/null")]
"""The file of the input in work."""
NUMBERS: list[Any] = [
    -1, 0, 1, 2, 3, 4, 5, 2**16, 2**30, 2**31 - 1, 2**31, 2**32, 2**62, 2**63 - 1, 2**63, 2**64,
    10**30, -(2**31), -(2**63), 0.5, -0.0, 1e-320, 1e-9, 1e15, 1e300, 1e308, math.inf, -math.inf,
    math.nan,
]  # fmt: skip
TEXTS = [
    "", " ", "x", "h0", "h1", "[/]", "[red]x[/red]", "\x1b[31m", "a\nb", "1e999", "-1", "nan",
    "inf", "10XB", "9000000TB", "1us", "10ms", "1e300s", "1Gbps", "0bps", "64KB", "\u0663",
    "\u00b2", "s",
    "B/s", "cluster", "openmpi", "copy", "combine_left", "bcast", "alltoall", "9" * 30, "\x00",
]  # fmt: skip
ODD: list[Any] = [*NUMBERS, *TEXTS, None, True, False, [], {}, [[]], [0], [0, 1], {"x": 1}]

Property = tuple[Callable[[Any], None], st.SearchStrategy[Any]]
"""What is tried, and examples for it."""


@contextmanager
def refusals(*others: type[Exception]) -> Iterator[None]:
    """Lets a UserError of one line pass, and others where no UserError is promised."""
    try:
        yield
    except UserError as error:
        assert str(error).strip(), "an empty message"
        assert len(str(error).splitlines()) == 1 or "\\n" in CURRENT[0].read_text(), str(error)
        assert "vector::" not in str(error), str(error)
        assert "std::" not in str(error), str(error)
    except others:
        pass


def attempt(call: Callable[[], object], *others: type[Exception]) -> Any:
    """Returns the result of a call, or None if it is refused."""
    with refusals(*others):
        return call()
    return None


def remember(value: object) -> None:
    CURRENT[0].write_text(repr(value), errors="backslashreplace")


# Mutations -------------------------------------------------------------------------------------


@st.composite
def mutated(draw: st.DrawFn, document: Any) -> Any:
    """A document with a few values replaced, removed, doubled or exchanged."""
    changed = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        parent, key = _place(draw, changed)
        if parent is None:
            continue
        action = draw(
            st.sampled_from(("replace", "replace", "replace", "remove", "double", "rename"))
        )
        if action == "replace":
            parent[key] = copy.deepcopy(draw(st.sampled_from(ODD)))
        elif action == "remove":
            del parent[key]
        elif action == "double" and isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        elif action == "rename" and isinstance(parent, dict):
            parent[draw(st.sampled_from(TEXTS))] = parent.pop(key)
    return changed


def _place(draw: st.DrawFn, document: Any) -> tuple[Any, Any]:
    """Draws a place inside a document: what contains it, and its key there."""
    parent, key = None, None
    while isinstance(document, dict | list) and document:
        keys = list(document) if isinstance(document, dict) else list(range(len(document)))
        parent, key = document, draw(st.sampled_from(keys))
        document = parent[key]
        if draw(st.integers(0, 4)) == 0:
            break
    return parent, key


@st.composite
def mutated_text(draw: st.DrawFn, text: str) -> str:
    """A text with a part replaced, removed or doubled."""
    for _ in range(draw(st.integers(1, 3))):
        first = draw(st.integers(0, len(text)))
        last = draw(st.integers(first, min(len(text), first + 20)))
        middle = draw(
            st.sampled_from([*TEXTS, text[first:last] * 2, "[", "{", "[0-", "slots=", ":"])
        )
        text = text[:first] + middle + text[last:]
    return text


@st.composite
def mutated_bytes(draw: st.DrawFn, data: bytes) -> bytes:
    """Bytes with some replaced, removed or doubled."""
    changed = bytearray(data)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(0, len(changed) - 1)))
        action = draw(st.integers(0, 4))
        if action < 2:
            changed[at : at + 1] = bytes([draw(st.sampled_from((0, 1, 2, 127, 128, 254, 255)))])
        elif action == 2:
            number = draw(st.sampled_from((0, -1, 2**31 - 1, 2**63 - 1, -(2**63))))
            changed[at : at + 8] = struct.pack("<q", number)
        elif action == 3:
            del changed[at : at + draw(st.integers(1, 16))]
        else:
            changed[at:at] = changed[at : at + draw(st.integers(1, 16))]
    return bytes(changed)


# The command line -----------------------------------------------------------------------------


def main(description: str | None, make: Callable[[], list[Property]]) -> None:
    """Tries the properties that `make` returns, as the command line says."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--examples", type=int, default=20)
    parser.add_argument("--seed", type=int, help="default: always the same examples")
    parser.add_argument("--only", default="", help="the name of one property")
    parser.add_argument("--current", type=Path, default=Path("fuzz-current.txt"))
    arguments = parser.parse_args()
    CURRENT[0] = arguments.current
    for check, examples in make():
        if arguments.only not in check.__name__:
            continue
        test = settings(
            max_examples=arguments.examples, derandomize=arguments.seed is None, deadline=None,
            database=None, suppress_health_check=list(HealthCheck), print_blob=False,
        )(given(examples)(check))  # fmt: skip
        if arguments.seed is not None:
            test = seed(arguments.seed)(test)
        test()
        print(check.__name__, "passed", flush=True)
