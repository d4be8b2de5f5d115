"""Runs a program that has the runtime linked in under SMPI: simulated.py PROGRAM LIBRARY.

The library, which all ranks share, must have no variables but constants that C++ initializes when
they are first needed. Eight hosts are connected by a switch. The program must find all results
right, the summary must say that each of its collectives was planned, and there must be a record.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

forced = {
    "bcast": "pipelined-chain:segment_size=1000",
    "reduce": "binomial",
    "allreduce": "ring",
    "gather": "flat",
    "scatter": "binomial",
    "allgather": "ring",
    "alltoall": "pairwise",
    "reduce_scatter": "ring",
    "scan": "linear-scan",
    "exscan": "recursive-doubling-scan",
    "barrier": "dissemination",
}
platform = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="hosts" prefix="node" suffix="" radical="0-7" speed="1Gf" bw="1GBps" lat="50us"/>
</platform>
"""


constants = ("::algorithm", "::list")  # of functions in src/algorithms/


def variables(library: str) -> list[str]:
    """Returns our symbols in the writable sections of a library."""
    done = subprocess.run(
        ["nm", "--demangle", "--format=sysv", library], capture_output=True, text=True, check=True
    )
    rows = [[cell.strip() for cell in line.split("|")] for line in done.stdout.splitlines()]
    ours = [row for row in rows if len(row) == 7 and "thalweg" in row[0]]
    if not ours:
        sys.exit(f"no symbols: {library}")
    return [
        name
        for name, *_, section in ours
        if section in {".data", ".bss", ".tdata", ".tbss"}
        and not name.startswith("guard variable for ")
    ]


def main() -> None:
    program, library, ranks = sys.argv[1], sys.argv[2], 8
    shared = [name for name in variables(library) if not name.endswith(constants)]
    if shared:
        sys.exit(f"all ranks share: {', '.join(shared)}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "platform.xml").write_text(platform)
        (folder / "hosts").write_text("".join(f"node{i}\n" for i in range(ranks)))
        summary = folder / "summary.json"
        force = ";".join(f"{kind}={algorithm}" for kind, algorithm in forced.items())
        done = subprocess.run(
            [
                *("smpirun", "-np", str(ranks), "-platform", folder / "platform.xml"),
                *("-hostfile", folder / "hosts", "--log=root.thres:warning", program, force),
            ],
            env=os.environ
            | {"THALWEG_FORCE": force, "THALWEG_SUMMARY": str(summary), "TMPDIR": name}
            | {"THALWEG_RECORD": str(folder / "record")},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0 or "right" not in done.stdout:
            sys.exit(f"{done.stdout}{done.stderr}")
        collectives = json.loads(summary.read_text())["collectives"]
        unplanned = [
            kind for kind in forced if not collectives.get(kind, {}).get("planned", {}).get("calls")
        ]
        files = list((folder / "record").glob("*record*"))
        if not files:
            sys.exit("no record was written")
        if unplanned:
            sys.exit(f"not planned: {', '.join(unplanned)}: {json.dumps(collectives)}")


main()
