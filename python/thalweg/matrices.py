"""Reads communication matrices: run records, OTF2, CSV, Matrix Market, Open MPI's monitoring.

What a rank sends to itself doesn't count, and entries of the same pair add up.
"""

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from thalweg import mapping, matrix_market, optional, record, record_folder
from thalweg.collective import Kind
from thalweg.errors import UserError
from thalweg.files import is_file, is_folder, read_text
from thalweg.mapping import Call, Communication
from thalweg.matrix_entries import Entries, number_of, rank_of
from thalweg.printable import short
from thalweg.record import Run

MONITORED = re.compile(
    r"([EISRC])\t(\d{1,20})\t(\d{1,20})\t(\d{1,20}) bytes\t(\d{1,20}) msgs sent(?:\t[\d,]*)?"
)
"""What Open MPI's monitoring says of a pair of ranks."""
_COLLECTIVES = re.compile(r"D\t(.*)\tprocs: (.*)|(?:O2A|A2O|A2A)\t-?\d+\t\d+ bytes\t\d+ msgs sent")
"""What it says of a communicator: its name and ranks, and the sums of its collectives. Where it
doesn't know the ranks in the world, as with spawned processes, these are "(null)" and -1."""
_RANKS = re.compile(r"\d+(?:,\d+)*")
COLUMNS = {
    "from": ("from", "sender", "source", "src"),
    "to": ("to", "receiver", "destination", "dst"),
    "messages": ("messages", "msgs", "count"),
    "bytes": ("bytes", "nbytes", "volume", "size"),
}
"""Names of the columns of a list of pairs in CSV."""
_MONITORING_OF_OPEN_MPI = (
    "--mca pml_monitoring_enable 2 --mca pml_monitoring_enable_output 3 "
    "--mca pml_monitoring_filename FOLDER/out"
)


@dataclass(frozen=True)
class Program:
    """What a program sends: its communication matrix and, from a run record, its collectives."""

    matrix: Communication
    calls: Sequence[Call] = ()
    run: Run | None = None
    remark: str = ""
    """What the matrix doesn't tell, as a sentence without its full stop; usually empty."""


def read(path: Path, ranks: int = 0) -> Program:
    """Reads a run record, an OTF2 trace (its .otf2, or the folder that has it), .csv, .mtx, or what
    Open MPI's monitoring wrote: a file, or a folder of `*.prof`.

    A list of pairs, which doesn't say how many ranks there are, is of `ranks` if it names fewer.
    Raises UserError if it is none of them, or holds anything that no matrix has.
    """
    folder = is_folder(path)
    if folder and (path / record_folder.DESCRIPTION).exists():
        return of_run(record.read(path))
    if anchor := _anchor(path, folder):
        return Program(_traced(anchor))
    if folder:
        return _monitored(path, sorted(path.glob("*.prof")))
    text = read_text(path, f"matrix {path}", "; name a run record, or a file that has a matrix")
    text = text.removeprefix("\ufeff")  # a byte order mark, with which Excel saves CSV in UTF-8
    if text.startswith("%%MatrixMarket"):
        return Program(matrix_market.read(text, f"matrix {path}"))
    if any(map(MONITORED.fullmatch, text.splitlines()[:1000])):
        return _monitored(path, [path])
    if path.suffix == ".mtx":
        raise UserError(f"matrix {path}: must begin with %%MatrixMarket")
    return _csv(text, f"matrix {path}", ranks)


def _anchor(path: Path, folder: bool) -> Path | None:
    """Returns the file by which an OTF2 trace is opened, if the path is one."""
    if not folder:
        return path if path.suffix == ".otf2" and is_file(path) else None
    anchors = sorted(path.glob("*.otf2"))
    if len(anchors) > 1:
        raise UserError(f"{path}: has several OTF2 traces; name the .otf2 of one")
    return anchors[0] if anchors else None


def _traced(anchor: Path) -> Communication:
    optional.need("otf2", "OTF2 traces")
    from thalweg import otf2_traces

    traffic = otf2_traces.read(anchor)
    entries = Entries(f"trace {anchor}")
    for (sender, receiver), (messages, nbytes) in traffic.pairs.items():
        entries.add(sender, receiver, messages, nbytes)
    return entries.matrix(traffic.ranks, by_first_message=True)


def of_run(run: Run) -> Program:
    """Returns what the program of a recorded run sends."""
    return Program(of_record(run), calls_of(run), run)


def of_record(run: Run) -> Communication:
    """Returns the matrix of a run record: messages, blocks of collectives of neighbourhoods, and
    what ranks wrote to the memory of others or read from it, for which the program needn't wait in
    any order. What goes to processes outside of the world is left out."""
    matrix, blocks, other = run.matrix, run.neighbor_blocks, run.one_sided
    no_phases = [np.zeros(len(each), np.int64) for each in (blocks.sender, other.rank)]
    entries = [
        (matrix.sender, matrix.receiver, matrix.messages, matrix.nbytes, matrix.phase),
        (blocks.sender, blocks.receiver, blocks.messages, blocks.nbytes, no_phases[0]),
        (other.rank, other.target, other.writes, other.written, no_phases[1]),
        (other.target, other.rank, other.reads, other.read, no_phases[1]),
    ]
    sender, receiver, messages, nbytes, phase = (
        np.concatenate([_by_pair(entry[column]) for entry in entries]) for column in range(5)
    )
    used = (sender < run.ranks) & (receiver < run.ranks) & (messages > 0)
    return mapping.communication(
        run.ranks, sender[used], receiver[used], messages[used], nbytes[used], phase[used]
    )


def _by_pair(counts: NDArray[Any]) -> NDArray[Any]:
    """Returns counts of pairs, with those of all size classes added up."""
    return counts if counts.ndim == 1 else counts.sum(axis=1)


def calls_of(run: Run) -> list[Call]:
    """Returns the collectives that a run's program called, by communicator, root and size class.

    Each has the mean of its sizes. Collectives of communicators that aren't known are left out, and
    those of neighbourhoods, whose blocks of_record() has.
    """
    world = list(range(run.ranks))
    recorded = {part.rank for part in run.parts}
    found: dict[tuple[int, str, int, int], dict[int, list[int]]] = {}
    for row in run.calls:
        name = run.name_of("collectives", int(row["collective"]))
        key = (int(row["communicator"]), name, int(row["root"]), int(row["size_class"]))
        sums = found.setdefault(key, {}).setdefault(int(row["rank"]), [0, 0])
        sums[0] += int(row["calls"])
        sums[1] += int(row["bytes"])
    calls = []
    for (communicator, name, root, _), by_rank in sorted(found.items()):
        members = list(run.communicators.get(communicator, ()))
        if name not in Kind.__members__ or not members or min(members) < 0:
            continue
        made, nbytes = (sum(column) for column in zip(*by_rank.values(), strict=True))
        # Where ranks have blocks of their own sizes, each class has a part of a call's ranks.
        present = sum(member in recorded for member in members)
        whole = () if members == world else members
        calls.append(Call(Kind[name], round(nbytes / made), made / present, root, whole))
    return calls


def _monitored(path: Path, files: Sequence[Path]) -> Program:
    """Reads what the program itself sent point to point: lines with E.

    Each rank wrote a part, usually to a file of its own, that names all ranks.
    """
    entries = Entries(f"matrix {path}")
    parts, named, remark = 0, 0, ""
    for file in files:
        text = read_text(file, f"matrix {file}")
        parts += _count_parts(text, f"matrix {file}")
        for number, line in enumerate(text.splitlines(), 1):
            if match := MONITORED.fullmatch(line):
                if match[1] == "E":
                    sender, receiver, nbytes, messages = map(int, match.groups()[1:])
                    entries.add(sender, receiver, messages, nbytes)
                elif match[1] == "I" and int(match[5]):
                    remark = (
                        f"{path}: the messages of collectives (lines with I) are left out; a run "
                        "record, which `thalweg run` leaves, has the collectives"
                    )
            elif match := _COLLECTIVES.fullmatch(line):
                if match[1] == "MPI_COMM_WORLD" and _RANKS.fullmatch(match[2]):
                    named = max(named, match[2].count(",") + 1)
            elif not line.startswith("#"):
                raise UserError(
                    f"matrix {file}, line {number}: '{short(line)}' isn't what Open MPI's "
                    "monitoring writes: the file is damaged or cut off"
                )
    if not parts:
        raise UserError(
            f"{path}: neither a run record, nor an OTF2 trace, nor a folder of Open MPI's "
            f"monitoring ({_MONITORING_OF_OPEN_MPI})"
        )
    ranks = max(named or parts, *(rank + 1 for rank in (*entries.sender, *entries.receiver)), 0)
    if parts != ranks:
        raise UserError(
            f"matrix {path}: must have a part for each of the program's {ranks} ranks, but has "
            f"{parts}: name the folder with the .prof files of all ranks of one run"
        )
    return Program(entries.matrix(ranks), remark=remark)


def _count_parts(text: str, where: str) -> int:
    """Returns how many ranks' parts of Open MPI's monitoring a file has.

    Open MPI 3.1 and later write headings for each; messages without headings count as one part.
    Raises UserError if the messages of a part are cut off.
    """
    lines = text.splitlines()
    begun, ended = lines.count("# POINT TO POINT"), lines.count("# OSC")
    if begun != ended or not text.endswith("\n"):
        raise UserError(f"{where}: is cut off: monitor the program again")
    return begun or int(any(map(MONITORED.fullmatch, lines)))


def _csv(text: str, where: str, ranks: int) -> Program:
    """Reads a list of pairs, whose first line names its columns, or a square of bytes."""
    try:
        rows = dict(_rows(text))
    except csv.Error as error:
        raise UserError(f"{where}: not CSV: {error}") from None
    if not rows:
        raise UserError(f"{where}: is empty")
    columns = _columns(next(iter(rows.values())), where)
    if {"from", "to"} <= columns.keys():
        return _pairs(rows, columns, where, ranks)
    if any(len(row) != len(rows) for row in rows.values()):
        raise UserError(
            f'{where}: must be a square of bytes, or begin with a line "from,to,messages,bytes"'
        )
    entries = Entries(where)
    for sender, (line, row) in enumerate(rows.items()):
        for receiver, cell in enumerate(row):
            if value := number_of(cell, f"{where}, line {line}"):
                entries.add(sender, receiver, 0, value)
    return Program(entries.matrix(len(rows)))


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yields the rows that aren't empty, each with the number of its line."""
    reader = csv.reader(io.StringIO(text))
    for row in reader:
        if any(cell.strip() for cell in row):
            yield reader.line_num, row


def _columns(titles: Sequence[str], where: str) -> dict[str, int]:
    """Returns where each of COLUMNS is that a list of pairs has."""
    names = [cell.strip().lower() for cell in titles]
    columns = {}
    for column, known in COLUMNS.items():
        places = [at for at, name in enumerate(names) if name in known]
        if len(places) > 1:
            found = " and ".join(f"'{names[at]}'" for at in places)
            raise UserError(f"{where}: columns {found} may both be its {column}: leave one")
        if places:
            columns[column] = places[0]
    return columns


def _pairs(
    rows: Mapping[int, Sequence[str]], columns: Mapping[str, int], where: str, ranks: int
) -> Program:
    """Reads a list of pairs from the rows, each by its line, that come after the first. It is of
    `ranks` if it names fewer: the last ones may be silent."""
    if not {"messages", "bytes"} & columns.keys():
        raise UserError(f"{where}: has neither messages nor bytes beside its pairs")
    entries = Entries(where)
    (_, titles), *body = rows.items()
    for line, row in body:
        here = f"{where}, line {line}"
        if len(row) != len(titles):
            raise UserError(f"{here}: has {len(row)} columns, the first line {len(titles)}")
        sender, receiver = (rank_of(row[columns[end]], here) for end in ("from", "to"))
        messages, nbytes = (
            number_of(row[columns[what]], here) if what in columns else 0.0
            for what in ("messages", "bytes")
        )
        entries.add(sender, receiver, messages, nbytes)
    if not entries.sender:
        raise UserError(f"{where}: names no pair of ranks")
    named = max(*entries.sender, *entries.receiver) + 1
    if named >= ranks:
        return Program(entries.matrix())
    remark = f"{where}: names no rank beyond {named - 1}; the others of {ranks} are taken as silent"
    return Program(entries.matrix(ranks), remark=remark)


def heterogeneity(values: NDArray[np.float64], ranks: int) -> float:
    """Returns how unevenly the pairs of ranks talk: the coefficient of variation over all ordered
    pairs of different ranks, of which `values` has those above zero; 0 if all are equal."""
    pairs = ranks * (ranks - 1)
    mean = float(values.sum()) / pairs if pairs else 0.0
    if mean <= 0:
        return 0.0
    return math.sqrt(max(0.0, float((values**2).sum()) / pairs - mean**2)) / mean
