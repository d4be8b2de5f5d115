"""The collectives: which block is where before and after, which contributions are combined."""

from thalweg._core import collective as _core
from thalweg._core.collective import Collective, Kind, neighborhoods
from thalweg.errors import user_errors

__all__ = ["Collective", "Kind", "is_reduction", "is_rooted", "neighborhoods", "parse_kind"]


@user_errors()
def parse_kind(text: str) -> Kind:
    """The kind of this name: "bcast", "reduce", "allreduce".

    Raises UserError listing the known names.
    """
    return _core.parse_kind(text)


def is_rooted(kind: Kind) -> bool:
    """Whether one rank has all the data before or after: bcast, reduce, gather, scatter."""
    return _core.is_rooted(kind)


def is_reduction(kind: Kind) -> bool:
    """Whether contributions are combined."""
    return _core.is_reduction(kind)
