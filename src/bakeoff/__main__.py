"""`python -m bakeoff` is `bakeoff`."""

import sys

from bakeoff.cli import main

sys.exit(main())
