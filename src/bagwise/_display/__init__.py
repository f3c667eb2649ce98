"""Tables and figures as plain values, and how they are shown: text, terminal, Markdown, pictures.

Checks, comparisons, explanations and experiments return the values of `parts`; `text`, `rich_text` and
`markdown` show them. `pictures` is the style of all plots, light and dark, and what they return.
"""
