"""Atomic writing of files (`atomic`), files with a checksum (`sealed`), and checks for damage (`damage`)."""
