"""The exception for errors that the user can correct."""

from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """One sentence that names the thing at fault and the remedy.

    The command line prints it as `thalweg: <message>` and exits with status 2.
    """


@contextmanager
def user_errors() -> Iterator[None]:
    """Turns an error of the C++ core (ValueError) into UserError.

    Usable as a context or a decorator, only around calls whose values come from the user.
    """
    try:
        yield
    except ValueError as error:
        raise UserError(str(error)) from None
