"""Prints every bound that the samplers rely on beside what is proven of it; exit code 1 if one fails.

Run: python docs/theory/prove_samplers.py
"""

from __future__ import annotations

import sys

from sampler_bounds import gaussian, rejection, skellam

if __name__ == "__main__":
    found = [b for proof in (gaussian, rejection, skellam) for b in proof.bounds()]
    print("\n".join(map(str, found)))
    sys.exit(not all(bound.holds for bound in found))
