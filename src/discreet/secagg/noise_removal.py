"""Noise that can be taken off again when fewer clients drop out than was planned for (XNoise).

Jiang, Wang and Chen, "Dordis: Efficient federated learning with dropout-resilient differential privacy"
(EuroSys 2024). Here it is only "add vectors that are expanded from seeds, share the seeds, subtract some of
them from the sum": which law the vectors follow is the business of whoever supplies ``expand``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from discreet.secagg.terms import SumTerms
from discreet.secagg.wire import counted

Expand = Callable[[bytes, int, int], npt.NDArray[np.int64]]
"""``(seed, component, length) -> vector``: deterministic and equal on every machine; seeds have 256 bits."""


@dataclass(frozen=True, slots=True)
class NoiseRemoval:
    """One removable component for every dropout that the floor tolerates.

    Every client adds components 1 to ``clients - min_survivors``. When ``m`` inputs are missing from the sum,
    components above ``m`` are excess: the survivors release their seeds and the server subtracts them.

    Attributes:
        name: identifies ``expand`` and its parameters; bound into the agreement.
        expand: makes a component from its seed.
    """

    name: str
    expand: Expand = field(repr=False)

    def describe(self) -> bytes:
        """Returns the bytes that bind this rule into the agreement."""
        return counted(self.name.encode())


def num_components(terms: SumTerms) -> int:
    """Returns how many removable components every client adds."""
    return len(terms.clients) - terms.min_survivors


def excess_components(terms: SumTerms, num_survivors: int) -> range:
    """Returns the components that a sum of ``num_survivors`` inputs does not need, counted from 1.

    Example:
        >>> terms = SumTerms(bytes(32), ("a", "b", "c", "d", "e"), 2, 3, 0, 16, 1, bytes(32))
        >>> list(excess_components(terms, 4))
        [2]
    """
    missing = len(terms.clients) - num_survivors
    return range(missing + 1, num_components(terms) + 1)
