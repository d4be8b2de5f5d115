"""Packages that only few need, so that installing Thalweg doesn't need them."""

import importlib.util

from thalweg.errors import UserError


def need(package: str, purpose: str) -> None:
    """Checks that an optional package is installed.

    Raises UserError that says how to install it.
    """
    if importlib.util.find_spec(package) is None:
        raise UserError(f"{purpose} need the package {package}: run pip install {package}")
