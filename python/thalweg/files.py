"""Writes files that readers always find whole."""

import os
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes a temporary file beside the file and renames it.

    Readers find the old content or the new, even if the machine stops in between. Raises OSError.
    """
    data = content.encode() if isinstance(content, str) else content
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
