from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest
from recorded import Recording

from bench import distance
from thalweg import network
from thalweg.analysis.paths import CAUSES
from thalweg.collective import Kind

DILATION = 4


def test_the_path_of_a_sample_is_that_of_its_own_call(tmp_path: Path) -> None:
    """A relay by rank 1, in a lab four times as slow as its network of 1 us and 1 byte a ns."""
    made = Recording(3)
    for begin in (0, 80_000):
        call = made.call(
            Kind.bcast,
            {0: (begin, begin + 400), 1: (begin, begin + 9000), 2: (begin, begin + 20_000)},
            size=1000,
        )
        slow = 1 if begin else 0  # only the second call's first message takes longer
        arrived = begin + 400 + 4 * (2000 + 500 * slow)
        made.message(call, 0, 1, (begin + 400, begin + 401), (begin, arrived), size=1000)
        made.message(
            call, 1, 2, (arrived + 100, arrived + 101), (begin, arrived + 8100), size=1000,
            step=1,
        )  # fmt: skip
    folder = made.write(tmp_path / "trace")
    summary = folder / "summary.json"
    summary.write_text(summary.read_text().replace("{", f'{{"dilation": {DILATION}, ', 1))
    even = network.even_network(3, 1e-6, 1e9)
    session = SimpleNamespace(dilation=DILATION, scenario=SimpleNamespace(network=even))
    cell = SimpleNamespace(collective="bcast")
    sample = SimpleNamespace(cell=cell, raw={"start_ns": 79_000})
    path = distance.path_of(folder, sample, session)  # type: ignore[arg-type]
    # Handing a message to the library is a hop of its own.
    hops = path.group_by("sender", "receiver", maintain_order=True).agg(pl.col(CAUSES).sum())
    assert hops.select("sender", "receiver").rows() == [(0, 1), (1, 2), (2, 2)]
    assert hops["latency"].to_list() == pytest.approx([1e-6, 1e-6, 0])
    assert hops["data on the link"].to_list() == pytest.approx([1e-6, 1e-6, 0])
    total = path.select(pl.sum_horizontal(CAUSES).sum()).item()
    assert total == pytest.approx(20_000e-9 / DILATION)
