"""Engines carry a plan out: they move messages between server and silos and decide nothing about privacy."""
