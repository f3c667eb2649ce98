"""HTML reports about a model, a comparison or a data set: `write_report`.

`subject` defines the content of a report; `models`, `comparisons` and `pages` create it. The sections follow
a fixed order: `data_section`, `performance` with `bands`, `instances`, `learned`, `stability`, `repeat`.
`writing` keeps the file below 2 MB, and `html` renders the page.

Plots are drawn once with the light palette (`svg`). Their colors are replaced by variables of the style
sheet, which has a light and a dark set, and text is kept as text. Heat maps and images keep a light
background.
"""

from bagwise.report.writing import write_report

__all__ = ["write_report"]
