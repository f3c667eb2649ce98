"""State of the compiler: `notice` sets the event, and progress lines show the text.

The module does not import numba, so that progress lines can import it.
"""

from __future__ import annotations

import threading

compiling = threading.Event()
COMPILING = "compiling (first run only; cached for next time)"
