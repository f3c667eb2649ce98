"""The hot loops, compiled by numba: pure functions of arrays, serial, without the GIL.

No module in this folder imports a bag container, a rule or an estimator. Each is imported inside the method
that runs its kernel, so ``import bagwise`` never loads numba. Kernels take read-only contiguous arrays
(`arrays`), so each kernel is compiled only once. `notice` informs users who wait for the compiler,
and `running` is the state of the compiler for progress lines.

Machine code is cached on disk (`compiling`). It is stale if the code of the kernel's module, or of a module
in this folder that it imports, has changed. Changes of comments and docstrings are ignored.
"""
