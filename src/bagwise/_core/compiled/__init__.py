"""The hot loops, compiled by numba: pure functions of arrays, serial, without the GIL.

No module in this folder imports a bag container, a rule or an estimator. Each is imported inside the method
that runs its kernel, so ``import bagwise`` never loads numba. Kernels take read-only contiguous arrays
(`arrays`), so each kernel is compiled only once. `notice` shows a message to users who wait for the compiler,
and `running` contains the state of the compiler for progress lines.

Machine code is cached on disk (`compiling`). The cached code is stale if the code of the kernel's module, or
of a module in this folder that it imports, has changed. Changes to comments and docstrings are ignored.
"""
