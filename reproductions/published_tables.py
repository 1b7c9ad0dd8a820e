r"""Three statements of "Optimal Strategies for Federated Learning" (anonymous) against its own tables.

Run: python reproductions/published_tables.py

The tables are those that `p2-grid` and `p2-silos` compare with. R rounds of E epochs, E·R = T = 20; k silos.
"""

from __future__ import annotations

from pathlib import Path

from discreet.models import build_model, flatten
from reproducing import Scale, find

ROOT = Path(__file__).parent
EPOCHS = 20
SCHEDULES = ((1, 20), (2, 10), (4, 5), (5, 4), (10, 2), (20, 1))
SILOS = (10, 25, 50, 100)


def published(name: str) -> dict[str, float]:
    """Returns the paper's numbers by cell, as a reproduction holds them."""
    cells = find(ROOT, name).expectations.cells[Scale.FULL]
    return {cell: target.published for cell, target in cells.items() if target.published is not None}


def summed_bounds(constant: float = 1.0) -> list[float]:
    """Returns the damage that Theorem 2 bounds by E·c in one round, summed over the R rounds there are."""
    return [epochs * constant * rounds for epochs, rounds in SCHEDULES]


def errors_by_silos() -> list[float]:
    """Returns the printed errors (%) of SN+Lin on MNIST over the number of silos."""
    table = published("p2-silos")
    return [100.0 - table[f"MNIST, SN+Lin, k = {silos}"] for silos in SILOS]


def weights() -> dict[str, int]:
    """Returns how many weights the two models have: a linear one on scattering features, and the network."""
    shapes = {"SN+Lin": ("logistic", (81, 7, 7)), "CNN+TS": ("cnn-tempered-sigmoid", (28, 28))}
    return {
        name: len(flatten(build_model(model, shape, 10, seed=0))) for name, (model, shape) in shapes.items()
    }


def main() -> None:
    """Prints what docs/claims.md shows."""
    table = published("p2-grid")
    print("Theorem 2, E = 1 is optimal: its bound over all rounds, by (E, R), in units of its constant")
    bounds = zip(SCHEDULES, summed_bounds(), strict=True)
    print("  " + ", ".join(f"({epochs}, {rounds}): {bound:g}" for (epochs, rounds), bound in bounds))
    first, other = (table[f"MNIST, ε = 2.93, ({cell}), SN+Lin"] for cell in ("1, 20", "4, 5"))
    print(f"  SN+Lin on MNIST, as printed: {other} % at (4, 5), {first} % at (1, 20)")
    errors = errors_by_silos()
    falling = ", ".join(f"{errors[0] * SILOS[0] / silos:.2f}" for silos in SILOS)
    print(f"Theorem 3, utility 1 - O(1/k), k = {', '.join(map(str, SILOS))}: errors like 1/k, {falling} %")
    print(f"  as printed: {', '.join(f'{error:.2f}' for error in errors)} %")
    found = weights()
    print(f"'few parameters': SN+Lin has {found['SN+Lin']:,} weights, CNN+TS {found['CNN+TS']:,}")


if __name__ == "__main__":
    main()
