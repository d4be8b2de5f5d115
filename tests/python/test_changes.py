"""What a run's summary says of plans that followed the network, in words and in a network file."""

import json
from pathlib import Path
from typing import Any

import pytest

from thalweg import changes
from thalweg import network as networks
from thalweg.cli import main
from thalweg.network import Trunk
from thalweg.preparation import Preparation

CAUSE: dict[str, Any] = {
    "what": "egress",
    "name": "the egress of host1",
    "from": ["host1"],
    "to": ["host0", "host2", "host3"],
    "factor": 8.0,
    "excess": 0.002,
}
CHANGE: dict[str, Any] = {
    "collective": "bcast",
    "root": 3,
    "size": 65536,
    "ranks": 4,
    "leader": 0,
    "call": 120,
    "epoch": 7,
    "adopted": 163,
    "seconds": {"usual": 0.01, "noticed": 0.05, "after": 0.012},
    "outcome": "adopted",
    "quantity": "bandwidth",
    "causes": [CAUSE],
    "plans": [
        {
            "collective": "bcast", "root": 3, "size": 65536, "before": "pipelined-chain",
            "after": "binomial", "predicted": {"before": 0.06, "after": 0.011},
        }
    ],
}  # fmt: skip


def test_the_line_says_what_changed_and_what_it_won() -> None:
    assert changes.line({"changes": [CHANGE]}) == (
        "plans changed once (last: bandwidth of the egress of host1: 8 times worse; "
        "calls take 12ms instead of 50ms)"
    )
    vain = CHANGE | {"adopted": 0, "outcome": "nothing better"}
    assert changes.line({"changes": [vain]}) == changes.line({}) == changes.line(None) == ""


def test_the_story_tells_when_why_what_and_what_came_of_it() -> None:
    assert changes.story(CHANGE, dilation=2) == [
        "bcast of 64KiB with root 3 and up to twice as much, 4 ranks: "
        "call 120 took 25ms, instead of 5ms",
        "  bandwidth of the egress of host1: 8 times worse",
        "  bcast of 64KiB: binomial replaces pipelined-chain, predicted 60ms -> 11ms",
        "  from the communicator's call 163 on: calls take 6ms instead of 25ms",
    ]
    vain = CHANGE | {"adopted": 0, "outcome": "no memory", "causes": []}
    assert changes.story(vain)[1:] == [
        "  no change of the network explains it",
        "  the plans stayed: no memory",
    ]
    back = changes.story(CHANGE | {"outcome": "taken back"})
    assert back[-1].endswith("taken back, since calls took 12ms instead of 50ms")


def test_a_recovery_is_told_and_gives_the_network_back() -> None:
    recovery = CHANGE | {
        "recovery": True, "seconds": {"usual": 0.012, "noticed": 0.012, "after": 0.01},
        "causes": [CAUSE | {"factor": 0.3}],
    }  # fmt: skip
    assert changes.story(recovery)[0].endswith(
        "call 120 took 12ms, as before, but less with the plans before: "
        "the network may have recovered"
    )
    net = networks.even_network(4, 0.001, 1e8)
    net.trunks = [Trunk("out", [0, 1], [2, 3], 2e8, 0)]
    before = networks.to_json(net)
    changes.changed_network(net, [CHANGE])
    assert networks.to_json(net) != before
    changes.changed_network(net := networks.from_json(before, "net"), [CHANGE, recovery])
    assert networks.to_json(net) == before


def test_an_improvement_is_told_and_leaves_the_network() -> None:
    improvement = CHANGE | {
        "improvement": True, "seconds": {"usual": 0.05, "noticed": 0.05, "after": 0.03},
        "causes": [],
    }  # fmt: skip
    assert changes.story(improvement)[:2] == [
        "bcast of 64KiB with root 3 and up to twice as much, 4 ranks: "
        "call 120 took 50ms, as usual: planned once more, for calls as they follow each other",
        "  the network is as it was known",
    ]
    assert "calls take 30ms instead of 50ms" in changes.line({"changes": [improvement]})
    net = networks.even_network(4, 0.001, 1e8)
    before = networks.to_json(net)
    assert changes.changed_network(net, [improvement]) == []
    assert networks.to_json(net) == before


def test_a_kept_network_has_what_the_causes_say_and_its_history(tmp_path: Path) -> None:
    net = networks.even_network(4, 0.001, 1e8)
    net.trunks = [Trunk("out", [0, 1], [2, 3], 2e8, 0)]
    networks.write(net, tmp_path / "before.json")
    trunk = CAUSE | {
        "what": "trunk", "name": "trunk out", "from": ["host0", "host1"], "to": ["host2", "host3"],
    }  # fmt: skip
    later = CHANGE | {
        "quantity": "latency",
        "causes": [CAUSE | {"from": ["host2"], "to": ["host0"]}],
    }
    summary = {
        "changes": [
            CHANGE,
            CHANGE | {"causes": [trunk]},
            later,
            CHANGE | {"outcome": "taken back"},
            CHANGE | {"adopted": 0, "outcome": "nothing better"},
        ]
    }
    lines = changes.keep_network(tmp_path / "before.json", summary, tmp_path / "after.json")
    assert len(lines) == 3
    after = networks.read(tmp_path / "after.json")
    networks.validate(after)
    assert after.hosts[1].egress == net.hosts[1].egress / 8
    assert after.hosts[1].ingress == net.hosts[1].ingress
    assert after.trunks[0].capacity == 2e8 / 8
    assert after.bandwidth[1, 0] == pytest.approx(1e8 / 8)
    assert after.bandwidth[1, 2] == pytest.approx(1e8 / 64)  # both causes
    assert after.bandwidth[0, 1] == pytest.approx(1e8)
    assert after.latency[2, 0] == pytest.approx(0.003)
    assert after.latency[0, 2] == pytest.approx(0.001)
    assert "a run found: bandwidth of the egress of host1" in after.measured_with


def test_keeping_a_network_needs_adapting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--keep-network", "net.json", "--", "true"]) != 0
    assert "--adapt on" in capsys.readouterr().err


def test_ranks_are_told_to_adapt_only_if_they_race(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THALWEG_ADAPT", raising=False)
    plan = tmp_path / "my.plan"
    plan.write_bytes(b"a plan")
    prepared = Preparation.__new__(Preparation)
    object.__setattr__(prepared, "plan", plan)
    object.__setattr__(prepared, "launcher", type("L", (), {"flavour": "openmpi"})())
    assert "THALWEG_ADAPT" not in prepared.environment()
    assert prepared.environment(adapt=True)["THALWEG_ADAPT"] == "1"
    assert "THALWEG_ADAPT" not in prepared.environment(adapt=True, race=False)


def test_explain_tells_of_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "summary.json").write_text(json.dumps({"changes": [CHANGE]}))
    assert main(["explain", str(tmp_path)]) == 0
    assert "binomial replaces pipelined-chain" in " ".join(capsys.readouterr().out.split())
    assert main(["explain", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changes"] == [CHANGE]
