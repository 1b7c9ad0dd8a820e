"""Secure aggregation on sparse graphs (Bell et al. 2020)."""

from __future__ import annotations

from discreet.secagg.bell.parameters import Sparsity, find_sparsity
from discreet.secagg.bell.protocol import Bell

__all__ = ["Bell", "Sparsity", "find_sparsity"]
