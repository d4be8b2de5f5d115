"""Checks schedule files (docs/schedule-file.md) by replaying them: check_schedule.py FILE..."""

import itertools
import json
import sys
from pathlib import Path

BLOCKS = {"gather": 1, "scatter": 1, "allgather": 1, "reduce_scatter": 1, "alltoall": 2}


def owner(kind, ranks, root, block):
    """Returns the rank whose data a block is; None: every rank contributes to it."""
    owners = {"bcast": root, "scatter": root, "gather": block, "allgather": block}
    return owners.get(kind, block // ranks if kind == "alltoall" else None)


def needed(kind, ranks, root, rank, block):
    """Returns the ranks whose contributions to a block `rank` must have at the end, if any."""
    elsewhere = kind in ("scatter", "reduce_scatter", "alltoall") and rank != block % ranks
    if elsewhere or (kind in ("reduce", "gather") and rank != root):
        return None
    if kind in ("scan", "exscan"):
        return frozenset(range(rank + (kind == "scan"))) or None
    only = owner(kind, ranks, root, block)
    return frozenset(range(ranks)) if only is None else {only}


def check(file):
    """Raises AssertionError naming the error."""
    asked = file["collective"]
    kind, ranks, root = asked["kind"], asked["ranks"], asked.get("root", 0)
    blocks = ranks ** BLOCKS.get(kind, 0)
    parts, rest = divmod(file["chunks"], blocks)
    assert rest == 0 and parts > 0, "the chunks don't divide into the blocks"

    def place(rank, reg, chunk):  # an in-place alltoall puts a block where it was sent from
        source, target = divmod(chunk // parts, ranks)
        if asked.get("in_place") and reg == 0 and target == rank:
            chunk = (target * ranks + source) * parts + chunk % parts
        return rank, reg, chunk

    held = {}  # place -> the chunk there, whose contributions it has, how they were combined
    for rank, chunk in itertools.product(range(ranks), range(file["chunks"])):
        if owner(kind, ranks, root, chunk // parts) in (None, rank):
            held[place(rank, 0, chunk)] = (chunk, frozenset([rank]), rank)
    last = (-1, 0, 0)
    for step, transfers in itertools.groupby(file["transfers"], lambda each: each["step"]):
        arriving = []  # read first: all transfers of a step see the state before it
        written = {}  # place -> whether a copy goes there
        for t in transfers:
            assert last <= (step, t["from"], t["to"]), f"{t} is out of order"
            last = (step, t["from"], t["to"])
            is_copy = t.get("how", "copy") == "copy"
            for first, count, stride in ((*each, 1, 1)[:3] for each in t["what"]):
                for chunk in range(first, first + count * stride, stride):
                    found = held.get(place(t["from"], t.get("src", 0), chunk))
                    assert found and found[0] == chunk, f"{t}: the sender lacks chunk {chunk}"
                    to = place(t["to"], t.get("dst", 0), chunk)
                    assert to not in written or not (is_copy or written[to]), (
                        f"{t}: a copy of chunk {chunk} meets other data"
                    )
                    written[to] = is_copy
                    arriving.append((to, found, t))
        for to, (chunk, incoming, text), t in arriving:
            if not written[to]:
                assert to in held, f"{t}: nothing to combine chunk {chunk} with"
                _, present, other = held[to]
                assert kind == "barrier" or not incoming & present, f"{t}: combined twice"
                left = t["how"] == "combine_left"
                assert kind == "barrier" or (min(incoming) < min(present)) == left, (
                    f"{t}: chunk {chunk} is combined in the wrong order"
                )
                text = hash((text, other) if left else (other, text))
                incoming |= present
            held[to] = (chunk, incoming, text)
    for chunk in range(file["chunks"]):
        ends = set()
        for rank in range(ranks):
            must = needed(kind, ranks, root, rank, chunk // parts)
            found = held.get(place(rank, 0, chunk), (None, None, None))
            assert must is None or found[:2] == (chunk, must), f"rank {rank} lacks chunk {chunk}"
            ends.add(found[2])
        assert kind != "allreduce" or len(ends) == 1, f"chunk {chunk}: bits may differ"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        check(json.loads(Path(name).read_text()))
        print(f"{name}: right")
