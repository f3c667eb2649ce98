"""``python -m bagwise`` is the ``bagwise`` program."""

from bagwise.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
