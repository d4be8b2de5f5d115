"""Shows a communication matrix: numbers and a heatmap for people, JSON for programs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from thalweg import communication, console
from thalweg.communication import QUANTITIES, Quantity, Scale
from thalweg.heatmap import cell, line, room
from thalweg.mapping import Communication
from thalweg.matrices import Program
from thalweg.printable import plural
from thalweg.report import bins

# For people ------------------------------------------------------------------------------------


def parts(
    program: Program, where: str, quantities: Sequence[Quantity], *, brief: bool
) -> list[RenderableType]:
    """Shows the heatmaps of quantities, and above them the numbers unless `brief`."""
    matrix = program.matrix
    found: list[RenderableType] = [] if brief else [_heading(program, where)]
    for quantity in quantities:
        found += ["", Heatmap(matrix, quantity), _numbers(program, quantity)]
    if program.remark:
        found += ["", Text(f"{program.remark}.")]
    return found[1:] if brief else found


def _heading(program: Program, where: str) -> Text:
    kind = "run record" if program.run else "communication matrix"
    return console.styled(where, "bold").append(
        f": {kind} of {plural(program.matrix.ranks, 'rank')}", style="not bold"
    )


def _numbers(program: Program, quantity: Quantity) -> str:
    found = communication.summary(program.matrix, quantity)
    if not found.total:
        return _nothing_sent(program)
    total = communication.to_text(quantity)(found.total)
    return (
        f"{total}{' messages' * (quantity == 'messages')} between {plural(found.pairs, 'pair')} of "
        f"ranks, {found.share:.1%} of all pairs. Heterogeneity {found.heterogeneity:.2f}; the "
        f"busiest tenth of the pairs has {found.busiest_tenth:.0%}, the busiest rank "
        f"{found.busiest_rank:.2f} times the mean."
    )


def _nothing_sent(program: Program) -> str:
    """Says that no rank sent another anything, and where its collectives are if it called any."""
    kept = communication.where_collectives_are(program.run)
    return f"The program sent nothing point to point{kept}."


class Heatmap:
    """A matrix from (rows) to (columns), brighter for more, as wide as the terminal lets it."""

    def __init__(self, matrix: Communication, quantity: Quantity) -> None:
        self.matrix = matrix
        self.quantity = quantity

    def __rich_console__(self, _: Console, options: ConsoleOptions) -> Iterator[Text]:
        matrix = self.matrix
        label = len(f"{matrix.ranks - 1}-{matrix.ranks - 1}")
        rows = bins.in_order(matrix.ranks, room(options.max_width, label))
        found = bins.total(
            rows, matrix.sender, matrix.receiver, communication.values(matrix, self.quantity)
        )
        each = -(-matrix.ranks // rows.count)
        size = "" if each == 1 else f", up to {each} x {each} ranks a cell"
        yield line(f"{self.quantity} from rank (row) to rank (column){size}")
        label = max(map(len, rows.labels)) + 1
        yield line(" " * label + _heads(rows.labels))
        if not (scale := communication.scale(found)):
            return
        shares = scale.share(found)
        for name, row in zip(rows.labels, shares, strict=True):
            cells = line(f"{name:>{label - 1}} ")
            for share in row:
                cells.append(cell(float(share)))
            yield cells
        yield self._legend(scale)

    def _legend(self, scale: Scale) -> Text:
        to_text = communication.to_text(self.quantity)
        legend = line("")
        for share in (0, 0.25, 0.5, 0.75, 1) if scale.most > scale.least else (1,):
            legend.append(cell(share)).append(f" {to_text(scale.at(share))}  ")
        return legend.append("blank: nothing")


def _heads(labels: Sequence[str]) -> str:
    """Returns the first rank of some columns above them."""
    firsts = [label.partition("-")[0] for label in labels]
    step = next(n for n in (1, 2, 5, 10) if 2 * n > len(firsts[-1]))
    return "".join(f"{first:<{2 * step}}" for first in firsts[::step]).rstrip()


# For programs ----------------------------------------------------------------------------------


def as_json(program: Program) -> dict[str, Any]:
    """Returns numbers of each quantity, and the pairs unless there are too many."""
    matrix = program.matrix
    columns = (matrix.sender, matrix.receiver, matrix.messages, matrix.nbytes)
    few = len(matrix.sender) <= console.MOST_PAIRS
    return {
        "ranks": matrix.ranks,
        **{each: asdict(communication.summary(matrix, each)) for each in QUANTITIES},
        "pairs": [list(row) for row in zip(*(c.tolist() for c in columns), strict=True)]
        if few
        else None,
    }
