"""Long calls that Ctrl-C can leave."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from thalweg import _core, mapping, threads
from thalweg import network as networks
from thalweg.operations import Bcast
from thalweg.plans import Setting
from thalweg.threads import interruptible

NETWORK = networks.even_network(4, 1e-4, 1e8)


def test_a_call_gives_its_result_or_its_exception() -> None:
    assert interruptible(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0)


def test_other_threads_call_by_themselves() -> None:
    found: list[threading.Thread] = []
    thread = threading.Thread(
        target=lambda: found.append(interruptible(threading.current_thread)),
    )
    thread.start()
    thread.join()
    assert found == [thread]


def test_ctrl_c_leaves_a_call_that_goes_on() -> None:
    release, ended = threading.Event(), threading.Event()

    def call() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        release.wait()
        ended.set()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            interruptible(call)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not ended.is_set()
    assert len(threads._running) == 1
    release.set()
    assert ended.wait(30)


def plan() -> None:
    Setting(NETWORK, [0, 1]).plan(Bcast(root=0, nbytes=8))


def make_table() -> None:
    Setting(NETWORK, [0, 1]).table()


def place() -> None:
    matrix = mapping.communication(4, [0], [1], [1], [100])
    mapping.place(NETWORK, matrix, [1] * 4, usual=[3, 2, 1, 0])


@pytest.mark.parametrize(
    ("core", "name", "work"),
    [
        (_core.planner, "explain", plan),
        (_core.planner, "make_table", make_table),
        (_core.mapping, "finalists", place),
        (_core.mapping, "planned_costs", place),
    ],
)
def test_the_long_calls_of_the_core_can_be_left(
    core: Any, name: str, work: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    callers: list[threading.Thread] = []
    own = getattr(core, name)

    def call(*arguments: Any) -> Any:
        callers.append(threading.current_thread())
        return own(*arguments)

    monkeypatch.setattr(core, name, call)
    work()
    assert callers
    assert threading.main_thread() not in callers


def test_ctrl_c_ends_a_command_that_plans(tmp_path: Path) -> None:
    net = tmp_path / "net.json"
    networks.write(networks.even_network(400, 1e-4, 1e8), net)  # which takes minutes
    command = [sys.executable, "-m", "thalweg", "plan", str(net), "-n", "400", "-o", "a.plan"]
    with subprocess.Popen(
        ["env", "--default-signal=INT", *command], cwd=tmp_path, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            assert process.stderr
            assert process.stderr.readline() == "thalweg: planning for 400 ranks\n"
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=30) == ("", "")
        finally:
            process.kill()
    assert process.returncode == 130
    assert not (tmp_path / "a.plan").exists()


def test_a_program_that_was_interrupted_ends_while_the_call_goes_on() -> None:
    code = (
        "import os, signal, threading\n"
        "from thalweg.threads import interruptible\n"
        "def call():\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    threading.Event().wait()\n"
        "print('begins')\n"
        "interruptible(call)\n"
    )
    done = subprocess.run(
        ["env", "--default-signal=INT", sys.executable, "-c", code], stdin=subprocess.DEVNULL,
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (130, "begins\n")
    assert done.stderr.endswith("KeyboardInterrupt\n")
