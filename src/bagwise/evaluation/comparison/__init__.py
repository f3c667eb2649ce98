"""Models side by side: `compare`, and what it gives."""

from bagwise.evaluation.comparison.compare import compare
from bagwise.evaluation.comparison.comparison import Comparison
from bagwise.evaluation.comparison.results import ModelResult

__all__ = ["Comparison", "ModelResult", "compare"]
