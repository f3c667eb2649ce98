"""Plots of bags with matplotlib (``pip install 'bagwise[plot]'``).

Every plot accepts ``ax=`` and returns a display with `figure_` and `ax_`. Figures are created without pyplot,
so no window opens and the matplotlib backend is not changed.

`heatmap` and `sequence` plot the instances of one bag, which `one_bag` selects together with its predictions.
`images` plots bags as images or tables on a `canvas`.
"""

from bagwise.evaluation.plotting.heatmap import plot_heatmap
from bagwise.evaluation.plotting.images import plot_bags
from bagwise.evaluation.plotting.sequence import plot_sequence

__all__ = ["plot_bags", "plot_heatmap", "plot_sequence"]
