from collections.abc import Sequence
from enum import Enum

class Kind(Enum):
    bcast = 0
    reduce = 1
    allreduce = 2
    gather = 3
    scatter = 4
    allgather = 5
    alltoall = 6
    reduce_scatter = 7
    scan = 8
    exscan = 9
    barrier = 10

neighborhoods: tuple[str, ...]

def parse_kind(text: str) -> Kind: ...
def is_rooted(kind: Kind) -> bool: ...
def is_reduction(kind: Kind) -> bool: ...

class Collective:
    def __init__(
        self,
        kind: Kind,
        ranks: int,
        root: int = ...,
        size: int = ...,
        in_place: bool = ...,
        block_sizes: Sequence[int] = ...,
    ) -> None: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def ranks(self) -> int: ...
    @property
    def root(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def in_place(self) -> bool: ...
    @property
    def block_sizes(self) -> list[int]: ...
    @property
    def blocks(self) -> int: ...
    @property
    def total(self) -> int: ...
    def before(self, rank: int, block: int) -> bool: ...
    def after(self, rank: int, block: int) -> bool: ...
    def contributes(self, contributor: int, rank: int, block: int) -> bool: ...
