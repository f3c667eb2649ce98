"""Data in and predictions out: data frames, and a module for each kind of file."""

from bagwise.io.arff import load_arff
from bagwise.io.csv import load_csv, save_csv
from bagwise.io.files import load_bags, save_bags
from bagwise.io.h5 import load_h5, save_h5
from bagwise.io.npy import load_npy, save_npy
from bagwise.io.npz import load_npz, save_npz
from bagwise.io.parquet import iter_parquet, load_parquet, save_parquet
from bagwise.io.predictions import instance_frame, key_instances, predict_frame
from bagwise.io.scan import scan_bags
from bagwise.io.xlsx import load_xlsx

__all__ = [
    "instance_frame",
    "iter_parquet",
    "key_instances",
    "load_arff",
    "load_bags",
    "load_csv",
    "load_h5",
    "load_npy",
    "load_npz",
    "load_parquet",
    "load_xlsx",
    "predict_frame",
    "save_bags",
    "save_csv",
    "save_h5",
    "save_npy",
    "save_npz",
    "save_parquet",
    "scan_bags",
]
