"""Tables and figures as plain values, and functions that show them: text, terminal, plots.

Checks, comparisons, explanations and experiments return the types of `parts`. `text` shows them on a
terminal, and `bagwise.report` renders them as HTML. `pictures` defines the style of all plots, light and
dark, and the `Display` that they return.
"""
