"""The version, in a file of its own so that reading it imports nothing."""

__version__ = "0.3.0.dev0"
