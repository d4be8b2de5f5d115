"""What is known of collectives by their names, where the compiled core isn't loaded for it."""

ALL_TO_ALL = ("allreduce", "allgather", "alltoall", "reduce_scatter")
"""Those in which each rank needs data of every other one."""


def ends_together(name: str) -> bool:
    """Whether no rank leaves this collective before all have entered it."""
    return name in ALL_TO_ALL or name == "barrier"
