"""Programs that prove the samplers' error bounds; see docs/theory/integers.md, section 6."""
