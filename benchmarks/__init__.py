"""Benchmarks of bagwise against other libraries: time, memory, and the quality of the solutions."""
