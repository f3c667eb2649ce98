"""What ``verbose`` shows: one reporter for all iterative models, through `logging`."""

from __future__ import annotations

import logging
import sys

_logger = logging.getLogger("bagwise")


class Reporter:
    """Reports the progress of a fit: silent at 0, a line per start at 1, a line per iteration at 2.

    Lines go to the logger "bagwise". If the program has set up no logging they appear on standard error,
    so that ``verbose=1`` alone shows something.
    """

    def __init__(self, name: str, verbose: int = 0):
        self.name = name
        self.verbose = int(verbose)
        if self.verbose and not _logger.hasHandlers():
            handler = logging.StreamHandler(sys.stderr)
            handler.setFormatter(logging.Formatter("%(message)s"))
            _logger.addHandler(handler)
        if self.verbose and not _logger.isEnabledFor(logging.INFO):
            _logger.setLevel(logging.INFO)

    def start(self, number: int, of: int, result) -> None:
        """Report the end of one start."""
        if self.verbose >= 1:
            _logger.info(
                "%s: start %d of %d: objective %.8g after %d iterations, %s",
                self.name, number + 1, of, result.value, result.n_iter, result.status.name.lower(),
            )  # fmt: skip

    def iteration(self, number: int, value: float) -> None:
        """Report one iteration."""
        if self.verbose >= 2:
            _logger.info("%s: iteration %d: objective %.10g", self.name, number, value)

    def fold(self, number: int, of: int, setting: str, values) -> None:
        """Report what the held-out bags of one fold say of a setting, for every penalty compared."""
        if self.verbose >= 1:
            said = " ".join(f"{value:.4g}" for value in values)
            _logger.info("%s: %s, fold %d of %d: %s", self.name, setting, number + 1, of, said)
