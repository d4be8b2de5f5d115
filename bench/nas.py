"""IS of the NAS Parallel Benchmarks in C, as SimGrid's source package in Debian has it."""

from __future__ import annotations

import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path

from bench import machine
from thalweg.errors import UserError

folder = machine.repository / ".cache" / "bench" / "nas"
package = "simgrid"
inside = "/examples/smpi/NAS/"
lists_of_apt = Path("/etc/apt/sources.list.d")


def sources(names: Sequence[str]) -> list[Path]:
    """Returns the files of these names; fetches them the first time.

    Raises UserError if apt-get can't.
    """
    found = [folder / name for name in names]
    if not all(path.exists() for path in found):
        _fetch()
    return found


def _fetch() -> None:
    """Downloads the source, with package lists of its own: most machines have none of sources."""
    lists, parts = folder / "lists", folder / "parts"
    for each in (lists / "partial", parts):
        each.mkdir(parents=True, exist_ok=True)
    for path in lists_of_apt.glob("*.sources"):
        (parts / path.name).write_text(path.read_text().replace("Types: deb\n", "Types: deb-src\n"))
    options = [
        "-q", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={parts}",
        "-o", f"Dir::State::lists={lists}",
    ]  # fmt: skip
    for command in (["update"], ["source", "--download-only", package]):
        done = subprocess.run(
            ["apt-get", *options, *command], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise UserError(f"apt-get {' '.join(command)} failed: {done.stderr.strip()}")
    (archive,) = folder.glob(f"{package}_*.orig.tar.*")
    with tarfile.open(archive) as packed:
        for member in packed:
            if inside in member.name and member.isfile() and (data := packed.extractfile(member)):
                (folder / Path(member.name).name).write_bytes(data.read())
