"""Fuzz tests: finite input leads to finite results or one clear error, and damaged files are detected.

``python -m tests.fuzz --kind KIND --seed SEED`` runs one case, which the kind and the seed determine.
`--cases` and `--seconds` run more cases from this seed on (``make fuzz``). A kind is a module of this package
with a function ``run(seed)``:

=============  ==================================================================================
`estimators`   every public estimator with random parameters, containers, labels and weights
`rules`        every public rule at extreme log-odds
`kernels`      every public kernel of bags and instances
`formats`      unusual bags, written and read in every format
`damage`       damaged data files of every format, model files and indexes of scans
`forgeries`    model files of every estimator whose objects, arrays and values are recombined
`commands`     every command of the command line, with unusual arguments
=============  ==================================================================================

Estimators, rules, formats and commands are discovered automatically, so the next run includes new ones.
"""
