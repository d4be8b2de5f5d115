"""What all tests of the Python modules need."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_wisdom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps what tests plan out of the user's wisdom, and of each other's."""
    monkeypatch.setenv("THALWEG_WISDOM", str(tmp_path / "wisdom"))
