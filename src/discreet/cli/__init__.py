"""Placeholder: filled by its own slice."""
