"""Quantities and their text forms.

Inside Thalweg a time is in seconds, a size in bytes and a rate in bytes per second; text such as
"10ms" is parsed and printed at the edges only.
"""

import time
from decimal import Decimal

from thalweg._core import units as _core
from thalweg.errors import user_errors


@user_errors()
def parse_time(text: str) -> float:
    """Returns the seconds of "10ms", "1.5 us", "2min", "0"; units ns, us, ms, s, min, h.

    Raises UserError if it isn't a time of at least zero.
    """
    return _core.parse_time(text)


@user_errors()
def parse_size(text: str) -> int:
    """Returns the bytes of "8MB" (decimal), "64KiB" (binary), "512".

    Raises UserError if it isn't a whole number of bytes of at least zero.
    """
    return _core.parse_size(text)


@user_errors()
def parse_rate(text: str) -> float:
    """Returns the bytes per second of "1Gbps", "100Mbit/s", "12.5MB/s".

    Raises UserError if it isn't a rate above zero.
    """
    return _core.parse_rate(text)


def time_to_text(time: float) -> str:
    """Prints three significant digits in the largest unit that fits: "10.2ms"."""
    return _core.time_to_text(time)


def ns_to_text(ns: float | None) -> str:
    """Prints nanoseconds as time_to_text prints seconds; "-" for a time that isn't known."""
    return "-" if ns is None else time_to_text(ns * 1e-9)


def size_to_text(size: int) -> str:
    """Prints an exact size if it is short ("8MB", "64KiB"), else three digits: "1.05MB"."""
    return _core.size_to_text(size)


def factor_to_text(factor: float) -> str:
    """Prints two significant digits, never with an exponent: "1.2", "500"."""
    return format(Decimal(f"{factor:.2g}"), "f")


def ratio_to_text(ratio: float, above: str, below: str) -> str:
    """Prints how many times a ratio is above or below 1: "1.2 times better"."""
    size, word = (ratio, above) if ratio > 1 else (1 / ratio, below)
    return f"{factor_to_text(size)} times {word}"


def rate_to_text(rate: float) -> str:
    """Prints bits per second, as networks are sold: "100Mbps"; infinity is "unlimited"."""
    return _core.rate_to_text(rate)


def timestamp(at: float) -> str:
    """Prints a time in seconds since 1970 in UTC, to the second that it is in:
    "2026-01-31T23:59:59Z"."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
