"""Networks with what was found of them since they were measured.

A network of the cache is changed in place. Of one that isn't verified, and of a file that the user
gives, the cache gets a calibrated copy, which stays the same as long as it fits, so that plans and
races for it are found again.
"""

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path

from thalweg import (
    console,
    drift,
    inputs,
    paths,
    recording,
    suspicion,
    units,
    verification,
    weather_file,
)
from thalweg import network as networks
from thalweg.caution import Caution
from thalweg.errors import UserError
from thalweg.files import is_file, writing
from thalweg.network import Network
from thalweg.weather import PairValues


def as_forecast(path: Path, net: Network, caution: Caution) -> Path:
    """Returns the file of what a network that isn't verified is by a sure forecast, if that
    contradicts it; else its own.

    That is a calibrated copy of the file. It stays the same as long as the file does and no sure
    forecast contradicts it, too, so that plans for it are found again.
    """
    names = [host.name for host in net.hosts]
    later = weather_file.load(names, recent=True).since(verification.measured_at(net))
    expected = suspicion.sure(net, later, caution.threshold)
    if not drift.misfits(net, expected, caution.threshold):
        return path
    copy = paths.network([*names, f"forecast for {path}"])
    said = "the network isn't verified; planning for its forecast, which differs"
    before = _newer(copy, path)
    if before and not drift.misfits(
        before, suspicion.sure(before, later, caution.threshold), caution.threshold
    ):
        console.note(f"{said} ({copy})")
        paths.mark_used(copy)
        return copy
    return calibrated_copy(path, copy, net, expected, caution, said)


def calibrated_copy(
    path: Path, copy: Path, net: Network, found: PairValues, caution: Caution, *said: str
) -> Path:
    """Returns the file of a calibrated copy of a network. Where it can't be written, a note says
    so, and the run goes on with the network's own file, `path`."""
    try:
        calibrate(copy, net, found, caution, *said)
    except UserError as error:
        console.note(f"{error}; planning for {path} as it is")
        return path
    return copy


def copy_for(path: Path, net: Network, names: Sequence[str]) -> Path:
    """Returns where the copy is of a file, or of a scenario by its name, for the hosts of these
    names. It goes by what the file has: its name and age don't tell, since links and copies change
    it with an old time."""
    content = path.read_bytes() if is_file(path) else networks.to_json(net).encode()
    return paths.network([*names, f"calibrated {recording.digest(content)}"])


def of_copy(copy: Path) -> Network | None:
    """Returns the network in a copy, if it is there and right."""
    if is_file(copy):
        with contextlib.suppress(UserError):
            return inputs.network(copy)
    return None


def _newer(copy: Path, path: Path) -> Network | None:
    """Returns the network in the copy if it was made after the file last changed, else None."""
    with contextlib.suppress(FileNotFoundError):
        if copy.stat().st_mtime_ns > path.stat().st_mtime_ns:
            return of_copy(copy)
    return None


def calibrate(
    path: Path,
    net: Network,
    found: PairValues,
    caution: Caution,
    said: str = "the network has changed, and is calibrated anew",
) -> None:
    """Writes the network with what was found, and says what differs."""
    result, lines = drift.calibrated(net, found, caution.threshold)
    result.measured_at = units.timestamp(time.time())
    with writing(f"network {path}", paths.ANOTHER_CACHE):
        path.parent.mkdir(parents=True, exist_ok=True)
        networks.write(result, path)
    paths.drop_unused(path.parent)
    console.note(f"{said}: {'; '.join(lines)}")
