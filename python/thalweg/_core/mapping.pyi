from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from thalweg._core.collective import Kind
from thalweg._core.network import Network

methods: tuple[str, ...]
costs: tuple[str, ...]

class Communication:
    def __init__(
        self,
        ranks: int,
        sender: NDArray[np.int64],
        receiver: NDArray[np.int64],
        messages: NDArray[np.float64],
        nbytes: NDArray[np.float64],
        phase: NDArray[np.int64],
    ) -> None: ...
    @property
    def ranks(self) -> int: ...
    @property
    def sender(self) -> NDArray[np.int64]: ...
    @property
    def receiver(self) -> NDArray[np.int64]: ...
    @property
    def messages(self) -> NDArray[np.float64]: ...
    @property
    def nbytes(self) -> NDArray[np.float64]: ...
    @property
    def phase(self) -> NDArray[np.int64]: ...
    def between(self, group_of: Sequence[int], groups: int) -> Communication: ...

class Call:
    def __init__(
        self,
        kind: Kind,
        size: int,
        count: float = ...,
        root: int = ...,
        members: Sequence[int] = ...,
    ) -> None: ...
    @property
    def kind(self) -> Kind: ...
    @property
    def size(self) -> int: ...
    @property
    def count(self) -> float: ...
    @property
    def root(self) -> int: ...
    @property
    def members(self) -> list[int]: ...

class Setting:
    def __init__(
        self,
        communication: Communication,
        slots: Sequence[int],
        calls: Sequence[Call],
        cost: str,
        pinned: Sequence[int],
        previous: Sequence[int],
        migration: float,
        order: Sequence[int],
    ) -> None: ...

class Cost:
    def __init__(self, pairs: float, load: float, collectives: float, migration: float) -> None: ...
    @property
    def pairs(self) -> float: ...
    @property
    def load(self) -> float: ...
    @property
    def collectives(self) -> float: ...
    @property
    def migration(self) -> float: ...
    @property
    def total(self) -> float: ...

class TrafficSums:
    def __init__(
        self,
        inter_host: float,
        intra_host: float,
        inter_site: float,
        comm_time: float,
        busiest: float,
        hosts: int,
    ) -> None: ...
    @property
    def inter_host(self) -> float: ...
    @property
    def intra_host(self) -> float: ...
    @property
    def inter_site(self) -> float: ...
    @property
    def comm_time(self) -> float: ...
    @property
    def busiest(self) -> float: ...
    @property
    def hosts(self) -> int: ...

def has_scotch() -> bool: ...
def finalists(
    network: Network,
    setting: Setting,
    method: str,
    seed: int,
    moves: int | None,
    most: int,
    native: str,
) -> list[list[int]]: ...
def planned_costs(
    network: Network, setting: Setting, placements: Sequence[Sequence[int]], native: str
) -> tuple[list[Cost | None], int]: ...
def cost(network: Network, setting: Setting, placement: Sequence[int]) -> Cost: ...
def traffic(network: Network, setting: Setting, placement: Sequence[int]) -> TrafficSums: ...

class Core:
    @property
    def number(self) -> int: ...
    @property
    def processors(self) -> list[int]: ...

class Inside:
    @property
    def cores(self) -> list[Core]: ...
    @property
    def network(self) -> Network: ...

def has_hwloc() -> bool: ...
def inside(topology: str, ranks: int) -> Inside: ...
