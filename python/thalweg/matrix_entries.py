"""Entries of a communication matrix while it is read, and the ranks and numbers in its text."""

import math
import re
from dataclasses import dataclass, field

import numpy as np

from thalweg import hosts, mapping
from thalweg.errors import UserError
from thalweg.mapping import Communication
from thalweg.printable import short
from thalweg.record import contacts


@dataclass
class Entries:
    """Entries of a matrix while it is read."""

    where: str
    sender: list[int] = field(default_factory=list)
    receiver: list[int] = field(default_factory=list)
    messages: list[float] = field(default_factory=list)
    nbytes: list[float] = field(default_factory=list)

    def add(self, sender: int, receiver: int, messages: float, nbytes: float) -> None:
        self.sender.append(sender)
        self.receiver.append(receiver)
        self.messages.append(messages)
        self.nbytes.append(nbytes)

    def matrix(self, ranks: int | None = None, *, by_first_message: bool = False) -> Communication:
        """Returns the matrix of `ranks` ranks; None: as many as are named. Raises UserError.

        `by_first_message`: the entries of each sender are in the order in which it first sent to
        others, so that they tell the phases.
        """
        count = ranks or max((*self.sender, *self.receiver), default=0) + 1
        check_count(count, self.where)
        phase = (
            contacts(np.array(self.sender), np.array(self.receiver)) if by_first_message else None
        )
        try:
            return mapping.communication(
                count, self.sender, self.receiver, self.messages, self.nbytes, phase
            )
        except UserError as error:
            raise UserError(f"{self.where}: {error}") from None


def check_count(ranks: int, where: str) -> None:
    """Raises UserError if no program has so many ranks."""
    if ranks > hosts.MOST_RANKS:
        raise UserError(f"{where}: {ranks} ranks are too many: at most {hosts.MOST_RANKS}")


def rank_of(text: str, where: str) -> int:
    """Reads a number from 0 on. Raises UserError."""
    if not re.fullmatch(r"\s*\d{1,9}\s*", text):
        raise UserError(f"{where}: '{short(text)}' is no rank; write a number from 0 on")
    return int(text)


def number_of(text: str, where: str) -> float:
    """Reads a finite number of at least 0. Raises UserError."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (value >= 0 and math.isfinite(value)):
        raise UserError(f"{where}: '{short(text)}' must be a number of at least 0")
    return value
