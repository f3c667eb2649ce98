"""Tables and figures as plain values, and how they are shown: text, terminal, plots.

Checks, comparisons, explanations and experiments return the values of `parts`; `text` shows them on a
terminal, and `bagwise.report` renders them as HTML. `pictures` is the style of all plots, light and dark,
and what they return.
"""
