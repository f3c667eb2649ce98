"""Data in and predictions out: data frames and npz files, a module for each."""

from bagwise.io.frames import instance_frame, key_instances
from bagwise.io.npz import load_npz, save_npz

__all__ = ["instance_frame", "key_instances", "load_npz", "save_npz"]
