"""Benchmarks: ours against a peer in one run, with what was reached and not only the seconds."""
