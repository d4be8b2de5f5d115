"""The exception for errors that the user can correct."""

import re
from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """One sentence that names the thing at fault and the remedy.

    The command line prints it as `thalweg: <message>` and exits with status 2.
    """


@contextmanager
def user_errors() -> Iterator[None]:
    """Turns an error of the C++ core into UserError.

    Those are ValueError, MemoryError, and TypeError for an argument of another type. Usable as a
    context or a decorator, only around calls whose values come from the user.
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
        if not (sentence := _mismatch(str(error))):
            raise
        raise UserError(sentence) from None


def _mismatch(message: str) -> str:
    """Returns a sentence for nanobind's message about arguments; "" for any other message."""
    found = re.match(
        r"(\S+)\(\): incompatible function arguments\..*?1\. (?:\w+)\((.*?)\)(?: -> .*?)?$"
        r".*Invoked with types: (.*)",
        message,
        re.DOTALL | re.MULTILINE,
    )
    if not found:
        return ""
    name, wanted, given = (re.sub(r"(?:thalweg\._core\.|collections\.abc\.)(?:\w+\.)?", "", part)
                           for part in found.groups())  # fmt: skip
    given = " ".join(given.split())
    return f"{name}() takes ({wanted}), with whole numbers of 64 bits at most, not ({given})"
