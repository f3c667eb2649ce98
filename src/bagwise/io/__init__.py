"""Read and write bags: one module per format, and `load_bags`, `save_bags` and `scan_bags` for all formats.

- `npz`, `parquet`, `csv`, `xlsx` and `arff` are single files; `h5` and `npy` are folders with one file per
  bag (`_folder`).
- `_rows`, `_column_types` and `_table` handle text tables; `_arrow` and `_parquet_reader` handle Arrow
  tables; `_long` handles tables with one row per instance. `_features` selects the features to read;
  `_label_table` adds labels from a separate table and handles missing labels. `_remote` handles URLs.
- `scan` locates the bags in files without reading the instances. `files` chooses the format from the file
  name.
"""

from bagwise.io.arff import load_arff
from bagwise.io.csv import load_csv, save_csv
from bagwise.io.files import load_bags, save_bags
from bagwise.io.h5 import load_h5, save_h5
from bagwise.io.npy import load_npy, save_npy
from bagwise.io.npz import load_npz, save_npz
from bagwise.io.parquet import iter_parquet, load_parquet, save_parquet
from bagwise.io.scan import scan_bags
from bagwise.io.xlsx import load_xlsx

__all__ = [
    "iter_parquet",
    "load_arff",
    "load_bags",
    "load_csv",
    "load_h5",
    "load_npy",
    "load_npz",
    "load_parquet",
    "load_xlsx",
    "save_bags",
    "save_csv",
    "save_h5",
    "save_npy",
    "save_npz",
    "save_parquet",
    "scan_bags",
]
