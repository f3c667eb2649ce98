"""A campaign of hostile cases: finite input gives finite answers or one sentence, and no file does harm.

``python -m tests.fuzz --kind KIND --seed SEED`` runs one case, which its kind and its seed settle; `--cases`
and `--seconds` go on from there (``make fuzz``). A kind is a module here with a function ``run(seed)``:

=============  ==================================================================================
`estimators`   every public estimator, drawn parameters, containers, labels and weights
`rules`        every public rule at hostile log-odds
`kernels`      every public kernel of bags and instances
`formats`      bags of every shape through every format and back
`damage`       damaged files of every format, of models and of indexes
`commands`     every command of the program, with hostile arguments
=============  ==================================================================================

Estimators, rules, formats and commands are found, not listed: a new one is in the next run.
"""
