"""A run as tables for other programs: calls and messages, as CSV or Parquet."""

import io
import shutil
from pathlib import Path

import polars as pl

from thalweg.analysis.tables import Run
from thalweg.errors import UserError
from thalweg.files import check_output_folder, write_file, writing


def tables(run: Run) -> dict[str, pl.DataFrame]:
    """Returns the tables by name, with hosts' names; times are nanoseconds of rank 0's clock."""
    hosts = pl.Series(run.hosts, dtype=pl.String)
    calls = run.calls.drop("number").with_columns(hosts.gather(run.calls["rank"]).alias("host"))
    messages = run.messages.with_columns(
        hosts.gather(run.messages["sender"]).alias("from_host"),
        hosts.gather(run.messages["receiver"]).alias("to_host"),
    )
    return {"calls": calls, "messages": messages}


def write_csv(run: Run, path: Path) -> None:
    """Writes calls.csv and messages.csv into the folder `path`. Raises UserError."""
    _write(run, path, "csv")


def write_parquet(run: Run, path: Path) -> None:
    """Writes calls.parquet and messages.parquet into the folder `path`. Raises UserError."""
    _write(run, path, "parquet")


def _write(run: Run, path: Path, kind: str) -> None:
    check_output_folder(path, f"export {path}")
    made = not path.exists()
    with writing(f"export {path}"):
        path.mkdir(exist_ok=True)
    try:
        for name, table in tables(run).items():
            content = io.BytesIO()
            if kind == "csv":
                table.write_csv(content)
            else:
                table.write_parquet(content)
            write_file(path / f"{name}.{kind}", f"export {path / name}.{kind}", content.getvalue())
    except UserError:
        if made:
            shutil.rmtree(path, ignore_errors=True)
        raise
