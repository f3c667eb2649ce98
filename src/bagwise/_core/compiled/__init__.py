"""The hot loops, and nothing else: pure functions on arrays, serial, without the GIL.

Nothing here knows a bag container, a rule or an estimator. A module of this folder is imported
inside the method that runs its kernel, so that ``import bagwise`` never pays for numba.

numba's cache watches the file of the kernel itself, not the helpers it calls; `compiling` therefore
forgets all machine code after an edit of any file in this folder.
"""
