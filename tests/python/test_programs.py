"""Which files and words say what code runs."""

import os
from pathlib import Path

import pytest

from thalweg import programs


@pytest.mark.parametrize(
    ("words", "script", "rest"),
    [
        (["-u", "app.py", "a"], "app.py", ["-u", "a"]),
        (["-X", "dev", "app.py"], "app.py", ["-X", "dev"]),
        (["-Xdev", "-uW", "error", "app.py"], "app.py", ["-Xdev", "-uW", "error"]),
        (
            ["--check-hash-based-pycs", "never", "app.py"],
            "app.py",
            ["--check-hash-based-pycs", "never"],
        ),
        (["-m", "pkg", "a"], "pkg", ["-m", "pkg", "a"]),
        (["-um", "pkg", "a"], "pkg", ["-um", "pkg", "a"]),
        (["-mpkg", "a"], "-mpkg", ["-mpkg", "a"]),
        (["-c", "import pkg", "a"], "import pkg a", ["-c", "import pkg", "a"]),
        (["-", "a"], "a", ["-", "a"]),
        ([], None, []),
    ],
)
def test_an_interpreters_script_is_found_behind_its_options(
    words: list[str],
    script: str | None,
    rest: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    program, *arguments = programs.identity(["/none/python3", *words])
    code = str(tmp_path / script) if script and script.endswith(".py") else script
    assert program == " ".join(filter(None, ["/none/python3", code]))
    assert arguments == rest


@pytest.mark.parametrize(
    ("words", "depends"),
    [
        (["bash", "-c", "cd x && ./a 1"], True),
        (["env", "X=1", "sh", "-c", "exec python3 a.py"], True),
        (["apptainer", "exec", "i.sif", "./a"], True),
        (["bash", "-c", "exec a 1"], False),
        (["bash", "-c", "exec /opt/a 1"], False),
        (["apptainer", "exec", "i.sif", "a", "in/a.dat"], False),
    ],
)
def test_hidden_code_of_another_folder_is_another_program(
    words: list[str], *, depends: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/apptainer").touch(mode=0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    found = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        found.append(programs.identity(words)[0])
    assert (found[0] != found[1]) == depends


@pytest.mark.parametrize(
    "words", [["-m", "solver", "a"], ["-msolver"], ["-um", "pkg.main"], ["-m", "pkg"]]
)
def test_a_module_of_another_folder_is_another_program(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("here", "there"):
        (tmp_path / name / "pkg").mkdir(parents=True)
        (tmp_path / name / "solver.py").touch()
    monkeypatch.chdir(tmp_path / "here")
    first = [programs.identity([*before, *words])[0] for before in (["python3"], ["env", "python"])]
    monkeypatch.chdir(tmp_path / "there")
    other = [programs.identity([*before, *words])[0] for before in (["python3"], ["env", "python"])]
    assert not {*first} & {*other}


def test_an_installed_module_is_one_program_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = set()
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        Path("app.py").touch()
        found.add(programs.identity(["python3", "-m", "mpi4py", "app.py"])[0])
    assert len(found) == 1


def test_numbers_and_data_of_hidden_code_make_no_other_program() -> None:
    first = programs.identity(["docker", "run", "i", "a", "-n", "10", "in/a.dat"])
    second = programs.identity(["docker", "run", "i", "a", "-n", "1.5e3", "out/b.dat"])
    assert first[0] == second[0] and first != second


@pytest.mark.parametrize(
    ("words", "other", "same"),
    [
        (["bash", "-c", "app --seed 17 > out.123"], ["bash", "-c", "app --seed 8 > out.9"], True),
        (["docker", "run", "i", "a", "/in/case1"], ["docker", "run", "i", "a", "/in/case2"], True),
        (["docker", "run", "i", "a", "/in/caseA"], ["docker", "run", "i", "a", "/in/caseB"], False),
    ],
)
def test_numbers_in_commands_and_names_make_no_other_program(
    words: list[str], other: list[str], *, same: bool
) -> None:
    assert (programs.identity(words)[0] == programs.identity(other)[0]) == same


@pytest.mark.parametrize("word", ["", ".", ".solver", "/"])
def test_what_is_no_name_of_a_module_is_the_interpreters_to_refuse(word: str) -> None:
    assert programs.code(["python3", "-m", word])
