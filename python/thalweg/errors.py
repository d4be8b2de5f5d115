"""The exception for errors that the user can correct."""

from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """One sentence that names the thing at fault and the remedy.

    The command line prints it as `thalweg: <message>` and exits with status 2.
    """


@contextmanager
def user_errors() -> Iterator[None]:
    """Turns an error of the C++ core into UserError.

    Those are ValueError, MemoryError, and ArgumentError for an argument of another type. Usable as
    a context or a decorator, only around calls whose values come from the user.
    """
    try:
        yield
    except ValueError as error:
        raise UserError(str(error)) from None
    except MemoryError:
        raise UserError(
            "this takes more memory than there is: use fewer ranks, hosts or segments"
        ) from None
    except TypeError as error:
        from thalweg._core import ArgumentError  # not loaded before an error that may be the core's

        if not isinstance(error, ArgumentError):
            raise
        raise UserError(str(error)) from None
