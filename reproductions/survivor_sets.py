r"""LightSecAgg: a server that names two sets of survivors learns the input of the silo that only one has.

Run: python reproductions/survivor_sets.py

So, He, Yang and others (2022): silo i adds one random mask z_i, cuts it into U − T pieces, adds T random
ones, and gives silo j the value at j of the polynomial through them. Each survivor sends the sum of the
pieces that it holds of those whom the server calls survivors; any U answers give the sum of their masks.
Nobody compares the sets, so a server may ask one half of the silos for all masks, and the other for all but
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prime_field import PRIME, Field, random_vector, value


@dataclass(frozen=True, slots=True)
class Terms:
    """N silos; any U answers open a sum, T silos alone learn nothing of a mask."""

    silos: int
    answers: int
    colluding: int

    @property
    def pieces(self) -> int:
        """Parts that a mask is cut into."""
        return self.answers - self.colluding

    @property
    def places(self) -> tuple[int, ...]:
        """Where the polynomial has the mask's parts and the random ones, away from the silos' own points."""
        return tuple(range(self.silos, self.silos + self.answers))


@dataclass(frozen=True, slots=True)
class Silo:
    """An honest silo: what it uploaded, and the coded pieces that it holds, by the silo they came from."""

    point: int
    upload: Field
    held: dict[int, Field]

    def answer(self, survivors: Sequence[int]) -> Field:
        """Returns the sum of the pieces of these silos' masks: once a round, whatever set it is told."""
        return sum((self.held[one] for one in survivors), np.zeros_like(self.held[0])) % PRIME


def offline(terms: Terms, inputs: Sequence[Field], rng: np.random.Generator) -> list[Silo]:
    """Draws all masks, shares them, and uploads the masked inputs, as the protocol says."""
    length = len(inputs[0]) // terms.pieces
    coded: list[list[Field]] = []
    uploads = []
    for secret in inputs:
        parts = [random_vector(rng, length) for _ in range(terms.answers)]
        mask = np.concatenate(parts[: terms.pieces])
        uploads.append((secret + mask) % PRIME)
        coded.append([value(terms.places, parts, point) for point in range(terms.silos)])
    return [
        Silo(point, uploads[point], {one: coded[one][point] for one in range(terms.silos)})
        for point in range(terms.silos)
    ]


def opened(terms: Terms, asked: Sequence[Silo], survivors: Sequence[int]) -> Field:
    """Returns the sum of the survivors' masks from the answers of U silos."""
    points, answers = [silo.point for silo in asked], [silo.answer(survivors) for silo in asked]
    return np.concatenate([value(points, answers, place) for place in terms.places[: terms.pieces]])


def stolen(terms: Terms, silos: Sequence[Silo], victim: int) -> Field:
    """Returns one silo's input, from two sums of masks that each silo answered once for."""
    everybody = tuple(range(terms.silos))
    others = tuple(one for one in everybody if one != victim)
    first, second = silos[: terms.answers], silos[terms.answers : 2 * terms.answers]
    mask = opened(terms, first, everybody) - opened(terms, second, others)
    return (silos[victim].upload - mask) % PRIME


def main() -> None:
    """Prints what docs/adr/0044 shows."""
    rng = np.random.default_rng(1)
    terms = Terms(silos=10, answers=5, colluding=2)
    inputs = [rng.integers(0, 100, 6, dtype=np.int64) for _ in range(terms.silos)]
    silos = offline(terms, inputs, rng)
    masks = opened(terms, silos[:5], tuple(range(10)))
    total = (sum(silo.upload for silo in silos) - masks) % PRIME
    print(f"an honest server opens the sum: {bool((total == sum(inputs)).all())}")
    print(f"input of silo 3:                         {inputs[3].tolist()}")
    print(f"the server, having named two sets, reads {stolen(terms, silos, victim=3).tolist()}")


if __name__ == "__main__":
    main()
