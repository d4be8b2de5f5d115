"""Checks that each number of what we claim is the one on the page it comes from.

Claims are the paragraphs and the networks of the README's section "What was measured", any other of
its paragraphs with a multiple, a share or "N of M", the paragraphs of docs/measured.md, the
verdicts of docs/papers.md and such results in its list of ideas, and what decision 0127 says of the
time after an audit. A claim has to link the pages that its numbers come from, and script/claims.py
says for each number where it stands there. It must be that number, rounded as printed, in its unit;
number words count, too. Names such as "Open MPI 4.1", code, and what is in brackets and begins with
"paper" aren't numbers of ours. A row of the README's table must be the row of its page with the
same scenario, build, collective and size; "of the bound" follows from its times. Each page must be
the one that its summary, the JSON file beside it, was written with. Usage: check_numbers.py [ROOT]
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import claims
from check import run
from page_numbers import (
    NUMBER,
    RESULTS,
    UNITS,
    Claims,
    Number,
    Pages,
    Source,
    UntraceableError,
    digest,
    rows,
)
from page_verdicts import verdict_faults

README = "README.md"
MEASURED = "docs/measured.md"
PAPERS = "docs/papers.md"
AUDIT = "docs/decisions/0127-what-the-audit-found.md"
SECTION = "## What was measured"

PAGE = re.compile(r"`(?:bench/results/)?([\w-]+)\.md`")
CODE = re.compile(r"`[^`]*`")
OF_PAPER = re.compile(r"\(paper[^)]*\)")
NAME = re.compile(
    r"(?:Open MPI|MPICH) \d+(?:\.\d+)?(?: and \d+(?:\.\d+)?)?"
    r"|(?:[Ff]igure|Table|equation|decision|section|algorithm)s? \d+[a-z]?(?:\.\d+)?\b"
    r"|two-tier|at once"
)
WORDS = {
    "none": 0,
    "once": 1,
    "twice": 2,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
}
WORDS |= {"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "twenty": 20, "thirty": 30}
WORDS |= {"forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
WORDS |= {"hundred": 100, "thousand": 1000, "million": 10**6}
SHOWN = re.compile(rf"{NUMBER}|\b(?:{'|'.join(WORDS)})\b", re.IGNORECASE)
DIRECT_UNIT = re.compile(r" ?(x|ms|us|s|%|times)(?!\w)")
NEXT_UNIT = re.compile(r"(?<=\d) ?(ms|us|s|%|percent|times|x)(?!\w)|(?<= )(percent)")
RESULT = re.compile(r"\d(?:x\b| times\b| %)|\b\d+ of \d+\b")
SCENARIO = re.compile(r"`([\w-]+)`")
BYTES = {"KB": 10**3, "MB": 10**6}


@dataclass(frozen=True)
class Claim:
    """Its place, the name or first words by which script/claims.py knows it, and its text."""

    place: str
    name: str
    text: str

    def is_known_as(self, key: str) -> bool:
        return f"{self.name} ".startswith(f"{key} ")


@dataclass(frozen=True)
class Shown:
    """A number of a claim as printed, the unit right behind it, and the next one in the claim."""

    text: str
    direct: str
    following: str


def shown(text: str) -> Iterator[Shown]:
    """Yields the numbers of a claim, but for names, code and the paper's."""
    said = NAME.sub("", CODE.sub("", OF_PAPER.sub("", text)))
    for found in SHOWN.finditer(said):
        direct = DIRECT_UNIT.match(said, found.end())
        following = NEXT_UNIT.search(said, found.end())
        next_unit = (following[1] or following[2]) if following else ""
        yield Shown(found[0], direct[1] if direct else "", next_unit)


def is_rounded(printed: str, value: float) -> bool:
    """Whether the printed number is the value, rounded to its last digit."""
    if printed.lower() in WORDS:
        return WORDS[printed.lower()] == value
    digits = printed.replace(",", "")
    step = 10.0 ** -len(digits.partition(".")[2])
    return abs(float(digits) - value) <= step / 2 + 1e-9 * abs(value)


def agrees(at: Shown, wanted: Number) -> bool:
    """Whether the printed number is this one; a unit may stand behind the last of several."""
    if wanted.unit == "s":
        scale = UNITS.get(at.direct or at.following)
        return scale is not None and is_rounded(at.text, wanted.value / scale)
    right = {"%": {"%", "percent"}}.get(wanted.unit, {"", "x", "times"})
    unit = at.direct or (at.following if wanted.unit == "%" else "")
    return unit in right and is_rounded(at.text, wanted.value)


def claim_faults(claim: Claim, sources: Iterable[Source], pages: Pages) -> Iterator[str]:
    """Compares the numbers of a claim, in their order, with those of its sources."""
    pages.used.clear()
    try:
        slots = [slot for source in sources for slot in source.find(pages)]
    except UntraceableError as fault:
        yield str(fault)
        return
    found = list(shown(claim.text))
    for at, slot in zip(found, slots, strict=False):
        for wanted in slot:
            if not agrees(at, wanted):
                yield f"{printed(at)} should be {wanted.value:.6g} {wanted.unit}".rstrip()
    for at in found[len(slots) :]:
        yield f"script/claims.py doesn't say where {printed(at)} comes from"
    if len(slots) > len(found):
        yield f"has {len(found)} numbers, for which script/claims.py has {len(slots)}"
    for page in sorted(pages.used - {*PAGE.findall(claim.text)}):
        if f"`{page}`" not in claim.text:
            yield f"doesn't link {page}, from which it has numbers"


def printed(at: Shown) -> str:
    return f"{at.text} {at.direct}".rstrip()


def all_faults(made: list[Claim], known: Claims, file: str, pages: Pages) -> Iterator[str]:
    """Compares claims with what script/claims.py knows of them."""
    for claim in made:
        key = next((key for key in known if claim.is_known_as(key)), "")
        for fault in claim_faults(claim, known.get(key, ()), pages):
            yield f"{claim.place}: {fault}"
    for key in known:
        if not any(claim.is_known_as(key) for claim in made):
            yield f"{file}: doesn't make the claim of script/claims.py that begins with {key!r}"


def verdicts(text: str) -> Iterator[Claim]:
    """The verdicts of docs/papers.md, with the page beside each, and results among its ideas."""
    paper = ""
    for line, row in tables(text):
        paper = row.get("paper") or paper
        if RESULT.search(row.get("where", "")):
            yield Claim(f"{PAPERS}:{line}", row["what"], row["where"])
        if "verdict" in row:
            name = f"{paper}, {row['figure or table']}"
            yield Claim(f"{PAPERS}:{line}", name, f"{row['verdict']} {row['page']}")


def findings(text: str) -> Iterator[Claim]:
    """What the audit's decision says of the time after it, with the pages it names."""
    for line, row in tables(text):
        cited = " ".join(CODE.findall(row["what was found"] + row["what was changed"]))
        yield Claim(f"{AUDIT}:{line}", row["what was found"], f"{row['after']} {cited}")


def paragraphs(text: str, file: str) -> Iterator[Claim]:
    """The claims of a file: all of what was measured, and in the README's other sections what looks
    like a result."""
    line, measured = 1, file == MEASURED
    for block in re.split(r"\n(?=\n|- )", text):
        first = line + len(block) - len(block.lstrip("\n"))
        line += block.count("\n") + 1
        said = " ".join(block.split())
        if said.startswith("#"):
            measured = file == MEASURED or said == SECTION
        elif not said.startswith("|") and (measured or RESULT.search(said)):
            yield Claim(f"{file}:{first}", said, said)
    for line, row in tables(text):
        if row.get("network"):
            yield Claim(f"{file}:{line}", row["network"], row["network"])


def tables(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yields line and cells of each row of each table."""
    lines = text.splitlines()
    numbers = [n for n, line in enumerate(lines, 1) if is_row(line) and is_row(lines[n - 2])]
    numbers = [n for n in numbers if not set(lines[n - 1]) <= set("|- :")]
    yield from zip(numbers, map(dict, rows(text)), strict=True)


def is_row(line: str) -> bool:
    return line.startswith("|")


def row_faults(row: dict[str, str], pages: Pages) -> Iterator[str]:
    """Compares a row of the README's table with that of its page."""
    if not (cited := PAGE.search(row["page"])):
        yield "links no page"
        return
    labels = key(row)
    found = next((each for each in map(dict, pages.rows(cited[1])) if labels <= each.items()), None)
    if not found:
        yield f"{cited[1]} has no row for {', '.join(sorted(text for _, text in labels))}"
        return
    for column in ("native", "Thalweg"):
        if row[column] != found[column]:
            yield f"{column} is {row[column]}, in {cited[1]} it is {found[column]}"
    bound = seconds(found["Thalweg"]) / seconds(found["bound"])
    for column, value in (("faster", float(found["faster"].rstrip("x"))), ("of the bound", bound)):
        if not is_rounded(row[column].rstrip("x"), value):
            yield f"{column} is {row[column]}, from {cited[1]} follows {value:.3f}x"
    if found.get("at 2d") != "agree":
        yield f"{cited[1]} calls the row invalid: at twice the dilation {found.get('at 2d')}"
    if found.get("met", "yes") != "yes":
        yield f"{cited[1]} says of the row's bar: {found['met']}"


def key(row: dict[str, str]) -> set[tuple[str, str]]:
    """The cells by which a page's row is that of a row of the README."""
    scenario = SCENARIO.search(row["network"])
    collective, _, size = row["collective"].partition(", ")
    value, unit = size.split()
    build = row["MPI"].replace("Open MPI ", "openmpi-").replace("MPICH ", "mpich-")
    labels = {"scenario": scenario[1] if scenario else "", "build": build}
    return {*labels.items(), ("collective", collective), ("bytes", str(int(value) * BYTES[unit]))}


def seconds(text: str) -> float:
    value, unit = text.split()
    return float(value) * UNITS[unit]


def table_faults(text: str, pages: Pages) -> Iterator[str]:
    above: dict[str, str] = {}
    for line, row in tables(text):
        if "network" in row:
            above = {column: cell or above.get(column, "") for column, cell in row.items()}
            yield from (f"{README}:{line}: {fault}" for fault in row_faults(above, pages))


def page_faults(root: Path) -> Iterator[str]:
    """Compares each page with what its summary says it was written as."""
    for page in sorted((root / RESULTS).glob("*.md")):
        file = page.with_suffix(".json")
        summary = json.loads(file.read_text()) if file.exists() else {}
        if summary.get("page") != digest(page.read_text()):
            yield f"{RESULTS / page.name}: isn't the page that was written with its summary"


def faults(root: Path, known: Mapping[str, Claims] = claims.CLAIMS) -> Iterator[str]:
    pages = Pages(root)
    readme, papers = (root / README).read_text(), (root / PAPERS).read_text()
    yield from page_faults(root)
    yield from table_faults(readme, pages)
    for file in (README, MEASURED):
        if file in known:
            said = list(paragraphs((root / file).read_text(), file))
            yield from all_faults(said, known[file], file, pages)
    yield from all_faults(list(verdicts(papers)), known[PAPERS], PAPERS, pages)
    for line, row in tables(papers):
        if "verdict" in row:
            yield from (f"{PAPERS}:{line}: {fault}" for fault in verdict_faults(root, row))
    if AUDIT in known:
        found = list(findings((root / AUDIT).read_text()))
        yield from all_faults(found, known[AUDIT], AUDIT, pages)


if __name__ == "__main__":
    run(
        faults,
        "The numbers that the documents claim are those of the pages they cite.",
    )
