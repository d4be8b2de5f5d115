"""Communication matrices from files."""

from pathlib import Path

import numpy as np
import otf2
import pytest
from otf2 import enums

from thalweg import matrices
from thalweg.errors import UserError
from thalweg.mapping import Communication

Pairs = dict[tuple[int, int], tuple[float, float]]


def pairs(matrix: Communication) -> Pairs:
    """Messages and bytes by pair."""
    return {
        (int(a), int(b)): (float(messages), float(nbytes))
        for a, b, messages, nbytes in zip(
            matrix.sender, matrix.receiver, matrix.messages, matrix.nbytes, strict=True
        )
    }


def read(folder: Path, name: str, text: str) -> Communication:
    path = folder / name
    path.write_text(text)
    return matrices.read(path).matrix


MONITORING = """# POINT TO POINT
E\t0\t1\t300 bytes\t3 msgs sent\t1,0,0
I\t0\t1\t8 bytes\t2 msgs sent
# OSC
# COLLECTIVES
C\t0\t1\t8 bytes\t2 msgs sent
D\tMPI_COMM_WORLD\tprocs: 0,1,2
O2A\t0\t8 bytes\t2 msgs sent
"""
SILENT = MONITORING.replace(MONITORING.splitlines()[1] + "\n", "")
"""What a rank without messages writes."""
MONITORED = MONITORING + MONITORING.replace("E\t0\t1", "E\t1\t2") + SILENT
"""What three ranks write, in one file."""


@pytest.mark.parametrize(
    ("name", "text", "ranks", "expected"),
    [
        ("a.csv", "from,to,messages,bytes\n0,1,2,30\n1,0,1,5\n0,1,1,1\n", 2,
         {(0, 1): (3, 31), (1, 0): (1, 5)}),
        ("a.csv", "\ufefffrom,to,messages,bytes\r\n0,1,2,30\r\n", 2, {(0, 1): (2, 30)}),
        ("b.csv", "Sender, Receiver, nbytes\n2,0,7\n", 3, {(2, 0): (0, 7)}),
        ("c.csv", "0,1,0\n2,9,0\n0,0.5,0\n", 3, {(0, 1): (0, 1), (1, 0): (0, 2), (2, 1): (0, 0.5)}),
        ("d.mtx", "%%MatrixMarket matrix coordinate real general\n% c\n3 3 2\n1 2 5\n3 1 2.5\n", 3,
         {(0, 1): (0, 5), (2, 0): (0, 2.5)}),
        ("e.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n3 1\n", 3,
         {(2, 0): (1, 1), (0, 2): (1, 1)}),
        ("f.mtx", "%%MatrixMarket matrix array integer symmetric\n2 2\n1\n4\n2\n", 2,
         {(0, 1): (0, 4), (1, 0): (0, 4)}),
        ("g.prof", MONITORED, 3, {(0, 1): (3, 300), (1, 2): (3, 300)}),
    ],
)  # fmt: skip
def test_matrices_of_every_format(
    tmp_path: Path, name: str, text: str, ranks: int, expected: Pairs
) -> None:
    matrix = read(tmp_path, name, text)
    assert matrix.ranks == ranks
    assert pairs(matrix) == expected


def monitored(folder: Path) -> list[Path]:
    """The files of three ranks."""
    texts = [MONITORING, MONITORING.replace("E\t0\t1", "E\t1\t2"), SILENT]
    files = [folder / f"out.{rank}.prof" for rank in range(3)]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    return files


def test_a_folder_of_monitoring_is_one_matrix(tmp_path: Path) -> None:
    monitored(tmp_path)
    matrix = matrices.read(tmp_path).matrix
    assert matrix.ranks == 3 and pairs(matrix) == {(0, 1): (3, 300), (1, 2): (3, 300)}


def test_collectives_that_monitoring_leaves_out_are_said(tmp_path: Path) -> None:
    path = tmp_path / "a.prof"
    path.write_text(MONITORED)
    assert "collectives (lines with I) are left out" in matrices.read(path).remark
    path.write_text(MONITORED.replace("8 bytes\t2 msgs", "0 bytes\t0 msgs"))
    assert matrices.read(path).remark == ""


def test_a_list_of_pairs_may_end_before_the_last_ranks(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("from,to,bytes\n0,1,30\n")
    for ranks, count in ((0, 2), (1, 2), (2, 2), (4, 4)):
        found = matrices.read(path, ranks)
        assert found.matrix.ranks == count and pairs(found.matrix) == {(0, 1): (0, 30)}
        assert bool(found.remark) == (count == 4)
    path.write_text("0,30\n0,0\n")  # a square says how many there are
    assert matrices.read(path, 4).matrix.ranks == 2
    with pytest.raises(UserError, match="too many"):
        path.write_text("from,to,bytes\n0,1,30\n")
        matrices.read(path, 10**8)


def test_monitoring_without_a_ranks_file_or_of_two_runs_is_refused(tmp_path: Path) -> None:
    first, *_, last = monitored(tmp_path)
    another = tmp_path / "another.0.prof"
    another.write_text(first.read_text())
    with pytest.raises(UserError, match="each of the program's 3 ranks, but has 4: name the"):
        matrices.read(tmp_path)
    another.unlink()
    last.unlink()
    with pytest.raises(UserError, match="each of the program's 3 ranks, but has 2: name the"):
        matrices.read(tmp_path)
    with pytest.raises(UserError, match="each of the program's 3 ranks, but has 1"):
        matrices.read(first)
    first.unlink()
    with pytest.raises(UserError, match="each of the program's 3 ranks, but has 1"):
        matrices.read(tmp_path)


def test_monitoring_that_is_cut_off_is_refused_anywhere(tmp_path: Path) -> None:
    first = monitored(tmp_path)[0]
    end = MONITORING.index("# COLLECTIVES")  # Behind it nothing counts that other files don't have.
    for length in range(1, end):
        first.write_text(MONITORING[:length])
        if MONITORING[:length].endswith("# OSC\n"):
            continue
        with pytest.raises(UserError, match=r"out.0.prof.*cut off"):
            matrices.read(tmp_path)
    first.write_text(MONITORING.replace("3 msgs", "three msgs"))
    with pytest.raises(UserError, match=r"line 2: 'E.*' isn't what Open MPI's monitoring writes"):
        matrices.read(tmp_path)


def test_monitored_communicators_may_have_ranks_that_are_not_known(tmp_path: Path) -> None:
    unknown = (
        "D\tspawned\tprocs: (null)\nO2A\t-1\t8 bytes\t2 msgs sent\nA2A\t-1\t0 bytes\t0 msgs sent\n"
    )
    expected = {(0, 1): (3, 300), (1, 2): (3, 300)}
    assert pairs(read(tmp_path, "a.prof", MONITORED + unknown)) == expected
    # Only the world's ranks are counted, where they are known.
    others = "D\tother\tprocs: 0,1,2,3,4\nD\tMPI_COMM_WORLD\tprocs: (null)\n"
    matrix = read(tmp_path, "b.prof", MONITORED + others)
    assert matrix.ranks == 3 and pairs(matrix) == expected


def test_messages_without_headings_are_one_ranks_part(tmp_path: Path) -> None:
    assert pairs(read(tmp_path, "a.prof", "E\t0\t0\t5 bytes\t1 msgs sent\n")) == {}


DIGITS = "9" * 5000


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "", "is empty"),
        ("a.csv", "1,2\n3\n", "must be a square"),
        ("a.csv", "1,x\n3,4\n", "line 1: 'x' must be a number"),
        ("a.csv", "0,nan\n3,4\n", "'nan' must be a number of at least 0"),
        ("a.csv", "0,-1\n3,4\n", "'-1' must be a number of at least 0"),
        ("a.csv", "from,to\n0,1\n", "neither messages nor bytes"),
        ("a.csv", "from,to,bytes\n0,-1,4\n", "line 2: '-1' is no rank"),
        ("a.csv", "from,to,bytes\n0,1\n", "line 2: has 2 columns"),
        ("a.csv", "from,to,bytes\n\n\n0,1,5\n1,x,5\n", "line 5: 'x' is no rank"),
        (
            "a.csv",
            "from,to,bytes,size\n0,1,5,5\n",
            "columns 'bytes' and 'size' may both be its bytes",
        ),
        ("a.csv", "from,to,bytes\n0,99999999,4\n", "too many"),
        ("a.mtx", "3 3 1\n1 2 5\n", "must begin with %%MatrixMarket"),
        ("a.mtx", "%%MatrixMarket matrix coordinate complex general\n", "complex"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 2 0\n", "3 rows and 2 columns"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 5\n", "cut off"),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2\n",
            "line 3: must have row, column and value",
        ),
        (
            "a.mtx",
            "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2 5\n",
            "line 3: must have row and column alone",
        ),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 5\n", "1 to 2"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n0 2 5\n", "line 3: row 0"),
        ("a.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n", "0 rows"),
        ("a.csv", "from,to,bytes\n", "names no pair of ranks"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n2 2\n1\n", "has 1 values, not 4"),
        ("a.mtx", "%%MatrixMarket matrix array real general\n20000 20000\n1\n", "400000000"),
        ("a.mtx", f"%%MatrixMarket matrix array real general\n{10**9} {10**9}\n1\n", "too many"),
        ("a.mtx", f"%%MatrixMarket matrix array real general\n{DIGITS} {DIGITS}\n", "its size"),
        ("a.mtx", f"%%MatrixMarket matrix coordinate real general\n2 2 {DIGITS}\n", "its size"),
        ("a.csv", "x" * 200_000, "not CSV: field larger than field limit"),
        ("a.csv", "from,to,bytes\n0,1,1e308\n0,1,1e308\n", "more than 4611686018427387904 bytes"),
        ("a.csv", "from,to,messages,bytes\n0,1,1e300,1\n", "more than 4611686018427387904 mess"),
    ],
)
def test_no_matrix_is_refused_in_one_line(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    with pytest.raises(UserError, match=message) as caught:
        read(tmp_path, name, text)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("matrix ")


def test_a_folder_without_a_matrix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="neither a run record, nor"):
        matrices.read(tmp_path)
    with pytest.raises(UserError, match="No such file"):
        matrices.read(tmp_path / "none")


def test_heterogeneity_is_zero_for_equal_pairs() -> None:
    assert matrices.heterogeneity(np.full(12, 5.0), 4) == 0
    # One of twelve pairs has all: mean 1/12, mean square 1/12.
    expected = float(np.sqrt(1 / 12 - 1 / 144) * 12)
    assert matrices.heterogeneity(np.ones(1), 4) == pytest.approx(expected)
    assert matrices.heterogeneity(np.zeros(0), 1) == 0


EZTRACE = Path(__file__).parent / "traces" / "eztrace"
"""EZTrace 2.0 wrote it: four ranks are a ring, and five times each sends 100 bytes and its rank to
the next; in both halves (even, odd; the highest rank first) the first sends 7 to the second
on a communicator of its own. The definitions repeat each other."""


@pytest.mark.parametrize("path", [EZTRACE, EZTRACE / "eztrace_log.otf2"])
def test_traces_of_eztrace(path: Path) -> None:
    ring = {(rank, (rank + 1) % 4): (5, 5 * (100 + rank)) for rank in range(4)}
    matrix = matrices.read(path).matrix
    assert matrix.ranks == 4
    assert pairs(matrix) == {**ring, (2, 0): (5, 35), (3, 1): (5, 35)}


def write_trace(folder: Path, *, shared: bool = False, thread: bool = True) -> Path:
    """Two ranks; the second's other thread sends twice on a communicator that turns them round.

    They may share a group of locations, as where ranks are threads, and have no other thread.
    """
    with otf2.writer.open(str(folder), timer_resolution=1000) as trace:
        made = trace.definitions
        node = made.system_tree_node("node")
        groups = [made.location_group(f"rank {rank}", system_tree_parent=node) for rank in (0, 1)]
        groups = [groups[0]] * 2 if shared else groups
        main = [made.location(f"rank {rank}", group=groups[rank]) for rank in (0, 1)]
        other = made.location("thread", group=groups[1])
        made.group("all", enums.GroupType.COMM_LOCATIONS, enums.Paradigm.MPI, members=main)
        turned = made.comm(
            "turned",
            made.group("g", enums.GroupType.COMM_GROUP, enums.Paradigm.MPI, members=main[::-1]),
        )
        trace.event_writer_from_location(main[0]).mpi_send(1, 0, turned, 0, 4)
        if thread:
            sends = trace.event_writer_from_location(other)
            sends.mpi_isend(2, 1, turned, 0, 8, 17)
            sends.mpi_isend(3, 1, turned, 0, 8, 18)
            sends.mpi_send(4, 0, turned, 0, 99)  # to itself
    return folder / "traces.otf2"


def test_threads_of_traces_send_for_their_ranks(tmp_path: Path) -> None:
    matrix = matrices.read(write_trace(tmp_path / "trace")).matrix
    assert pairs(matrix) == {(0, 1): (1, 4), (1, 0): (2, 16)}


def test_ranks_of_traces_may_share_a_process(tmp_path: Path) -> None:
    alone = write_trace(tmp_path / "trace", shared=True, thread=False)
    assert pairs(matrices.read(alone).matrix) == {(0, 1): (1, 4)}
    with pytest.raises(UserError, match="in a group with several ranks"):
        matrices.read(write_trace(tmp_path / "threads", shared=True))


def test_what_is_wrong_with_a_trace_is_said(tmp_path: Path) -> None:
    anchor = write_trace(tmp_path / "trace")
    definitions = tmp_path / "trace" / "traces.def"
    whole = definitions.read_bytes()
    for kept in range(whole.index(b"turned")):  # where the last definition still lacks its name
        definitions.write_bytes(whole[:kept])
        with pytest.raises(UserError, match=r"copied whole\?|copy it whole|isn't defined"):
            matrices.read(anchor)
    anchor.write_bytes(b"no trace")
    with pytest.raises(UserError, match="name the trace's"):
        matrices.read(anchor)
    (tmp_path / "trace" / "other.otf2").write_text("")
    with pytest.raises(UserError, match="has several OTF2 traces"):
        matrices.read(tmp_path / "trace")


def test_traces_need_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UserError, match="pip install otf2"):
        matrices.read(EZTRACE)
