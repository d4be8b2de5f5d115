"""`python -m thalweg`."""

import sys

from thalweg.cli import main

sys.exit(main())
