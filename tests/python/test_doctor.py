"""What `thalweg doctor` says of TCP's buffers."""

import os
from pathlib import Path

import numpy as np
import pytest

from thalweg.commands import doctor
from thalweg.network import Host, Network, even_network


@pytest.fixture
def net() -> Network:
    """A bandwidth-delay product of 1 MB from a to b, half of it back."""
    latency = np.array([[0, 8e-3], [12e-3, 0]])
    bandwidth = np.array([[np.inf, 50e6], [25e6, np.inf]])
    return Network([Host("a"), Host("b")], latency, bandwidth)


def settings(folder: Path, rmem: str, wmem: str) -> Path:
    (folder / "tcp_rmem").write_text(rmem)
    (folder / "tcp_wmem").write_text(wmem)
    return folder


def test_the_path_of_the_largest_bandwidth_delay_product_is_found(net: Network) -> None:
    product, a, b = doctor.largest_bandwidth_delay(net)
    assert product == pytest.approx(1e6)
    assert (a, b) == (0, 1)


def test_small_buffers_get_the_line_that_mends_them(net: Network, tmp_path: Path) -> None:
    where = settings(tmp_path, "4096 131072 6291456", "4096\t16384\t1999999")
    receive, send = doctor.buffers(net, where)
    assert receive.state == "ok"
    assert not receive.remedy
    assert send.state == "note"
    assert 'net.ipv4.tcp_wmem="4096 16384 2097152"' in send.remedy
    assert "a -> b has 1MB" in send.found


def test_the_largest_buffers_have_no_remedy_where_they_are_too_small(tmp_path: Path) -> None:
    net = even_network(2, 0.1, 12.5e9)
    where = settings(tmp_path, "4096 131072 2147483647", "4096 16384 6291456")
    receive, send = doctor.buffers(net, where)
    assert (receive.state, receive.remedy) == ("note", "")
    assert "one flow can't have with any buffer" in receive.found
    assert 'net.ipv4.tcp_wmem="4096 16384 2147483647"' in send.remedy


def test_unreadable_settings_are_said(net: Network, tmp_path: Path) -> None:
    assert [f.state for f in doctor.buffers(net, tmp_path)] == ["note", "note"]


def test_libraries_are_called_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = tmp_path / "mpirun"
    launcher.write_text("#!/bin/sh\necho 'Intel(R) MPI Library, Version 2021.12'\n")
    launcher.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = list(doctor.mpi(list(doctor.mpi_libraries())))
    assert found[0].name == "Intel MPI 2021.12"


def test_hosts_without_latency_need_no_buffers(tmp_path: Path) -> None:
    alone = Network([Host("a")], np.zeros((1, 1)), np.full((1, 1), np.inf))
    assert list(doctor.buffers(alone, tmp_path)) == []
