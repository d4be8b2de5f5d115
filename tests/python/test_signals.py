"""Signals that end a command's work."""

import signal
import threading

import pytest

from thalweg.signals import ended_by_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_work_inside_other_work_is_ended_once(number: signal.Signals) -> None:
    cleaned_up = False
    before = signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(SystemExit) as ended, ended_by_signals():
            try:
                with ended_by_signals():
                    signal.raise_signal(number)
            finally:
                signal.raise_signal(number)
                cleaned_up = True
        assert cleaned_up
        assert ended.value.code == 128 + number
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_signals_still_end_the_outer_work_after_the_inner_one() -> None:
    with pytest.raises(SystemExit), ended_by_signals():
        with ended_by_signals():
            pass
        signal.raise_signal(signal.SIGTERM)


def test_other_threads_change_no_signals() -> None:
    before = signal.getsignal(signal.SIGTERM)
    found: list[object] = []

    def work() -> None:
        with ended_by_signals():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [before]
