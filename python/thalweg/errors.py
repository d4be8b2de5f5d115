"""The exception for what the user can put right."""

from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """One sentence that names the thing at fault and the way out.

    The command line prints it as `thalweg: <message>` and exits with status 2.
    """


@contextmanager
def user_errors() -> Iterator[None]:
    """Turns what the C++ core refuses (ValueError) into UserError.

    As a context or as a decorator: only around what gets its values from the user.
    """
    try:
        yield
    except ValueError as error:
        raise UserError(str(error)) from None
