"""Percentages as options take them."""

import math

from thalweg.errors import UserError


def parse(text: str, option: str, example: str, most: float = math.inf) -> float:
    """Reads "20%" as 0.2.

    Raises UserError, about the option, unless it is above 0 and at most `most`, or if "0.2" may be
    meant as a share.
    """
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        share = math.nan
    if not 0 < share <= most or share == math.inf:
        limit = "" if most == math.inf else f" and up to {100 * most:g}"
        raise UserError(f"{option} {text}: must be a percentage above 0{limit}, such as {example}")
    if share < 0.01 and not text.endswith("%"):
        other = f"{100 * float(text):g}"
        raise UserError(f"{option} {text}: may be {text} % or {other} %; write it with its %")
    return share
