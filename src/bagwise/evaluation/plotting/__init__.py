"""Pictures of bags, by matplotlib (``pip install 'bagwise[plot]'``).

Every picture takes ``ax=`` and returns a display with `figure_` and `ax_`. Figures are made without pyplot:
no window opens and the backend of the calling program is left alone.
"""

from bagwise.evaluation.plotting.heatmap import plot_heatmap
from bagwise.evaluation.plotting.images import plot_bags
from bagwise.evaluation.plotting.sequence import plot_sequence

__all__ = ["plot_bags", "plot_heatmap", "plot_sequence"]
