"""The hot loops, compiled by numba: pure functions of arrays, serial, without the GIL.

Nothing here imports a bag container, a rule or an estimator. A module of this folder is imported inside
the method that runs its kernel, so ``import bagwise`` never loads numba. Kernels take read-only
contiguous arrays (`arrays`), so each is compiled once; `notice` tells users who wait for the compiler.

numba's cache watches the file of the kernel itself, not the helpers that it calls. `compiling` therefore
removes all machine code after an edit of any file in this folder.
"""
