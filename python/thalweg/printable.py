"""Makes text from files safe to print: names may contain anything. Counts and times in words."""

from collections.abc import Sequence


def printable(text: str) -> str:
    """Returns the text with control characters, line ends and the like as escapes: "\\x1b[31m".

    So a name can neither change the terminal's colours nor pretend to be another line.
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def short(text: str, most: int = 60) -> str:
    """Returns a printable text of at most about `most` characters, for errors."""
    return printable(text if len(text) <= most else f"{text[:most]}...")


def duration(seconds: float) -> str:
    """Returns "1.25 s", "800 ms" or "41 us"; where the compiled core isn't loaded for it."""
    scale, unit = next(
        ((scale, unit) for scale, unit in ((1, "s"), (1e3, "ms")) if seconds * scale >= 1),
        (1e6, "us"),
    )
    value = seconds * scale
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def plural(count: int, noun: str) -> str:
    """Returns "1 host" or "2 hosts"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def ranges(numbers: Sequence[int]) -> str:
    """Returns ascending numbers as text: "0-3, 7"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)
