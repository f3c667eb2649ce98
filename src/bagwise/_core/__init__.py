"""Helpers that do not depend on bags: compiled loops, files, threads, interrupts, parameter types.

- `compiled`: the hot loops, compiled by numba.
- `files`: atomic writing of files and folders, checksums, and checks for damage.
- `checkpoint`: the interface of a checkpoint, and the null object for fits without a checkpoint.
- `interrupt`: handling of Ctrl-C during a fit. `threads`: the number of BLAS threads.
- `live_line`: the progress line on a terminal. `cache`: the folder for downloads and indexes.
- `precision`: 16-bit floats, and the precision in which models compute.
- `named_parts`: look up a rule or a family by name.
- `types`: type aliases for parameters that occur in several packages.
- `sklearn_private`: the only module that imports private parts of scikit-learn.
"""
