"""Plots of bags, by matplotlib (``pip install 'bagwise[plot]'``).

Every plot takes ``ax=`` and returns a display with `figure_` and `ax_`. Figures are made without pyplot:
no window opens, and the backend of the calling program stays as it is.

`heatmap`, `sequence`, `images`: one bag as a heat map or a sequence, bags as images or tables, on a
`canvas`; `one_bag` selects the bag and its scores.
"""

from bagwise.evaluation.plotting.heatmap import plot_heatmap
from bagwise.evaluation.plotting.images import plot_bags
from bagwise.evaluation.plotting.sequence import plot_sequence

__all__ = ["plot_bags", "plot_heatmap", "plot_sequence"]
