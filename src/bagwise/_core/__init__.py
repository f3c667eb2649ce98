"""Helpers that know nothing of bags: compiled loops, files, threads, interrupts, types of parameters.

- `compiled`: the hot loops, compiled by numba.
- `files`: files that are written whole or not at all, checksums, and checks for damage.
- `checkpoint`: what a fit may do with its checkpoint, and the null object of fits that have none.
- `interrupt`: Ctrl-C during a fit. `threads`: how many threads BLAS may use.
- `live_line`: the line that shows progress on a terminal. `cache`: where downloads and indexes are kept.
- `named_parts`: make a rule or a family from a name or an object.
- `types`: type aliases of parameters that many packages share.
- `sklearn_private`: the only module that imports private parts of scikit-learn.
"""
