"""Run the ``bagwise`` program as ``python -m bagwise``."""

from bagwise.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
