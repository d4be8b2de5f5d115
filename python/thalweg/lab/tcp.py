"""TCP settings fixed in each host, independent of the defaults of this machine's kernel."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from thalweg.errors import UserError

MTU = 9000

# Linux's own defaults unless a reason is given; machines differ in how they change them.
DEFAULTS: dict[str, str] = {
    "congestion_control": "cubic",
    "slow_start_after_idle": "1",
    # Otherwise one run would influence the next.
    "no_metrics_save": "1",
    "rmem": "4096 131072 6291456",
    "wmem": "4096 16384 4194304",
    "mtu_probing": "0",
    "timestamps": "1",
    "sack": "1",
    "ecn": "0",
}
MINIMAL_RETRANSMISSION_TIMEOUT = 0.2  # seconds; dilated with everything else

_ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")


def settings(wanted: object, where: str) -> dict[str, str]:
    """Returns the defaults, changed by a scenario's "tcp". Raises UserError naming a mistake."""
    if not isinstance(wanted, Mapping):
        raise UserError(f'{where}: tcp: must be an object, such as {{"ecn": 1}}')
    for key in wanted:
        if key not in DEFAULTS:
            raise UserError(f"{where}: tcp: unknown key {key!r}; known are {', '.join(DEFAULTS)}")
    result = DEFAULTS | {key: _text(value, f"{where}: tcp: {key}") for key, value in wanted.items()}
    available = _AVAILABLE.read_text().split()
    if result["congestion_control"] not in available:
        if "congestion_control" in wanted:
            raise UserError(
                f"{where}: tcp: this kernel has no congestion control "
                f"{result['congestion_control']!r}, only {', '.join(available)}"
            )
        result["congestion_control"] = "reno"
    return result


def _text(value: object, where: str) -> str:
    """Returns a setting as the kernel reads it: a word, a number, or several numbers."""
    if isinstance(value, bool):
        return str(int(value))
    parts = value if isinstance(value, list) else [value]
    texts = [str(part) for part in parts if isinstance(part, int | str)]
    if len(texts) < len(parts) or not re.fullmatch(r"[\w ]+", " ".join(texts)):
        raise UserError(f"{where}: must be a word, a number or a list of numbers, not {value!r}")
    return " ".join(texts)


@contextlib.contextmanager
def allowed(congestion_control: str) -> Iterator[None]:
    """Lets hosts choose a congestion control while the block runs.

    A network namespace may only choose one that the machine's own allows, and then keeps it.
    """
    before = _ALLOWED.read_text()
    if congestion_control in before.split():
        yield
        return
    _ALLOWED.write_text(f"{before.strip()} {congestion_control}")
    try:
        yield
    finally:
        _ALLOWED.write_text(before)
