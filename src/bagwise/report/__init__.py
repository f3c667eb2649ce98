"""HTML pages about a model, a comparison or a data set: `write_report`.

A `subject` (what a page is about; `models`, `comparisons` and `pages` make it) goes through sections in
one order: `data_section`, `performance` with `bands`, `instances`, `learned`, `stability`, `repeat`.
`writing` keeps a page below 2 MB; `html` renders tables.

Plots are drawn once, in the light palette (`svg`): colours become variables of the style sheet, which has
a light and a dark set, and text stays text. Heat maps and images keep a light ground.
"""

from bagwise.report.writing import write_report

__all__ = ["write_report"]
