"""Mutates the files that commands read: matrices, records, events, weather and wisdom.

Commands must take each, or refuse it by one sentence. Run by test_fuzz.py, as fuzz_inputs.py is;
by hand with more examples, which says at the end what took longest:

    python tests/python/fuzz_files.py --examples 1000 --seed 7
"""

import contextlib
import io
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fuzz_inputs
import fuzzing
from fuzz_inputs import RANKS
from fuzzing import Property, mutated, mutated_bytes, mutated_text, remember
from hypothesis import strategies as st
from recorded import Recording
from test_changes import CHANGE
from test_matrices import MONITORED
from test_races import RACE
from test_record import calls, description, link, member, messages, part

from thalweg import network, planner, weather_file, wisdom
from thalweg.cli import main
from thalweg.collective import Kind
from thalweg.plans import Setting

HOSTS = [f"h{rank}" for rank in range(RANKS)]
Files = Mapping[str, bytes]
SLOWEST: dict[str, float] = {}
"""Seconds by command."""


def try_commands(files: Files, *commands: str) -> None:
    """Runs commands on files; {folder} is where they are."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in files.items():
            (folder / file).parent.mkdir(exist_ok=True)
            (folder / file).write_bytes(content)
        os.environ["XDG_CACHE_HOME"] = name
        os.environ["THALWEG_WISDOM"] = str(folder / "wisdom")
        for command in commands:
            remember((command, dict(files)))
            run(command, folder)


def run(command: str, folder: Path) -> None:
    said = io.StringIO()
    begin = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(said):
        status = main(command.format(folder=folder).split())
    words = " ".join(command.split()[:2])
    SLOWEST[words] = max(SLOWEST.get(words, 0), time.perf_counter() - begin)
    assert status in (0, 2), (status, said.getvalue())
    complaints = [line for line in said.getvalue().splitlines() if line]
    assert len(complaints) == 1 or status == 0, said.getvalue()


# Valid files -----------------------------------------------------------------------------------

MATRICES = {
    "pairs.csv": "from,to,messages,bytes\n0,1,2,30\n1,0,1,5\n3,1,1,1\n",
    "square.csv": "0,1,0\n2,9,0\n0,0.5,0\n",
    "sparse.mtx": "%%MatrixMarket matrix coordinate real general\n% c\n3 3 2\n1 2 5\n3 1 2.5\n",
    "dense.mtx": "%%MatrixMarket matrix array integer symmetric\n2 2\n1\n4\n2\n",
    "monitored.prof": MONITORED,
}


def network_file() -> bytes:
    return json.dumps(fuzz_inputs.network_document()).encode()


def record_parts() -> dict[str, bytes]:
    """The ranks' files of a run of two ranks on two hosts."""
    first = [messages(1, [(2, 70)]), calls(5, 1, 1, [1000, 3000]), member(5, 0, 2, 0)]
    second = [messages(0, [(1, 8)]), calls(5, 1, 1, [500]), member(5, 1, 2, 0)]
    first.append(link(1, [10, 20], []))
    second.append(link(0, [], [(15, 30), (25, 40)]))
    return {
        f"rank-{rank}.record": part(rank, 2, *entries, host=rank)
        for rank, entries in enumerate((first, second))
    }


def record_description() -> dict[str, Any]:
    return description(
        2, hosts=HOSTS[:2], placement=[0, 1], launch={"program": ["./app", "1"], "status": 0}
    )


def event_files() -> dict[str, bytes]:
    with TemporaryDirectory() as folder:
        made = Recording(2)
        call = made.call(Kind.allreduce, {0: (10, 60), 1: (0, 52)})
        made.message(call, 1, 0, (1, 2), (11, 20), step=0, how=1)
        made.message(call, 0, 1, (35, 36), (3, 50), step=1)
        files = made.write(Path(folder) / "run").iterdir()
        return {path.name: path.read_bytes() for path in sorted(files)}


def summary() -> dict[str, Any]:
    return {
        "library": "openmpi", "algorithms": ["drawn"], "reasons": ["off"], "races": [RACE],
        "changes": [CHANGE],
    }  # fmt: skip


def weather_lines() -> str:
    entry = {
        "at": 1.5, "source": "probe", "latency": [[0, 1, 1e-3]], "bandwidth": [[1, 0, 1e8]],
        "ratio": [[2, 3, 1.5]], "ports": [[0, 1e8, None]], "trunks": [["t", 1e7]],
    }  # fmt: skip
    lines = [{"weather": weather_file.VERSION, "hosts": HOSTS}, entry, entry | {"at": 9}]
    return "".join(json.dumps(line) + "\n" for line in lines)


def wisdom_file() -> bytes:
    """What planning a table keeps."""
    with TemporaryDirectory() as name:
        os.environ["THALWEG_WISDOM"] = str(Path(name) / "wisdom")
        wisdom.table(Setting(network.from_json(network_file().decode(), "net"), [0, 1], "openmpi"))
        return wisdom.location().read_bytes()


# Properties ------------------------------------------------------------------------------------


def check_matrices(example: tuple[str, str]) -> None:
    name, text = example
    files = {name: text.encode(errors="backslashreplace"), "net.json": network_file()}
    place = f"place {{folder}}/{name} --network {{folder}}/net.json"
    try_commands(files, f"show {{folder}}/{name}", place)


def check_records(example: tuple[Files, dict[str, Any]]) -> None:
    parts, described = example
    files = {f"run/{name}": content for name, content in parts.items()}
    files["run/run.json"] = json.dumps(described).encode()
    files["run/network.json"] = network_file()
    read = [f"{command} {{folder}}/run" for command in ("show", "weather")]
    try_commands(files, *read, "report {folder}/run -o {folder}/page.html")


def check_events(example: tuple[Files, dict[str, Any]]) -> None:
    parts, counted = example
    files = {f"run/{name}": content for name, content in parts.items()}
    files["run/summary.json"] = json.dumps(counted).encode()
    exports = [
        f"export {{folder}}/run --format {kind} -o {{folder}}/{kind}"
        for kind in ("perfetto", "csv")
    ]
    try_commands(
        files, "analyse {folder}/run", "explain {folder}/run", "explain {folder}/run bcast 64KB",
        "timemap {folder}/run -o {folder}/map.svg", "compare {folder}/run {folder}/run", *exports,
    )  # fmt: skip


def check_weather(text: str) -> None:
    with TemporaryDirectory() as name:
        os.environ["XDG_CACHE_HOME"] = name
        place = weather_file.location(HOSTS).relative_to(Path(name))
    files = {str(place).split("/")[-1]: text.encode(errors="backslashreplace")}
    with TemporaryDirectory() as name:
        cache = Path(name) / place.parent
        cache.mkdir(parents=True)
        os.environ["XDG_CACHE_HOME"] = name
        for file, content in files.items():
            (cache / file).write_bytes(content)
        remember(text)
        run(f"weather -H {','.join(HOSTS)}", Path(name))
        run(f"weather -H {','.join(HOSTS)} --json", Path(name))


def check_wisdom(data: bytes) -> None:
    files = {"wisdom": data, "net.json": network_file()}
    remember(data)
    with contextlib.suppress(ValueError):
        for _, value in planner.wisdom_from_bytes(fuzz_inputs.with_checksum(data)):
            with contextlib.suppress(ValueError):
                planner.table_from_bytes(value)
            with contextlib.suppress(ValueError):
                planner.plan_from_bytes(value, 2)
    plan = "plan {folder}/net.json -n 2 --mpi openmpi --effort estimate"
    try_commands(files, plan, f"{plan} bcast 64KB")


def strategies() -> list[Property]:
    matrices = [st.tuples(st.just(name), mutated_text(text)) for name, text in MATRICES.items()]
    return [
        (check_matrices, st.one_of(matrices)),
        (check_records, st.tuples(_one_mutated(record_parts()), st.just(record_description()))),
        (check_records, st.tuples(st.just(record_parts()), mutated(record_description()))),
        (check_events, st.tuples(_one_mutated(event_files()), st.just(summary()))),
        (check_events, st.tuples(st.just(event_files()), mutated(summary()))),
        (check_weather, mutated_text(weather_lines())),
        (check_wisdom, mutated_bytes(wisdom_file())),
    ]


@st.composite
def _one_mutated(draw: st.DrawFn, files: dict[str, bytes]) -> Files:
    """Files of which one is changed, or missing."""
    chosen = draw(st.sampled_from([name for name in files if "." in name]))
    if draw(st.integers(0, 9)) == 0:
        return {name: content for name, content in files.items() if name != chosen}
    return files | {chosen: draw(mutated_bytes(files[chosen]))}


if __name__ == "__main__":
    fuzzing.main(__doc__, strategies)
    for command, seconds in sorted(SLOWEST.items()):
        print(f"{command}: at most {seconds:.2f} s")
