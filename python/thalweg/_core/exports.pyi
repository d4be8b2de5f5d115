import numpy as np
from numpy.typing import NDArray

class Otf2Functions:
    def __init__(
        self,
        *,
        enter: int,
        collective_begin: int,
        collective_end: int,
        leave: int,
        send: int,
        receive: int,
    ) -> None: ...

def write_otf2(
    functions: Otf2Functions,
    writer: int,
    *,
    event: NDArray[np.uint8],
    time: NDArray[np.uint64],
    communicator: NDArray[np.uint32],
    peer: NDArray[np.uint32],
    size: NDArray[np.uint64],
    region: NDArray[np.uint32],
    operation: NDArray[np.uint8],
) -> int | None: ...
