"""Draws docs/images/integers.svg: what fills the ring, and the noise against its law. Run from the root."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from discreet.encoding import GridRequest, plan_grid
from discreet.encoding.rotation import flattened_bound
from discreet.mechanisms import NoiseFamily, law_for, sample_share, sample_tail_bound
from discreet.privacy.events import DiscreteGaussianNoise
from discreet.randomness import SeededRandom

TARGET = Path(__file__).with_suffix(".svg")
MULTIPLIER = 2.10
BLUE, GREEN, GREY, ORANGE = "#3b6ea8", "#5a9a68", "#b8bcc2", "#d98b3a"


def ring_budget(axes: Axes) -> None:
    """Bars on a logarithmic axis: how many bits each quantity of the plan takes."""
    labels, lengths, colors = [], [], []
    for rotated in (False, True):
        request = GridRequest(
            l2_sensitivity=1.0,
            silo_bound=725.0,
            num_silos=10,
            dimension=26_010,
            rounds=20,
            noise_multiplier=MULTIPLIER,
            rotated=rotated,
        )
        grid = plan_grid(request)
        law = law_for(
            NoiseFamily.ROUNDED_GAUSSIAN, variance=(MULTIPLIER * grid.l2_sensitivity) ** 2, num_silos=10
        )
        grid = grid.with_noise(law)
        prob = grid.wrap_prob / (2 * grid.dimension * grid.rounds)
        signal = grid.num_silos * grid.silo_bound * grid.scale
        if rotated:
            signal = flattened_bound(signal, grid.dimension, prob)
        name = "rotated" if rotated else "worst case"
        rows = [
            (f"ring, {name}: {grid.bits} bits", 2.0 ** (grid.bits - 1), GREY),
            (f"sum of ten silos, {name}", signal, BLUE),
            ("noise, but for 2⁻⁴⁰", sample_tail_bound(law, prob), ORANGE),
            ("noise, one standard deviation", math.sqrt(law.variance), ORANGE),
            ("one record (L2)", grid.l2_sensitivity, GREEN),
        ]
        for label, value, color in rows:
            labels.append(label)
            lengths.append(math.log2(value))
            colors.append(color)
    places = np.concatenate([np.arange(5), np.arange(5) + 5.7])
    axes.barh(places, lengths, color=colors, height=0.75)
    axes.set_yticks(places, labels)
    axes.invert_yaxis()
    axes.set_xlabel("log₂ of the magnitude in grid units")
    axes.set_title("What fills the ring: 26,010 weights, 10 silos,\n(1, 10⁻⁵), 20 rounds", fontsize=10)
    for place, length in zip(places, lengths, strict=True):
        axes.text(length - 0.15, place, f"{length:.1f}", va="center", ha="right", color="white", fontsize=8)


def noise_against_law(axes: Axes) -> None:
    """Histogram of one share of narrow discrete Gaussian noise over its mass function."""
    stddev, count = 3.0, 100_000
    draws = sample_share(DiscreteGaussianNoise(stddev, 1), count, SeededRandom(1))
    k = np.arange(-12, 13)
    mass = np.exp(-0.5 * (k / stddev) ** 2)
    mass /= mass.sum()
    axes.bar(k, [np.mean(draws == i) for i in k], color=BLUE, width=0.85, label="100,000 draws")
    axes.plot(k, mass, "o", color=ORANGE, markersize=4, label="exact law")
    axes.set_yscale("log")
    axes.set_ylim(1e-5, 1.0)
    axes.set_xlabel("grid units")
    axes.legend(frameon=False, fontsize=8)
    axes.set_title("Discrete Gaussian, σ = 3:\nexact, tails included", fontsize=10)


def main() -> None:
    mpl.rcParams["svg.hashsalt"] = "discreet"
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=(1.35, 1))
    ring_budget(left)
    noise_against_law(right)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(TARGET, metadata={"Date": None})


if __name__ == "__main__":
    main()
