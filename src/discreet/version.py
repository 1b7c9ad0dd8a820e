"""The version of discreet, in one place."""

__version__ = "0.1.0"
