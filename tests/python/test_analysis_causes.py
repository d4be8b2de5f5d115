import polars as pl
import pytest
from recorded import Recording

from thalweg import network
from thalweg.analysis import findings, paths, tables
from thalweg.analysis.tables import Names, Run
from thalweg.collective import Kind

EVEN = {"network": network.even_network(2, 1000e-9, 1e9), "placement": [0, 1]}
"""Two hosts with a microsecond and a byte a nanosecond."""


def messages(took: list[int], off_core: int = 0) -> Run:
    """A bcast of 100 bytes to rank 1 for each time that a message takes."""
    made = Recording(2)
    begin = 0
    for each in took:
        end = begin + 20 + each
        call = made.call(
            Kind.bcast, {0: (begin, begin + 30), 1: (begin, end + 10)}, size=100,
            off_core={1: off_core},
        )  # fmt: skip
        made.message(call, 0, 1, (begin + 20, begin + 21), (begin + 5, end), size=100)
        begin = end + 100
    return made.run(**EVEN)


def of_rank_one(run: Run) -> pl.DataFrame:
    return paths.causes(run).filter(pl.col("rank") == 1).sort("call")


def test_what_one_message_takes_beyond_its_link_is_unexplained() -> None:
    usual, odd = 1400, 9400
    found = of_rank_one(messages([usual] * 20 + [odd]))
    # Usually 300 ns beyond latency and data.
    assert found["link below its rate"].to_list() == pytest.approx([300] * 21)
    assert found["unexplained"].to_list() == pytest.approx([0] * 20 + [odd - usual])
    assert found.row(20, named=True)["latency"] == 1000


def test_a_rank_that_the_system_had_put_aside_explains_a_late_message() -> None:
    found = of_rank_one(messages([1100] * 20 + [25_000], off_core=1)).row(20, named=True)
    assert found["host busy"] == pytest.approx(10_000, abs=20)
    assert found["unexplained"] == pytest.approx(25_000 - 1100 - 10_000, abs=20)


def test_a_message_that_comes_while_its_receiver_combines_another() -> None:
    made = Recording(3)
    call = made.call(Kind.reduce, {0: (0, 9020), 1: (0, 30), 2: (0, 30)})
    made.message(call, 1, 0, (10, 11), (5, 1030, 9000), how=1)
    made.message(call, 2, 0, (10, 11), (5, 9005, 9006), how=1)
    net = network.even_network(3, 1000e-9, 1e9)
    found = paths.causes(made.run(network=net, placement=[0, 1, 2]))
    root = found.filter(pl.col("rank") == 0).row(0, named=True)
    assert root["combine"] == pytest.approx(9000 - 1030, abs=2)
    assert root["unexplained"] + root["link below its rate"] <= 30


def test_a_busy_link_names_whose_messages_it_passed_before() -> None:
    made = Recording(2)
    other = made.call(Kind.allgather, {0: (0, 4000), 1: (0, 4000)}, size=2000)
    made.message(other, 0, 1, (0, 1), (0, 3000), size=2000)
    own = made.call(Kind.bcast, {0: (4001, 4500), 1: (4001, 7500)}, size=4000)
    made.message(own, 0, 1, (4001, 4002), (4001, 6000), size=2000, segment=0)
    made.message(own, 0, 1, (4001, 4003), (4001, 7400), size=2000, segment=1)
    found = findings.find(made.run(**EVEN)).busy
    first, second = (host.name for host in network.even_network(2, 1, 1).hosts)
    row = found.row(0, named=True)
    assert row["resource"] == f"link {first} -> {second}"
    assert (row["from_host"], row["to_host"], row["same_call"]) == (first, second, True)
    # The second takes 3399 ns: 1000 of latency and 2000 for its own bytes.
    assert found["time"].sum() == pytest.approx(399)


def test_messages_of_nonblocking_calls_keep_links_busy_for_others() -> None:
    made = Recording(2)
    apart = made.call(Kind.allgather, {0: (0, 9000), 1: (0, 9000)}, size=2000, nonblocking=True)
    made.message(apart, 0, 1, (3000, 3001), (3000, 6000), size=2000)
    own = made.call(Kind.bcast, {0: (3000, 3100), 1: (3000, 7500)}, size=2000)
    made.message(own, 0, 1, (3000, 3002), (3000, 7400), size=2000)
    run = made.run(**EVEN)
    # 4400 ns: 1000 of latency, 2000 for its own bytes, and the rest for the other's.
    assert of_rank_one(run)["link busy"].to_list() == pytest.approx([1400])
    (row,) = findings.find(run).busy.iter_rows(named=True)
    first, second = (host.name for host in network.even_network(2, 1, 1).hosts)
    assert (row["from_host"], row["to_host"], row["same_call"]) == (first, second, False)


def test_a_root_is_a_rank_of_the_communicator() -> None:
    made = Recording(4)
    times = dict.fromkeys((1, 3), (0, 9))
    made.call(Kind.bcast, times, root=0, members=[3, 1])
    made.call(Kind.bcast, dict.fromkeys((1, 3), (20, 29)), root=0)
    run = made.run()
    assert run.calls["root"].to_list() == [3, 3, 1, 1]  # without a record, the world's order
    assert run.calls.filter(pl.col("call") == 0)["member"].to_list() == [1, 0]


def test_times_of_a_lab_are_those_of_the_network_that_it_emulates() -> None:
    made = Recording(2)
    call = made.call(Kind.bcast, {0: (0, 40), 1: (0, 4440)}, size=100)
    made.message(call, 0, 1, (40, 41), (0, 4440), size=100)
    run = tables.build(made.events(), Names(["drawn"], []), dilation=4, **EVEN)  # type: ignore[arg-type]
    found = of_rank_one(run).row(0, named=True)
    assert (found["latency"], found["data on the link"]) == (1000, 100)
    assert found["unexplained"] == found["link below its rate"] == 0
