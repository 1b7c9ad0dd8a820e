"""Questions: what records add to a sum, and what the noisy sum says. Pure functions without torch."""
