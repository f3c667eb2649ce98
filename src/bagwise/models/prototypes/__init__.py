"""Models of points and boxes in feature space: diverse density, prototypes, axis-parallel rectangles.

- `diverse_density`, `emdd`: models of a point that is close to all positive bags. `density_problem` contains
  the likelihood, and selects the local optima to keep.
- `embedding`, `miles`: bags as vectors of similarities to prototypes. `choosing` selects the prototypes, and
  `points` computes distances to them.
- `apr`: a box that contains an instance of every positive bag and few instances of negative bags.
"""

from bagwise.models.prototypes.apr import APRClassifier
from bagwise.models.prototypes.diverse_density import DiverseDensity
from bagwise.models.prototypes.embedding import PrototypeEmbedding
from bagwise.models.prototypes.emdd import EMDD
from bagwise.models.prototypes.miles import MILESClassifier

__all__ = ["APRClassifier", "DiverseDensity", "EMDD", "MILESClassifier", "PrototypeEmbedding"]
