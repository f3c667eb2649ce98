"""The hot loops, compiled by numba: pure functions of arrays, serial, without the GIL.

Nothing here imports a bag container, a rule or an estimator. A module of this folder is imported inside
the method that runs its kernel, so ``import bagwise`` never loads numba. Kernels take read-only
contiguous arrays (`arrays`), so each is compiled once; `notice` tells users who wait for the compiler.

Machine code is cached on disk. `compiling` decides when it is stale: if the code of the kernel's module or of
a module of this folder that it imports has changed; comments and docstrings do not count.
"""
