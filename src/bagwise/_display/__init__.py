"""Tables and figures as dataclasses, and functions that display them as text, HTML and plots.

Checks, comparisons, explanations and experiments return the types of `parts`. `text` shows them on a
terminal, `notebook` in notebooks, and `bagwise.report` writes HTML pages. `bunch` shows scikit-learn's
`Bunch` as a table. `pictures` defines the style of all plots, light and dark, and the `Display` that they
return.
"""
