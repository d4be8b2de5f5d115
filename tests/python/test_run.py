"""What `thalweg run` and `thalweg env` hand to a launcher; the launcher is a script that tells."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from thalweg import network as networks
from thalweg import (
    paths,
    planner,
    planning,
    preparation,
    probe,
    races,
    run_summary,
    weather,
    weather_file,
    weather_watch,
)  # fmt: skip
from thalweg.caution import Caution, Start
from thalweg.cli import main
from thalweg.commands import run
from thalweg.errors import UserError
from thalweg.hosts import Host
from thalweg.knowledge import QUICKLY
from thalweg.launcher import Launcher
from thalweg.planner import PlanFile
from thalweg.preparation import Request
from thalweg.printable import duration

LAUNCHER = """#!/bin/bash
if [[ $1 == --version ]]; then echo "mpirun (Open MPI) 4.1.4"; exit; fi
printf '%s\\n' "$@" >"$(dirname "$0")/arguments"
for word in "$@"; do
  case $word in
    THALWEG_SUMMARY=*) cp "$(dirname "$0")/summary.json" "${word#*=}";;
    THALWEG_RECORD=* | THALWEG_TRACE=*) cp "$(dirname "$0")/summary.json" "${word#*=}/";;
  esac
done
echo from the program
exit 7
"""
SUMMARY = {
    "everything_native": "",
    "collectives": {
        "bcast": {
            "planned": {"calls": 12, "bytes": 96},
            "native": {"empty": {"calls": 1, "bytes": 0}, "single-host": {"calls": 2, "bytes": 8}},
        },
        "allreduce": {"planned": {"calls": 3, "bytes": 24, "seconds": 0.25}},
        "allgather": {
            "planned": {
                "calls": 1,
                "bytes": 8,
                "seconds": 1.25,
                "compared": {"seconds": 1.2, "native": 2.0, "limit": 0.6},
            }
        },
    },
}


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A launcher of Open MPI, and a package with the runtime library."""
    path = tmp_path / "mpirun"
    path.write_text(LAUNCHER)
    path.chmod(0o755)
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    library = tmp_path / "thalweg/lib/libthalweg-openmpi.so"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.setenv("THALWEG_PREFIX", str(tmp_path))
    for name in ("LD_PRELOAD", "THALWEG_FORCE", "THALWEG_REPRODUCIBLE", "THALWEG_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    return path


def plan_beside(launcher: Path) -> Path:
    plan = launcher.with_name("a.plan")
    plan.write_bytes(planner.to_bytes(PlanFile(networks.even_network(2, 1e-4, 1e8), "", [])))
    return plan


def test_run_passes_on_status_and_environment(
    launcher: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = plan_beside(launcher)
    arguments = ["run", "-n", "3", "-H", "a:2,b", "--launcher", str(launcher)]
    assert main([*arguments, "--plan", str(plan), "--", "./app", "--json", "x"]) == 7
    words = launcher.with_name("arguments").read_text().splitlines()
    assert words[-5:] == ["-n", "3", "./app", "--json", "x"]
    assert words[words.index("-H") + 1] == "a:2,b:1"
    assert f"LD_PRELOAD={launcher.parent}/thalweg/lib/libthalweg-openmpi.so" in words
    assert f"THALWEG_PLAN={plan}" in words
    said = capfd.readouterr()
    assert said.out == "from the program\n"
    assert (
        "bcast: 12 planned, 3 native (single-host, empty); allreduce: 3 planned (250 ms); "
        in said.err
    )
    gain = (
        "allgather: 1 planned (1.25 s; for 1.2 s of it native 2 s, saved 800 ms; 50 % of the limit)"
    )
    assert gain in " ".join(said.err.split())  # lines may break anywhere


def test_a_plan_for_another_number_of_ranks_is_noted(
    launcher: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    net = networks.even_network(2, 1e-4, 1e8)
    plan = launcher.with_name("a.plan")
    plan.write_bytes(planner.to_bytes(PlanFile(net, "", [planner.Table([0, 0, 1, 1], [])])))
    for ranks in (3, 4):
        words = ["run", "-n", str(ranks), "-H", "a:2,b:2", "--launcher", str(launcher)]
        assert main([*words, "--plan", str(plan), "--", "./app"]) == 7
        said = " ".join(capfd.readouterr().err.split())
        assert ("a.plan is for 4 ranks, but the run has 3: world" in said) == (ranks == 3)


def test_run_with_json_leaves_standard_output_to_it(
    launcher: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = plan_beside(launcher)
    arguments = ["run", "-n", "2", "-H", "a,b", "--launcher", str(launcher), "--plan", str(plan)]
    assert main([*arguments, "--json", "--", "./app"]) == 7
    said = capfd.readouterr()
    result = json.loads(said.out)
    assert result["status"] == 7
    assert result["plan"] == str(plan)
    assert result["summary"] == SUMMARY
    assert "from the program" in said.err


@pytest.mark.parametrize("seen", ["--record", "--trace", ""])
def test_the_summary_is_read_where_rank_0_of_another_machine_could_write_it(
    launcher: Path, seen: str, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(launcher.with_name("cache")))
    told: list[object] = []
    monkeypatch.setattr(races, "keep", lambda _plan, summary, _ranks: told.append(summary))
    folder = launcher.with_name("folder")
    options = [seen, str(folder)] if seen else []
    options += ["--no-record"] * (seen == "--trace")
    words = ["run", "-n", "2", "-H", "far1,far2", "--launcher", str(launcher), *options]
    assert main([*words, "--plan", str(plan_beside(launcher)), "./app"]) == 7
    assert "THALWEG_SUMMARY" not in launcher.with_name("arguments").read_text()
    assert "bcast: 12 planned" in capfd.readouterr().err
    assert told == [SUMMARY]


def test_ranks_on_this_machine_write_the_summary_for_us(launcher: Path) -> None:
    words = ["run", "-n", "2", "-H", "localhost,far", "--launcher", str(launcher)]
    assert main([*words, "--plan", str(plan_beside(launcher)), "./app"]) == 7
    assert "THALWEG_SUMMARY" in launcher.with_name("arguments").read_text()


def test_the_summary_of_an_earlier_run_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    (old := tmp_path / "old.json").write_text('{"run": 1}')
    expected = run_summary.Expected([tmp_path / "never.json", old])
    assert expected.read() is None
    (tmp_path / "next").write_text('{"run": 2}')
    (tmp_path / "next").replace(old)
    assert expected.read() == {"run": 2}


def test_events_are_kept_in_a_trace_without_a_record(launcher: Path) -> None:
    trace = launcher.with_name("trace")
    words = ["run", "-n", "2", "--launcher", str(launcher), "--no-record", "--events", "64MB"]
    assert main([*words, "--trace", str(trace), "./app"]) == 7
    assert "THALWEG_EVENTS=64MB" in launcher.with_name("arguments").read_text().splitlines()


@pytest.mark.parametrize("events", ["64XB", "0", "-1"])
@pytest.mark.parametrize("more", [[], ["--trace", "trace"]], ids=["record", "trace"])
def test_an_amount_of_events_that_ranks_would_not_take_is_refused(
    launcher: Path, monkeypatch: pytest.MonkeyPatch, events: str, more: list[str]
) -> None:
    monkeypatch.chdir(launcher.parent)
    words = ["run", "-n", "2", "--launcher", str(launcher), f"--events={events}", *more]
    assert main([*words, "./app"]) == 2
    assert not launcher.with_name("trace").exists()


def test_env_makes_the_folder_of_a_trace(
    launcher: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(launcher.parent)
    words = ["env", "-n", "2", "-H", "a,b", "--launcher", str(launcher)]
    words += ["--plan", str(plan_beside(launcher)), "--trace"]
    assert main([*words, "trace"]) == 0
    assert launcher.with_name("trace").is_dir()
    launcher.with_name("file").write_text("")
    assert main([*words, "file"]) == 2
    assert "trace folder file" in capfd.readouterr().err


def test_a_network_that_is_not_there_is_noticed_on_one_host(
    launcher: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "-n", "2", "-H", "a:2", "--launcher", str(launcher)]
    assert main([*words, "--network", "/none.json", "./app"]) == 2
    assert "network /none.json: No such file" in capsys.readouterr().err


def test_options_that_name_different_libraries_are_refused(
    launcher: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["run", "-n", "2", "--launcher", str(launcher), "--mpi"]
    assert main([*words, "openmpi", "./app"]) == 7
    assert main([*words, "mpich", "./app"]) == 2
    assert "is of Open MPI 4.1.4, not of --mpi mpich" in " ".join(capsys.readouterr().err.split())
    monkeypatch.setattr("thalweg.launcher.library_of", lambda _: Path("/lib/libmpi.so.12"))
    assert main([*words, "openmpi", "true"]) == 2
    assert "true is linked with another MPI library" in " ".join(capsys.readouterr().err.split())


def test_trace_folder_is_made_and_named(launcher: Path) -> None:
    trace = launcher.with_name("new") / "trace"
    main(["run", "-n", "2", "--launcher", str(launcher), "--trace", str(trace), "--", "./app"])
    assert trace.is_dir()
    words = launcher.with_name("arguments").read_text().splitlines()
    assert f"THALWEG_TRACE={trace}" in words


@pytest.mark.parametrize("record", [["--no-record"], ["--record", "trace"]])
def test_a_trace_folder_has_nothing_of_an_earlier_run(
    launcher: Path, record: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(launcher.parent)
    trace = launcher.with_name("trace")
    trace.mkdir()
    for name in ("rank-0.events", "rank-31.events", "summary.json", "rank-0.record", "mine"):
        (trace / name).touch()
    launcher.write_text(LAUNCHER.replace("for word", "ls trace >left\nfor word"))
    words = ["run", "-n", "2", "--launcher", str(launcher), *record, "--trace", "trace"]
    assert main([*words, "./app"]) == 7
    own = ["run.json"] * ("--record" in record)
    assert launcher.with_name("left").read_text().split() == ["mine", "rank-0.record", *own]


def test_what_an_earlier_run_left_stays_where_nothing_is_traced(
    launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THALWEG", "off")
    trace = launcher.with_name("trace")
    trace.mkdir()
    (trace / "rank-0.events").touch()
    words = ["run", "-n", "2", "--launcher", str(launcher), "--trace", str(trace)]
    assert main([*words, "./app"]) == 7
    assert (trace / "rank-0.events").exists()


def test_env_prints_what_run_sets(launcher: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_beside(launcher)
    arguments = ["env", "-n", "2", "-H", "a,b", "--launcher", str(launcher), "--plan", str(plan)]
    assert main(arguments) == 0
    library = launcher.parent / "thalweg/lib/libthalweg-openmpi.so"
    expected = f"-x LD_PRELOAD={library} -x THALWEG_PLAN={plan} -x THALWEG_RACE=1"
    expected += " -x THALWEG_ADAPT=0\n"
    assert capsys.readouterr().out == expected


def test_env_has_the_hosts_in_the_order_in_which_open_mpi_4_fills_them(
    launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thalweg.launch_order.is_this_machine", lambda name: name == "b")
    request = Request(
        ranks=3, hosts="a:2,b:1", launcher=str(launcher), plan=plan_beside(launcher)
    )  # fmt: skip
    assert list(preparation.prepare(request).placement) == ["a", "a", "b"]
    by_user = replace(request, started_by_user=True)
    assert list(preparation.prepare(by_user).placement) == ["b", "a", "a"]


def test_env_refuses_a_hostfile_that_open_mpi_takes_otherwise(
    launcher: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = launcher.with_name("hosts")
    file.write_text("a slots=1\nb\n")
    for option in ("--hostfile", "-H"):
        words = ["env", "-n", "2", option, str(file), "--launcher", str(launcher)]
        assert main([*words, "--plan", str(plan_beside(launcher))]) == 2
        said = " ".join(capfd.readouterr().err.split())
        assert "Open MPI gives b as many slots as it has cores; write 'b slots=1'" in said


@pytest.mark.parametrize("version", ["4.0", "2021.10"])
def test_env_refuses_a_host_that_hydra_fills_in_several_places(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hydra = Launcher(Path("/bin/mpiexec"), "mpich", version)
    monkeypatch.setattr(preparation, "choose_launcher", lambda *_: hydra)
    file = tmp_path / "hosts"
    file.write_text("a\nb:2\nA:2\n")
    named = [Request(hostfile=file), Request(hosts=str(file)), Request(hosts="a,b:2,A:2")]
    said = "a is listed again after others; list it once, as 'a:3'"
    for request in named:
        with pytest.raises(UserError, match=said):
            preparation.prepare(replace(request, started_by_user=True))


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize(
    ("start", "measured_with", "expected"),
    [
        ("quick", "a probe", None),
        ("quick", f"a probe{QUICKLY}", True),
        ("full", f"a probe{QUICKLY}", False),
    ],
)
def test_plans_for_a_network_that_was_measured_quickly_are_quick(
    launcher: Path, start: Start, measured_with: str, expected: bool | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    net = networks.even_network(2, 1e-4, 1e8)
    net.hosts = [networks.Host(name, 1e8, 1e8) for name in ("a", "b")]
    net.measured_with = measured_with
    networks.write(net, file := launcher.with_name("net.json"))
    found: list[bool | None] = []

    def make_plan(*_: object, quick: bool | None = None, **__: object) -> Path:
        found.append(quick)
        return plan_beside(launcher)

    monkeypatch.setattr(planning, "make_plan", make_plan)
    caution = Caution(verify="off", start=start)
    request = Request(2, "a,b", launcher=str(launcher), network=file, caution=caution)
    assert preparation.prepare(request).network == file
    assert found == [expected]


def test_several_programs_are_refused(launcher: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = ["run", "-n", "1", "--launcher", str(launcher), "--", "./a", ":", "-n", "1", "./b"]
    assert main(words) == 2
    assert "a run has one program" in capfd.readouterr().err


def test_a_plan_for_another_library_is_noted(
    launcher: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = launcher.with_name("a.plan")
    net = networks.even_network(2, 1e-4, 1e8)
    for library in ("openmpi", "mpich"):
        plan.write_bytes(planner.to_bytes(PlanFile(net, library, [])))
        words = ["run", "-n", "2", "-H", "a,b", "--launcher", str(launcher)]
        assert main([*words, "--plan", str(plan), "--", "./app"]) == 7
        said = " ".join(capfd.readouterr().err.split())
        assert ("is for mpich, but the run has openmpi" in said) == (library == "mpich")


def test_plans_that_no_run_takes_any_more_are_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    net = networks.even_network(2, 1e-4, 1e8)
    names = [host.name for host in net.hosts]
    used = planning.make_plan(net, names, "openmpi")
    unused = used.with_name("0.plan")
    unused.write_bytes(b"")
    long_ago = time.time() - 86_400 * (paths.UNUSED_DAYS + 1)
    for path in (used, unused):
        os.utime(path, (long_ago, long_ago))
    assert planning.make_plan(net, names, "openmpi") == used
    planning.make_plan(networks.even_network(2, 1e-3, 1e8), names, "openmpi")
    assert used.is_file()
    assert not unused.exists()


def test_a_preload_of_the_user_is_kept(launcher: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "/lib/tool.so")
    plan = plan_beside(launcher)
    prepared = preparation.prepare(Request(ranks=2, launcher=str(launcher), plan=plan))
    assert prepared.environment()["LD_PRELOAD"].endswith("libthalweg-openmpi.so:/lib/tool.so")


def test_ranks_wait_longer_for_the_one_that_reads_a_long_plan(
    launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THALWEG_SETUP_TIMEOUT", raising=False)
    plan = plan_beside(launcher)
    prepared = preparation.prepare(Request(ranks=2, launcher=str(launcher), plan=plan))
    assert "THALWEG_SETUP_TIMEOUT" not in prepared.environment()
    os.truncate(plan, 100_000_000)
    assert prepared.environment()["THALWEG_SETUP_TIMEOUT"] == "80"
    monkeypatch.setenv("THALWEG_SETUP_TIMEOUT", "5")
    assert prepared.environment()["THALWEG_SETUP_TIMEOUT"] == "5"


def test_what_is_planned_once_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("THALWEG_WISDOM", raising=False)
    file = tmp_path / "net.json"
    networks.write(networks.even_network(2, 1e-4, 1e8), file)
    net = networks.read(file)
    names = [host.name for host in net.hosts]
    first = planning.make_plan(net, names, "openmpi")
    content = first.read_bytes()
    first.unlink()
    monkeypatch.setattr(planner, "make_table", None)
    assert planning.make_plan(net, names, "openmpi") == first
    assert first.read_bytes() == content
    (tables,) = planner.from_bytes(content).tables
    assert tables.placement == [0, 1]


def test_ranks_of_one_host_get_nothing(launcher: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "-n", "2", "-H", "a:2", "--launcher", str(launcher), "./app"]) == 7
    assert "-x" not in launcher.with_name("arguments").read_text().splitlines()
    assert "all ranks are on a: nothing to plan" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("variable", "value", "is_preloaded"),
    [
        ("THALWEG_REPRODUCIBLE", "on", True),
        ("THALWEG_REPRODUCIBLE", "off", False),
        ("THALWEG_RECORD", "folder", True),
        ("THALWEG_TRACE", "folder", True),
        ("THALWEG_FORCE", "", False),
    ],
)
def test_the_environment_may_ask_for_the_library_on_one_host(
    launcher: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, is_preloaded: bool
) -> None:
    monkeypatch.setenv(variable, value)
    assert main(["run", "-n", "2", "-H", "a:2", "--launcher", str(launcher), "./app"]) == 7
    words = launcher.with_name("arguments").read_text()
    assert ("LD_PRELOAD=" in words) == is_preloaded


def test_ranks_get_what_users_tell_the_runtime(
    launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THALWEG_REPRODUCIBLE", "1")
    monkeypatch.setenv("THALWEG_FORCE", "bcast=chain")
    assert main(["run", "-n", "2", "-H", "a:2", "--launcher", str(launcher), "./app"]) == 7
    words = launcher.with_name("arguments").read_text().splitlines()
    assert {"THALWEG_REPRODUCIBLE=1", "THALWEG_FORCE=bcast=chain"} <= set(words)


@pytest.mark.parametrize(
    ("environment", "options", "expected"),
    [
        ("", [], "0"), ("1", [], "1"), ("1", ["--adapt", "off"], "0"), ("0", [], "0"),
        ("1", ["--race", "off"], "0"), (None, ["--adapt", "on"], "1"),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("own_cache")
def test_the_option_to_follow_the_network_wins_over_the_environment(
    launcher: Path,
    monkeypatch: pytest.MonkeyPatch,
    environment: str | None,
    options: list[str],
    expected: str,
) -> None:
    monkeypatch.delenv("THALWEG_RACE", raising=False)
    monkeypatch.delenv("THALWEG_ADAPT", raising=False)
    if environment is not None:
        monkeypatch.setenv("THALWEG_ADAPT", environment)
    words = ["run", "-n", "2", "-H", "a,b", "--launcher", str(launcher), *options]
    assert main([*words, "--plan", str(plan_beside(launcher)), "./app"]) == 7
    told = launcher.with_name("arguments").read_text().splitlines()
    assert f"THALWEG_ADAPT={expected}" in told


def test_ranks_get_the_variables_of_the_user(
    launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OWN", "b c")
    words = ["run", "-n", "2", "-H", "a:2", "--launcher", str(launcher), "-x", "A=1=2", "-x", "OWN"]
    assert main([*words, "./app"]) == 7
    told = launcher.with_name("arguments").read_text().splitlines()
    assert [told[at + 1] for at, word in enumerate(told) if word == "-x"] == ["A=1=2", "OWN=b c"]


@pytest.mark.parametrize(
    ("command", "measures"),
    [
        (["probe", "-H", "a,b"], (probe, "run")),
        (["weather", "-H", "a,b", "--watch", "1min", "--times", "1"], (weather_watch, "watch")),
    ],
)
def test_ranks_that_measure_get_the_variables_of_the_user(
    launcher: Path, monkeypatch: pytest.MonkeyPatch, command: list[str],
    measures: tuple[ModuleType, str], capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def stop(_hosts: object, _file: object, chosen: Launcher, **_: object) -> None:
        raise UserError(f"has {dict(chosen.variables)}")

    monkeypatch.setattr(*measures, stop)
    monkeypatch.chdir(launcher.parent)
    assert main([*command, "--launcher", str(launcher), "-x", "A=1=2"]) == 2
    assert "has {'A': '1=2'}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("LD_PRELOAD=/x.so", "-x LD_PRELOAD: Thalweg sets it"),
        ("THALWEG=off", "-x THALWEG: Thalweg sets it"),
        ("THALWEG_RACE=0", "-x THALWEG_RACE: Thalweg sets it"),
        ("OWN", "-x OWN: isn't set in this environment"),
        ("OWN=", "-x OWN: not all launchers set empty variables"),
        ("=1", "-x '=1': write NAME=VALUE"),
        ("a b=1", "-x 'a b=1': write NAME=VALUE"),
    ],
)
def test_variables_that_ranks_can_not_get_are_refused(
    launcher: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    setting: str,
    said: str,
) -> None:
    monkeypatch.delenv("OWN", raising=False)
    words = ["run", "-n", "2", "-H", "a:2", "--launcher", str(launcher), "-x", setting]
    assert main([*words, "./app"]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not launcher.with_name("arguments").exists()


@pytest.mark.parametrize(("first", "is_here"), [("localhost", True), ("far", False)])
def test_a_program_that_did_not_load_the_runtime_is_told_from_one_that_ran_elsewhere(
    launcher: Path, own_cache: Path, capfd: pytest.CaptureFixture[str], first: str, is_here: bool
) -> None:
    launcher.write_text(LAUNCHER.replace("exit 7", "exit 0").replace("cp ", "true "))
    words = ["run", "-n", "2", "-H", f"{first},other", "--launcher", str(launcher)]
    assert main([*words, "--plan", str(plan_beside(launcher)), "./app"]) == 0
    assert list(own_cache.rglob("run.json")), "the run is recorded"
    said = " ".join(capfd.readouterr().err.split())
    assert ("no summary: the program didn't load the runtime library" in said) == is_here
    assert ("the weather learns nothing" in said) != is_here


def test_all_ranks_get_what_holds_on_each_by_itself(
    launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THALWEG_FORCE", "bcast=chain")
    monkeypatch.setenv("THALWEG", "off")
    monkeypatch.setenv("THALWEG_SETUP_TIMEOUT", "5")
    assert main(["run", "-n", "2", "-H", "a:2", "--launcher", str(launcher), "./app"]) == 7
    words = launcher.with_name("arguments").read_text().splitlines()
    assert {"THALWEG=off", "THALWEG_SETUP_TIMEOUT=5"} <= set(words)


def test_off_measures_plans_and_records_nothing(
    launcher: Path,
    own_cache: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("THALWEG", "off")
    assert main(["run", "-n", "2", "-H", "a,b", "--launcher", str(launcher), "./app"]) == 7
    assert "LD_PRELOAD" not in launcher.with_name("arguments").read_text()
    before = own_cache / "before"
    before.mkdir()
    (before / "run.json").write_text('{"schema": 1}')
    words = ["-H", "a,b", "--launcher", str(launcher), "--record", str(before), "--watch"]
    assert main(["run", *words, "./app"]) == 7
    assert (before / "run.json").read_text() == '{"schema": 1}'
    (before / "run.json").unlink()
    assert "THALWEG is off: nothing is measured" in " ".join(capfd.readouterr().err.split())
    assert not list(own_cache.rglob("run.json"))


def test_reproducible_reductions_on_one_host_are_said(
    launcher: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("THALWEG_REPRODUCIBLE", "1")
    assert main(["run", "-n", "2", "-H", "a:2", "--launcher", str(launcher), "./app"]) == 7
    said = " ".join(capfd.readouterr().err.split())
    assert "all collectives but reproducible reductions are native" in said


def test_the_summary_goes_where_the_user_wants_it(
    launcher: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = launcher.with_name("mine.json")
    monkeypatch.setenv("THALWEG_SUMMARY", str(file))
    assert main(["run", "-n", "2", "-H", "a:2", "--launcher", str(launcher), "./app"]) == 7
    assert json.loads(file.read_text()) == SUMMARY
    assert "bcast: 12 planned" in capfd.readouterr().err


def test_following_a_network_where_there_is_none_is_said(
    launcher: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    keep = launcher.with_name("kept.json")
    words = ["run", "-n", "2", "-H", "a:2", "--launcher", str(launcher), "--adapt", "on"]
    assert main([*words, "--keep-network", str(keep), "./app"]) == 7
    *_, line = capfd.readouterr().err.splitlines()
    assert line == (
        "thalweg: --adapt on: nothing was planned, so no plans followed the network; "
        f"{keep} isn't written"
    )
    assert not keep.exists()


def test_a_kept_network_is_said(launcher: Path, capfd: pytest.CaptureFixture[str]) -> None:
    keep, net = launcher.with_name("kept.json"), launcher.with_name("net.json")
    networks.write(networks.even_network(2, 1e-4, 1e8), net)
    words = ["run", "-n", "2", "-H", "a,b", "--launcher", str(launcher), "--network", str(net)]
    words += ["--plan", str(plan_beside(launcher)), "--adapt", "on", "--keep-network", str(keep)]
    assert main([*words, "--no-record", "./app"]) == 7
    first, *_, last = capfd.readouterr().err.splitlines()
    assert first.startswith("thalweg: --adapt on with neither a record nor a trace: ")
    assert last.startswith(f"thalweg: {keep} is the network as it was")
    assert networks.read(keep) == networks.read(net)


def test_a_matrix_is_checked_also_where_there_is_nothing_to_place(
    launcher: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    matrix = tmp_path / "pairs.csv"
    matrix.write_text("from,to,bytes\n0,2,5\n")
    words = ["run", "-n", "2", "-H", "a:2", "--launcher", str(launcher), "--matrix", str(matrix)]
    assert main([*words, "./app"]) == 2
    assert "is of 3 ranks, but the run has 2" in capfd.readouterr().err


def test_the_hosts_of_a_flux_instance_are_to_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    flux = {"FLUX_URI": "local:///tmp/flux-1/local-0"}

    def said(request: Request, **more: str) -> bool:
        preparation.choose_hosts(request, flux | more)
        return '-H "$(flux getattr hostlist)"' in " ".join(capsys.readouterr().err.split())

    assert said(Request(ranks=2))
    assert not said(Request(hosts="a,b"))
    assert not said(Request(), SLURM_JOB_ID="1", SLURM_JOB_NODELIST="n[1-2]")


def test_hosts_come_from_the_user_or_the_job(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes"
    nodes.write_text("b\na\n")
    lab = tmp_path / "lab"
    lab.write_text("x\ny\n")
    assert preparation.choose_hosts(Request(hosts="a:2"), {}) == [Host("a", 2)]
    assert preparation.choose_hosts(Request(ranks=3), {}) == [Host("localhost", 3)]
    assert preparation.choose_hosts(Request(), {"PBS_NODEFILE": str(nodes)}) == [
        Host("b"),
        Host("a"),
    ]
    assert preparation.choose_hosts(Request(), {"SLURM_JOB_NODELIST": "n[1-2]"}) == [
        Host("n1"),
        Host("n2"),
    ]
    assert preparation.choose_hosts(Request(), {"THALWEG_LAB_HOSTS": str(lab)}) == [
        Host("x"),
        Host("y"),
    ]
    # More ranks than slots are in proportion to these.
    uneven = {"SLURM_JOB_NODELIST": "n[1-2]", "SLURM_TASKS_PER_NODE": "8,2"}
    assert preparation.choose_hosts(Request(ranks=11), uneven) == [Host("n1", 9), Host("n2", 3)]
    assert preparation.choose_hosts(Request(ranks=30), uneven) == [Host("n1", 24), Host("n2", 6)]
    with pytest.raises(UserError, match="both --hosts and --hostfile"):
        preparation.choose_hosts(Request(hosts="a", hostfile=nodes), {})


def test_thousands_of_hosts_are_listed_in_a_file(launcher: Path) -> None:
    names = [f"node{number:041}" for number in range(5000)]
    hosts = launcher.with_name("listed")
    hosts.write_text("\n".join(names))
    launcher.write_text(
        LAUNCHER.replace(
            "echo from",
            'while [[ $1 != --hostfile ]]; do shift; done; cp "$2" "$0.hosts"; echo from',
        )
    )
    words = ["run", "--hostfile", str(hosts), "--launcher", str(launcher), "--no-record"]
    assert main([*words, "--plan", str(plan_beside(launcher)), "./app"]) == 7
    told = launcher.with_name("mpirun.hosts").read_text()
    assert told == "".join(f"{name} slots=1\n" for name in names)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["no/launcher"], "No such file or directory; name another one with --launcher"),
        (["true", "x" * (128 << 10)], "Argument list too long; list fewer hosts"),
    ],
)
def test_a_launcher_that_does_not_start_is_named(words: list[str], reason: str) -> None:
    with pytest.raises(UserError, match=f"launcher {words[0]} can't be started: {reason}"):
        run.launch(words)


@pytest.mark.parametrize("number", ["INT", "TERM", "HUP", "USR1", "USR2"])
def test_signals_reach_the_launcher(number: str) -> None:
    script = f"trap 'exit 5' {number}; echo ready; while :; do sleep 0.05; done"
    launch = f"sys.exit(run.launch(['bash', '-c', {script!r}]))"
    code = f"import sys; from thalweg.commands import run; {launch}"
    words = ["env", "--default-signal=HUP,INT", sys.executable, "-c", code]
    with subprocess.Popen(words, stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(getattr(signal, f"SIG{number}"))
        assert process.wait(30) == 5


def test_what_fails_after_the_program_leaves_its_status(
    launcher: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "a.plan")

    monkeypatch.setattr(races, "keep", fail)
    words = ["run", "-H", "a,b", "--launcher", str(launcher), "--no-record"]
    assert main([*words, "--plan", str(plan_beside(launcher)), "./app"]) == 7
    assert "No such file or directory: 'a.plan'" in " ".join(capsys.readouterr().err.split())


def test_a_folder_that_can_not_be_preloaded_from(
    launcher: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    library = launcher.parent / "my folder/thalweg/lib/libthalweg-openmpi.so"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.setenv("THALWEG_PREFIX", str(launcher.parent / "my folder"))
    words = ["run", "-H", "a,b", "--launcher", str(launcher), "--no-record"]
    assert main([*words, "--plan", str(plan_beside(launcher)), "./app"]) == 2
    assert "LD_PRELOAD takes no path with a space" in " ".join(capsys.readouterr().err.split())


@pytest.mark.usefixtures("own_cache")
def test_a_plan_that_the_cache_has_is_not_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    net = networks.even_network(2, 1e-4, 1e8)
    names = [host.name for host in net.hosts]
    plan = planning.make_plan(net, names, "openmpi", quick=True)

    def fail(*_: object) -> None:
        raise UserError("the disk is full")

    monkeypatch.setattr(planning, "write_file", fail)
    assert planning.make_plan(net, names, "openmpi", quick=True) == plan


def test_slots_of_a_grid_engine_job(tmp_path: Path) -> None:
    file = tmp_path / "hosts"
    file.write_text("b 3 all.q@b UNDEFINED\na 1 all.q@a UNDEFINED\n\n")
    job = {"PE_HOSTFILE": str(file)}
    assert preparation.choose_hosts(Request(), job) == [Host("b", 3), Host("a")]
    for text in ("", "b\n", "b many\n"):
        file.write_text(text)
        with pytest.raises(UserError, match="no hosts with their slots"):
            preparation.choose_hosts(Request(), job)


def test_a_slurm_node_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("node017").write_text("another\n")
    assert preparation.choose_hosts(Request(), {"SLURM_JOB_NODELIST": "node017"}) == [
        Host("node017")
    ]


@pytest.mark.parametrize("variable", ["PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "OAR_NODEFILE"])
def test_lines_of_a_node_file_are_slots(tmp_path: Path, variable: str) -> None:
    nodes = tmp_path / "nodes"
    nodes.write_text("b\nb\nB\na\n")
    job = {variable: str(nodes)}
    for ranks in (None, 2, 4):
        found = preparation.choose_hosts(Request(ranks=ranks), job)
        assert found == [Host("b", 3), Host("a")]
    too_many = preparation.choose_hosts(Request(ranks=5), job)
    assert too_many == [Host("b", 4), Host("a", 2)]  # in proportion


@pytest.mark.parametrize(
    ("counts", "slots"),
    [
        ({"SLURM_TASKS_PER_NODE": "4(x2),2"}, [4, 4, 2]),
        ({"SLURM_TASKS_PER_NODE": "1,4(x2)", "SLURM_JOB_CPUS_PER_NODE": "8(x3)"}, [1, 4, 4]),
        ({"SLURM_JOB_CPUS_PER_NODE": "8,3,5"}, [8, 3, 5]),
        ({"SLURM_TASKS_PER_NODE": "4(x2)", "SLURM_JOB_CPUS_PER_NODE": "8(x3)"}, [8, 8, 8]),
        ({"SLURM_TASKS_PER_NODE": "4(x4)"}, [1, 1, 1]),
        ({"SLURM_TASKS_PER_NODE": "4(x99999),4(x99999)"}, [1, 1, 1]),
        ({"SLURM_TASKS_PER_NODE": "4,0,4"}, [1, 1, 1]),
        ({"SLURM_TASKS_PER_NODE": "999999(x3)"}, [1, 1, 1]),
        ({"SLURM_TASKS_PER_NODE": "4(x2),many"}, [1, 1, 1]),
        ({"SLURM_TASKS_PER_NODE": ""}, [1, 1, 1]),
    ],
)
def test_slots_of_a_slurm_job(counts: dict[str, str], slots: list[int]) -> None:
    job = {"SLURM_JOB_NODELIST": "n[1-3]", **counts}
    found = preparation.choose_hosts(Request(), job)
    assert found == [Host(f"n{at}", count) for at, count in enumerate(slots, 1)]
    assert preparation.choose_hosts(Request(ranks=2), job) == found
    too_many = preparation.choose_hosts(Request(ranks=31), job)
    in_proportion = [math.ceil(31 * count / sum(slots)) for count in slots]
    assert too_many == [Host(f"n{at}", count) for at, count in enumerate(in_proportion, 1)]


def test_a_summary_that_says_why_all_is_native(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_summary.line(None).startswith("no summary")
    monkeypatch.setenv("THALWEG", "off")
    assert run_summary.line(None) == "everything was native: THALWEG is off"
    assert run_summary.line({"everything_native": "no-plan"}) == "everything was native: no-plan"
    assert run_summary.line({"everything_native": "", "collectives": {}}).startswith("no collect")


def test_a_summary_with_nonblocking_calls() -> None:
    summary = {
        "collectives": {"bcast": {"planned": {"calls": 1, "seconds": 2}}},
        "nonblocking": {
            "bcast": {
                "planned": {"calls": 3, "seconds": 4},
                "native": {"not-set-up": {"calls": 1, "seconds": 5}},
            }
        },
    }
    expected = "bcast: 1 planned (2 s); nonblocking bcast: 3 planned, 1 native (not-set-up)"
    assert run_summary.line(summary) == expected


def test_a_summary_is_in_the_networks_own_time() -> None:
    compared = {"seconds": 4, "native": 3, "limit": 0.5}
    planned = {"calls": 2, "seconds": 4, "compared": compared}
    summary = {"collectives": {"alltoall": {"planned": planned}}}
    assert run_summary.line(summary | {"dilation": 4}) == (
        "alltoall: 2 planned (1 s; native 3 s, saved 2 s; 50 % of the limit)"
    )
    assert "native 3 s, waiting included; 12 %" in run_summary.line(summary)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 us"), (4.1e-5, "41 us"), (0.0329, "32.9 ms"), (0.9996, "1000 ms"), (1.25, "1.25 s"),
     (99.96, "100 s"), (1234.5, "1234 s"), (1e6, "1000000 s")],
)  # fmt: skip
def test_times_are_written_without_exponents(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_calls_that_ranks_may_leave_early_are_not_compared() -> None:
    """A root leaves a bcast when it has sent, long before the call ends."""
    compared = {"seconds": 0.002, "native": 5, "limit": 4.8}
    planned = {"calls": 100, "seconds": 0.002, "compared": compared}
    for name in ("bcast", "reduce", "gather", "scatter", "scan", "exscan"):
        summary = {"collectives": {name: {"planned": planned}}}
        assert run_summary.line(summary) == f"{name}: 100 planned (2 ms)"


def test_a_limit_may_not_be_known() -> None:
    compared = {"seconds": 1, "native": 3, "limit": None}
    planned = {"calls": 2, "seconds": 2, "compared": compared}
    summary = {"collectives": {"barrier": {"planned": planned}}}
    expected = "barrier: 2 planned (2 s; for 1 s of it native 3 s, saved 2 s)"
    assert run_summary.line(summary) == expected


def imported_by_run(launcher: Path, *options: str) -> tuple[set[str], set[str]]:
    """Packages, and modules of Thalweg, that a process has imported after `thalweg run`."""
    script = (
        "import sys; from thalweg.cli import main; status = main(sys.argv[1:]); "
        "print(*sys.modules); sys.exit(status)"
    )
    words = ["run", "-n", "2", "--launcher", str(launcher), *options, "--", "./app"]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True)
    assert done.returncode == 7, done.stderr
    modules = set(done.stdout.splitlines()[-1].split())
    return {name.split(".")[0] for name in modules}, modules


def test_a_program_on_one_host_starts_without_what_only_plans_need(launcher: Path) -> None:
    packages, modules = imported_by_run(launcher)
    assert {"typer", "thalweg.preparation"} <= packages | modules  # it did the work
    assert not {"numpy", "polars", "pydantic", "rich", "resvg_py", "hashlib"} & packages
    assert not {"thalweg._core", "thalweg.knowledge", "thalweg.planning"} & modules


def test_a_program_on_known_hosts_starts_without_numpy(
    launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its records are read, with numpy, when it has ended."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(launcher.parent))
    monkeypatch.setenv("THALWEG_WISDOM", str(launcher.with_name("wisdom")))
    net = networks.even_network(3, 1e-4, 1e8)
    net.hosts = [networks.Host(name, 1e8, 1e8) for name in ("a", "b", "c")]
    net.message_costs = {"openmpi": networks.MessageCost()}
    net.measured_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    file = paths.network(["a", "b", "c"])
    file.parent.mkdir(parents=True)
    networks.write(net, file)
    weather_file.add(["a", "b", "c"], weather.of_network(net, time.time()))
    script = (
        "import sys; from thalweg.cli import main; from thalweg.commands import run\n"
        "launch = run.launch\n"
        "def told(*words, **more):\n"
        "    print(*sys.modules, flush=True)\n"
        "    return launch(*words, **more)\n"
        "run.launch = told\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    words = ["run", "-n", "3", "-H", "a,b,c", "--launcher", str(launcher), "--", "./app"]
    done = subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True)
    assert done.returncode == 7, done.stderr
    assert "using the network measured at" in done.stderr
    modules = set(done.stdout.splitlines()[0].split())
    assert {"thalweg.planning", "thalweg.recording"} <= modules
    assert "numpy" not in modules


def test_a_planned_program_starts_without_what_only_shows_plans(
    launcher: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(launcher.parent))
    monkeypatch.setenv("THALWEG_WISDOM", str(launcher.with_name("wisdom")))
    net = networks.even_network(2, 1e-4, 1e8)
    net.hosts = [networks.Host(name, 1e8, 1e8) for name in ("a", "b")]
    networks.write(net, file := launcher.with_name("net.json"))
    options = ("-H", "a,b", "--network", str(file), "--verify", "off", "--no-record")
    packages, modules = imported_by_run(launcher, *options)
    assert {"thalweg.planning", "thalweg.wisdom"} <= modules
    assert not {"polars", "pydantic", "rich", "resvg_py"} & packages
    assert not {"thalweg.explain", "thalweg.picture"} & modules
