"""What all tests of the Python modules need."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_wisdom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps what tests plan out of the user's wisdom, and of each other's."""
    monkeypatch.setenv("THALWEG_WISDOM", str(tmp_path / "wisdom"))


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keeps networks and weather out of the user's cache, and of the lab's; returns the folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("THALWEG_LAB", "THALWEG_LAB_DILATION"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path
