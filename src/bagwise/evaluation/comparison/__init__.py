"""Models side by side: `compare`, and what it gives."""

from bagwise.comparison.compare import compare
from bagwise.comparison.comparison import Comparison
from bagwise.comparison.results import ModelResult

__all__ = ["Comparison", "ModelResult", "compare"]
