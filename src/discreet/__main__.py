"""``python -m discreet``."""

from discreet.cli import main

main()
