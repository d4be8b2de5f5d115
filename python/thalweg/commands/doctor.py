"""`thalweg doctor`: checks MPI, launchers, clock and kernel, and says how to fix them."""

import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from thalweg import __version__, console, inputs, launcher, paths, units
from thalweg.errors import UserError
from thalweg.network import Network
from thalweg.options import Json
from thalweg.program_output import printed

app = typer.Typer(add_completion=False)

State = Literal["ok", "note", "missing"]
MARKS = {
    "ok": Text("ok", style="green"),
    "note": Text("note", style="yellow"),
    "missing": Text("missing", style="red"),
}


@dataclass(frozen=True)
class Finding:
    """The result of a check. `remedy` is empty if nothing needs to be done."""

    topic: str
    name: str
    state: State
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Mpi:
    """An MPI library, found through its launcher."""

    name: str
    """With its version: "Open MPI 4.1.4"."""
    launcher: str
    library: str
    """Path of libmpi; empty if it wasn't found."""
    runtime: str
    """Path of the runtime library for it; empty if it wasn't built."""
    problem: str
    """Why the runtime doesn't load with it; empty if it does."""


@app.command(name="doctor")
def command(
    net: Annotated[
        Path | None,
        typer.Argument(metavar="[NET]", help="Whether TCP's buffers suffice for this network."),
    ] = None,
    json: Json = False,
) -> int:
    """Check MPI, launchers, clock and kernel, and say how to fix what is missing.

    Exits with status 1 if no MPI program can be run with Thalweg here.

    Example: [bold]thalweg doctor[/bold]
    """
    libraries, findings = examine(inputs.network(net) if net else None)
    if json:
        console.show_json(as_json(libraries, findings))
    else:
        console.show(render(findings))
    return 0 if ready(libraries) else 1


def examine(net: Network | None = None) -> tuple[list[Mpi], list[Finding]]:
    """Checks this machine. Takes a second or two: it runs each launcher once.

    `net`: a network for which this machine's TCP buffers should suffice.
    """
    libraries = list(mpi_libraries())
    findings = [*program(), *mpi(libraries), *clock(), *kernel(), *reach()]
    return libraries, findings + (list(buffers(net)) if net else [])


def as_json(libraries: list[Mpi], findings: list[Finding]) -> dict[str, Any]:
    return {
        "version": __version__,
        "mpi": [asdict(library) for library in libraries],
        "findings": [asdict(finding) for finding in findings],
        "ready": ready(libraries),
    }


def ready(libraries: list[Mpi]) -> bool:
    """Whether `thalweg run` can work here: the runtime loads with some MPI library."""
    return any(not library.problem for library in libraries)


def render(findings: list[Finding]) -> Table:
    table = console.table("", "", "", "found", "what to do", folded=range(5))
    for topic in dict.fromkeys(finding.topic for finding in findings):
        for index, finding in enumerate(f for f in findings if f.topic == topic):
            table.add_row(
                topic if index == 0 else "",
                finding.name,
                MARKS[finding.state],
                finding.found,
                finding.remedy,
            )
    return table


def program() -> Iterator[Finding]:
    where = str(paths.package())
    yield Finding("thalweg", "version", "ok", f"{__version__} in {where}")
    for name in ("thalweg-switch",):
        yield _built(name, "the lab needs it")


def _built(name: str, why: str) -> Finding:
    try:
        return Finding("thalweg", name, "ok", str(paths.binary(name)))
    except UserError as error:
        return Finding("thalweg", name, "missing", why, str(error))


# MPI -------------------------------------------------------------------------------------------


def mpi_libraries() -> Iterator[Mpi]:
    """Returns the MPI libraries whose launchers are on the PATH, each once."""
    seen = set()
    for name in launcher.NAMES:
        try:
            found = launcher.at(name)
        except UserError:
            continue
        if (found.flavour, found.version) in seen:
            continue
        seen.add((found.flavour, found.version))
        library = find_library(found.flavour, found.path.resolve())
        runtime, problem = try_runtime(found.flavour, library)
        yield Mpi(found.name, str(found.path), library, runtime, problem)


def find_library(flavour: str, beside: Path) -> str:
    """Returns the library that belongs to the launcher `beside`, or the one the loader finds."""
    if own := launcher.library_beside(flavour, beside):
        return str(own)
    known = printed(["ldconfig", "-p"]) or printed(["/sbin/ldconfig", "-p"])
    for name in launcher.LIBRARIES[flavour]:
        if found := re.search(rf"^\s*{re.escape(name)} .*=> (\S+)", known, re.MULTILINE):
            return found[1]
    return ""


def try_runtime(flavour: str, library: str) -> tuple[str, str]:
    """Returns the runtime library for the flavour, and why it doesn't load with the MPI library.

    Loads both in a separate process, in the order that preloading gives.
    """
    try:
        runtime = str(paths.library(flavour))
    except UserError as error:
        return "", str(error)
    if not library:
        return runtime, "its libmpi was not found"
    code = (
        "import ctypes, sys\n"
        "ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)\n"
        "ctypes.CDLL(sys.argv[2], ctypes.RTLD_GLOBAL).thalweg_force\n"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code, library, runtime], capture_output=True, text=True, check=False
    )
    return runtime, (loaded.stderr.strip().splitlines() or ["it crashed"])[-1] * bool(
        loaded.returncode
    )


def mpi(libraries: list[Mpi]) -> Iterator[Finding]:
    if not libraries:
        yield Finding(
            "MPI",
            "library",
            "missing",
            "no launcher of Open MPI, MPICH or Intel MPI on the PATH",
            "apt install openmpi-bin, or put your MPI's bin folder on the PATH",
        )
    for library in libraries:
        found = f"{library.launcher}, {library.library or 'libmpi not found'}"
        yield Finding("MPI", library.name, "ok" if library.library else "note", found)
        if library.problem:
            yield Finding("MPI", "  runtime", "missing", library.runtime, library.problem)
        else:
            yield Finding("MPI", "  runtime", "ok", f"{Path(library.runtime).name} loads with it")


# Machine ---------------------------------------------------------------------------------------


def clock() -> Iterator[Finding]:
    source = _read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
    slow = source not in ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page")
    yield Finding(
        "clock",
        "source",
        "note" if slow else "ok",
        source or "unknown",
        "reading this clock may take a system call, which makes traces slower" if slow else "",
    )


def kernel() -> Iterator[Finding]:
    cores = len(os.sched_getaffinity(0))
    few = "the lab needs a core for its switch and one for the ranks" if cores < 2 else ""
    yield Finding("kernel", "cores", "note" if few else "ok", str(cores), few)
    chosen = _read("/proc/sys/net/ipv4/tcp_congestion_control")
    known = _read("/proc/sys/net/ipv4/tcp_available_congestion_control")
    advice = ""
    if chosen == "bbr":
        advice = "bbr paces short bursts; compare with cubic before you blame the network"
    yield Finding(
        "kernel", "congestion control", "note" if advice else "ok", f"{chosen} of {known}", advice
    )
    yield from lab_needs()


TCP = Path("/proc/sys/net/ipv4")
LARGEST_BUFFER = 2**31 - 1
"""Bytes: tcp_rmem and tcp_wmem are 32-bit numbers."""


def buffers(net: Network, settings: Path = TCP) -> Iterator[Finding]:
    """Checks whether TCP's largest buffers cover a network's largest bandwidth-delay product.

    A flow has that many bytes in flight; the kernel counts its own overhead as well, so that about
    half of a buffer holds data.
    """
    product, a, b = largest_bandwidth_delay(net)
    if product == 0:
        return
    path = (
        f"{net.hosts[a].name} -> {net.hosts[b].name} has {units.size_to_text(round(product))} "
        "in flight (bandwidth x round trip)"
    )
    is_beyond_any = 2 * product > LARGEST_BUFFER
    if is_beyond_any:
        path += ", which one flow can't have with any buffer: only several flows fill this link"
    needed = min(2 * product, LARGEST_BUFFER)
    for name, side in (("tcp_rmem", "receive"), ("tcp_wmem", "send")):
        try:
            least, usual, most = (int(word) for word in (settings / name).read_text().split())
        except (OSError, ValueError):
            yield Finding("TCP", f"{side} buffer", "note", f"{settings / name} can't be read")
            continue
        remedy = ""
        if most < needed:
            enough = min(1 << math.ceil(math.log2(needed)), LARGEST_BUFFER)
            remedy = f'on every host: sysctl -w net.ipv4.{name}="{least} {usual} {enough}"'
        state: State = "note" if remedy or is_beyond_any else "ok"
        found = f"up to {units.size_to_text(most)}; {path}"
        yield Finding("TCP", f"{side} buffer", state, found, remedy)


def largest_bandwidth_delay(net: Network) -> tuple[float, int, int]:
    """Returns the largest bandwidth-delay product of two hosts, in bytes, and those hosts."""
    some = net.representatives()
    latency, bandwidth = net.latency_among(some), net.bandwidth_among(some)
    product = np.where(np.isfinite(bandwidth), bandwidth, 0) * (latency + latency.T)
    np.fill_diagonal(product, 0)
    a, b = np.unravel_index(int(np.argmax(product)), product.shape)
    return float(product[a, b]), some[int(a)], some[int(b)]


def lab_needs() -> Iterator[Finding]:
    tun = Path("/dev/net/tun")
    if not tun.exists():
        yield Finding("kernel", "tun", "missing", "no /dev/net/tun", "modprobe tun (lab only)")
    elif not os.access(tun, os.R_OK | os.W_OK):
        yield Finding("kernel", "tun", "note", "not accessible to you", "run the lab as root")
    else:
        yield Finding("kernel", "tun", "ok", str(tun))
    if os.geteuid():
        yield Finding("kernel", "namespaces", "note", "you are not root", "run the lab as root")
    else:
        yield Finding("kernel", "namespaces", "ok", "you are root")


def reach() -> Iterator[Finding]:
    """Checks how launchers reach other hosts."""
    if agent := os.environ.get("THALWEG_LAB"):
        yield Finding("hosts", "agent", "ok", f"inside lab {agent}")
    elif ssh := shutil.which("ssh"):
        yield Finding("hosts", "ssh", "ok", ssh)
    else:
        advice = "apt install openssh-client, to launch on other hosts"
        yield Finding("hosts", "ssh", "missing", "not on the PATH", advice)


def _read(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
