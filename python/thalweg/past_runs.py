"""Finds what was recorded of an earlier run like the one to come, and where its ranks were."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg import host_names, programs, recording
from thalweg.errors import UserError

if TYPE_CHECKING:
    from thalweg.record import Run


def pattern(words: Sequence[str]) -> list[str]:
    """Returns a program's arguments without what differs between runs of a kind: numbers and paths.
    `words`: the program and its arguments, as programs.whole() returns them.

    "--size=1000", "in/a.dat" and "step12" become "--size=0", "/" and "step0". What says which code
    runs stays: files that are programs or scripts, as of `numactl` or `julia`; words with spaces,
    which may be commands; and paths that aren't of this machine where only they can say it.
    """
    main, hidden = programs.main_word(words), programs.hides_code(words)
    return [
        words[at]
        if at == main or programs.file_of(words[at])
        else _general(words[at], hidden=hidden)
        for at in programs.places(words)
    ]


def _general(word: str, *, hidden: bool) -> str:
    name, equals, value = word.rpartition("=")
    if any(map(str.isspace, word)):
        return word
    if "/" in value:
        stays = hidden and not os.path.lexists(value)
        return word if stays else f"{programs.NUMBER.sub('0', name)}{equals}/"
    return programs.NUMBER.sub("0", word)


def find(program: Sequence[str], ranks: int) -> "Run | None":
    """Returns the latest record in the cache of a run of the program that went well, on as many
    ranks: with the same arguments, else with arguments of the same pattern. None if there is none.

    The hosts and the order of the ranks on them may have been others. Records that can't be read
    are passed over.
    """
    for run in same(program, ranks):
        return run
    wanted = pattern(programs.whole(program))
    alike = (folder for folder, words in _usable(program, ranks) if pattern(words) == wanted)
    return next(_read(alike), None)


def same(program: Sequence[str], ranks: int) -> "Iterator[Run]":
    """Returns all such records of runs with the same arguments, the latest first."""
    wanted = programs.arguments(programs.whole(program))
    found = _usable(program, ranks)
    return _read(folder for folder, words in found if programs.arguments(words) == wanted)


def in_order(program: Sequence[str], hosts: Sequence[str]) -> "Run | None":
    """Returns the latest such record with the ranks on these hosts; None if there is none."""
    return next((run for run in same(program, len(hosts)) if is_on(run, hosts)), None)


def is_on(run: "Run", hosts: Sequence[str]) -> bool:
    """Whether a run had its ranks on these hosts, with their domains or without."""
    return host_names.as_in(hosts, run.hosts, domains=True) == run.host_of_rank


def launcher_order(run: "Run") -> list[str] | None:
    """Returns the host of each rank in the launcher's order, if the run was placed otherwise."""
    found = run.launch.get("order")
    if not isinstance(found, list) or len(found) != run.ranks:
        return None
    names = host_names.as_in([str(name) for name in found], run.hosts)
    return names if names != run.host_of_rank else None


def is_like(run: "Run", program: Sequence[str]) -> bool:
    """Whether a run, of any record, was one of the same program, by its name, with the same
    arguments."""
    words = run.launch.get("program")
    if not words or not same_name(words, program):
        return False
    own, its = (programs.arguments(each) for each in (programs.whole(program), words))
    return _names(own) == _names(its)


def _names(words: Sequence[str]) -> list[str]:
    """Returns words in which files with whole paths go by their names."""
    return [Path(word).name if word.startswith("/") else word for word in words]


def same_name(program: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two programs' files, or those that they are told to run, have the same name in any
    folders. An argument such as "true" may be a program on the PATH by chance, so that the programs
    themselves must have the same name, too."""
    first, second = (Path(programs.main_file(words)) for words in (program, other))
    by_chance = programs.is_on_path(str(first)) and programs.is_on_path(str(second))
    same_program = Path(program[0]).name == Path(other[0]).name
    return first.name == second.name and (same_program or not by_chance)


def _read(folders: Iterable[Path]) -> "Iterator[Run]":
    for folder in folders:
        from thalweg import record  # with numpy, which a program without records doesn't wait for

        with contextlib.suppress(UserError):
            run = record.read(folder)
            if not run.missing and not run.unfinished:
                yield run


def _usable(program: Sequence[str], ranks: int) -> Iterator[tuple[Path, list[str]]]:
    """Returns records of runs of so many ranks that went well, each with its program and arguments
    as they were recorded. The program is the same file, however it was named."""
    for folder in recording.of_program(program):
        found = recording.described(folder)
        if recording.went_well_on(found) == ranks:
            words = recording.launch_of(found).get("program")
            if isinstance(words, list) and words:
                yield folder, [str(word) for word in words]
