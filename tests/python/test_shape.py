"""What JSON must look like."""

import math
from typing import Any

import pytest

from thalweg.shape import NUMBER, WHOLE, fault

SHAPE = {"name": str, "sizes": [WHOLE], "times?": {"plan": NUMBER}}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"name": "a", "sizes": [1, 2]}, None),
        ({"name": "a", "sizes": [], "times": {"plan": 0.5, "native": "more"}}, None),
        ([], "it must be an object"),
        ({"sizes": []}, 'it lacks "name"'),
        ({"name": 3, "sizes": []}, '"name" must be text'),
        ({"name": "a", "sizes": {}}, '"sizes" must be a list'),
        ({"name": "a", "sizes": [1, 2.5]}, '"sizes"[1] must be a whole number'),
        ({"name": "a", "sizes": [True]}, '"sizes"[0] must be a whole number'),
        ({"name": "a", "sizes": [10**30]}, '"sizes"[0] must be a whole number'),
        ({"name": "a", "sizes": [], "times": {}}, '"times" lacks "plan"'),
        ({"name": "a", "sizes": [], "times": {"plan": math.nan}}, '"times"."plan" must be a number'),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(value: Any, expected: str | None) -> None:
    assert fault(value, SHAPE) == expected
