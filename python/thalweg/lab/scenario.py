"""Finds scenarios by name or file, checks them, and converts them to plain numbers."""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from thalweg import paths
from thalweg.errors import UserError
from thalweg.files import is_file
from thalweg.lab import scenarios


@dataclass(frozen=True)
class Host:
    """A host of a scenario; rates in bytes per second, None if unlimited."""

    name: str
    egress: float | None
    ingress: float | None


@dataclass(frozen=True)
class Trunk:
    """A trunk of a scenario; hosts by position, capacity in bytes per second."""

    name: str
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    capacity: float | None


@dataclass(frozen=True)
class Scenario:
    """A network to emulate, un-dilated, as `thalweg-switch --check` reads its file."""

    document: Mapping[str, Any]
    plain: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.plain["name"])

    @property
    def description(self) -> str:
        return str(self.document.get("description", ""))

    @property
    def dilation(self) -> float:
        return float(self.plain["dilation"])

    @cached_property
    def hosts(self) -> tuple[Host, ...]:
        return tuple(Host(**host) for host in self.plain["hosts"])

    @cached_property
    def trunks(self) -> tuple[Trunk, ...]:
        return tuple(
            Trunk(trunk["name"], tuple(trunk["from"]), tuple(trunk["to"]), trunk["capacity"])
            for trunk in self.plain["trunks"]
        )

    @property
    def network(self) -> Any:
        """The network as a `thalweg.network.Network`."""
        from thalweg import network

        return network.from_json(json.dumps(self.document["network"]), self.name)

    def latency(self, source: int, target: int) -> float:
        """Returns the seconds from one host to another."""
        return float(self.plain["latency"][source][target])

    def pair_rate(self, source: int, target: int) -> float:
        """Returns the bytes per second of one pair alone: the smallest rate on its path."""
        rates = [
            self.plain["bandwidth"][source][target],
            self.hosts[source].egress,
            self.hosts[target].ingress,
            *(t.capacity for t in self.trunks if source in t.sources and target in t.targets),
        ]
        return min((float(rate) for rate in rates if rate is not None), default=float("inf"))


def names() -> list[str]:
    """Returns the names of the built-in scenarios."""
    return list(scenarios.BUILT_IN)


def document(name: str) -> dict[str, Any]:
    """Returns a built-in scenario as the content of a file. Raises UserError if unknown."""
    content = scenarios.document(name)
    if content is None:
        known = ", ".join(names())
        if is_file(Path(name)):
            raise UserError(f"{name} is a file: name a scenario, {known} or drawn-SEED")
        raise UserError(
            f"there is no scenario {name!r}: it is neither a file nor one of {known}, nor "
            "drawn-SEED"
        )
    return content


def find(name_or_file: str) -> Scenario:
    """Returns a scenario by the name of a built-in or drawn one, or by its file.

    Raises UserError naming the file and the place in it, if it is not a valid scenario.
    """
    if name_or_file not in scenarios.BUILT_IN:
        path = Path(name_or_file)
        if is_file(path):
            return read(path)
    return parse(document(name_or_file))


def read(path: Path | str) -> Scenario:
    """Reads a scenario file. Raises UserError naming the place at fault."""
    path = Path(path)
    plain = _describe(path)
    content = json.loads(path.read_bytes())  # which may begin with a byte order mark
    return Scenario(content, {**plain, "name": plain["name"] or path.stem})


def parse(content: Mapping[str, Any]) -> Scenario:
    """Reads a scenario from the content of a file."""
    return Scenario(content, _describe(Path("/dev/stdin"), json.dumps(content)))


def _describe(path: Path, text: str | None = None) -> dict[str, Any]:
    command = [str(paths.binary("thalweg-switch")), "--check", "--scenario", str(path)]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise UserError(result.stderr.strip() or f"{path}: cannot be read as a scenario")
    described: dict[str, Any] = json.loads(result.stdout)
    return described
