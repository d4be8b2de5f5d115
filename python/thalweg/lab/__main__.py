"""`python -m thalweg.lab up two-sites`: the lab's commands alone."""

import sys

import typer

from thalweg.errors import UserError
from thalweg.lab.cli import app

try:
    sys.exit(app(standalone_mode=False) or 0)
except UserError as error:
    sys.exit(f"thalweg: {error}")
except typer.TyperException as error:
    print(f"thalweg: {error.format_message()}", file=sys.stderr)
    sys.exit(error.exit_code)
