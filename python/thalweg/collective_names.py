"""What is known of collectives by their names, where the compiled core isn't loaded for it."""

ONE_TO_ALL = ("bcast", "scatter")
"""Those in which the root alone has data, for every rank."""
ALL_TO_ONE = ("reduce", "gather")
"""Those in which the root alone has the result, of every rank's data."""
ROOTED = (*ONE_TO_ALL, *ALL_TO_ONE)
ALL_TO_ALL = ("allreduce", "allgather", "alltoall", "reduce_scatter")
"""Those in which each rank needs data of every other one."""


def ends_together(name: str) -> bool:
    """Whether no rank leaves this collective before all have entered it."""
    return name in ALL_TO_ALL or name == "barrier"
