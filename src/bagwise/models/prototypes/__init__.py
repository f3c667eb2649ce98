"""Models of points and boxes in feature space: diverse density, prototypes, axis-parallel rectangles.

- `diverse_density`, `emdd`: one point that positive bags have in common (`density_problem`:
  the likelihood, and which of its optima are kept).
- `embedding`, `miles`: bags by their nearness to prototypes (`choosing`, `points`: which points, how near).
- `apr`: a box that contains an instance of every positive bag and few of negative ones.
"""

from bagwise.models.prototypes.apr import APRClassifier
from bagwise.models.prototypes.diverse_density import DiverseDensity
from bagwise.models.prototypes.embedding import PrototypeEmbedding
from bagwise.models.prototypes.emdd import EMDD
from bagwise.models.prototypes.miles import MILESClassifier

__all__ = ["APRClassifier", "DiverseDensity", "EMDD", "MILESClassifier", "PrototypeEmbedding"]
