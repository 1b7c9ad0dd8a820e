"""Pure values of privacy: units, adversaries, guarantees, events. No analysis, no randomness, no I/O."""
