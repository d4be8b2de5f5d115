"""Which sets of hosts have a history of the weather: what can be named where none is."""

import os
from collections.abc import Sequence
from pathlib import Path

from thalweg import paths, weather_file, weather_text
from thalweg.errors import UserError
from thalweg.files import parse_json

NAME_THEM = "name hosts with -H, or a network file"


def known() -> list[list[str]]:
    """Returns the sets of hosts that have a history, in this lab if we are in one; those whose
    history was added to last come first. Files that are something else are passed over."""
    found = map(_read, (paths.cache() / "weather").glob("*.jsonl"))
    return [hosts for _, hosts in sorted(found, key=lambda each: -each[0]) if hosts]


def _read(path: Path) -> tuple[float, list[str]]:
    """Returns when a history was added to last, and its hosts; none if it is none, or can't be
    read, or is of another lab."""
    try:
        with path.open("rb") as file:
            changed = os.fstat(file.fileno()).st_mtime
            head = parse_json(file.readline(weather_file.RECENT).decode(), str(path))
    except (OSError, UserError, ValueError):
        return 0.0, []
    listed = head.get("hosts") if isinstance(head, dict) else None
    hosts = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    return changed, hosts if weather_file.location(hosts) == path else []


def lines(sets: Sequence[Sequence[str]]) -> list[str]:
    """Returns what the command prints where no hosts are named: those of known()."""
    if not sets:
        return [
            "no hosts are named, and none have a history yet: `thalweg probe` or a run on several "
            f"hosts begins one; then {NAME_THEM}"
        ]
    result = ["no hosts are named; those that have a history, the latest first:"]
    result += [f"  {weather_text.hosts_text(hosts)}" for hosts in sets[: weather_text.MOST_ROWS]]
    if len(sets) > weather_text.MOST_ROWS:
        result.append(f"{len(sets) - weather_text.MOST_ROWS} more: --json has all.")
    return [*result, NAME_THEM]
