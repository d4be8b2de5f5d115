"""What values that a program wrote as JSON must look like, so that what uses them needn't check."""

import math
from collections.abc import Mapping
from typing import Any

NUMBER = "a number"
WHOLE = "a whole number"

Shape = Any
"""A type; NUMBER (finite) or WHOLE; a list of a shape: any number of such; a dict: an object with
these keys and shapes, of which those that end with "?" may be left out."""


def fault(value: object, shape: Shape, name: str = "") -> str | None:
    """Returns what doesn't fit, such as '"races"[2] lacks "winner"'; None if all fits."""
    if isinstance(shape, Mapping):
        return _fault_in_object(value, shape, name)
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{name or 'it'} must be a list"
        found = (fault(each, shape[0], f"{name}[{at}]") for at, each in enumerate(value))
        return next((each for each in found if each), None)
    if shape is NUMBER or shape is WHOLE:
        types = int if shape is WHOLE else int | float
        fits = isinstance(value, types) and not isinstance(value, bool) and _is_usable(value)
        return None if fits else f"{name or 'it'} must be {shape}"
    return None if isinstance(value, shape) else f"{name or 'it'} must be {_WORDS[shape]}"


def _fault_in_object(value: object, shape: Mapping[str, Shape], name: str) -> str | None:
    if not isinstance(value, dict):
        return f"{name or 'it'} must be an object"
    for key, each in shape.items():
        known = key.removesuffix("?")
        if known not in value:
            if key == known:
                return f'{name or "it"} lacks "{known}"'
        elif found := fault(value[known], each, f'{name}{"." if name else ""}"{known}"'):
            return found
    return None


def _is_usable(value: Any) -> bool:
    """Whether numbers of 64 bits can hold it."""
    return math.isfinite(value) and abs(value) < 2**63 if isinstance(value, float) else (
        -(2**63) <= value < 2**64
    )  # fmt: skip


_WORDS = {str: "text", dict: "an object", list: "a list", bool: "true or false"}
