"""Switches in the environment, read as the runtime library reads them."""

import os

_ON = ("1", "on", "yes", "true")
"""Anything else is off, of which the library says so if it isn't "0", "off", "no" or "false"."""


_OFF = ("0", "off", "no", "false")


def is_off(name: str) -> bool:
    """Whether an environment variable switches something off that is on without it."""
    return os.environ.get(name) in _OFF


def is_on(name: str) -> bool:
    """Whether an environment variable switches something on."""
    return os.environ.get(name) in _ON
