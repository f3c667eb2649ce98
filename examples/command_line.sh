#!/bin/sh
# The command line: from a table to predictions and explanations, without Python code.
#
# molecules.csv has one row per conformer; new.csv has molecules without labels. Both are simulated here.
set -e
here=$(cd "$(dirname "$0")" && pwd)
PYTHONPATH="$here:$PYTHONPATH" python -c "
from example_data import write_molecules
write_molecules('molecules.csv', 100); write_molecules('new.csv', 3, seed=1, first=700)"

# Check the data. The exit status is 1 because some values are missing.
bagwise check molecules.csv --bag molecule --label activity || test $? -eq 1

# Fit a mixture, which supports missing values; evaluate it with batches held out together; and save it.
bagwise fit molecules.csv --bag molecule --label activity --positive active --groups batch \
    --model mimm --set family=gaussian_diag --set n_init=2 --cv 3 -o molecules.bagwise

# Predict new molecules and their conformers; explain one prediction with a figure.
bagwise predict molecules.bagwise new.csv -o predictions.csv
bagwise predict molecules.bagwise new.csv --instances -o conformers.csv
bagwise explain molecules.bagwise molecules.csv --id 0007 -o explanation.png
bagwise plot molecules.bagwise molecules.csv --what calibration -o calibration.png
cat predictions.csv
