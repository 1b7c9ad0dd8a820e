"""One silo's whole way from update to integers: rotate, scale, round, add noise."""

from __future__ import annotations

import numpy as np

from discreet.arrays import Floats, Integers
from discreet.encoding.codec import check_rotation, check_update, encode
from discreet.encoding.grid import Grid
from discreet.encoding.rotation import Rotation
from discreet.errors import ConfigurationError
from discreet.mechanisms import add_share, round_with_noise, sample_share
from discreet.privacy.events import IntegerNoise, RoundedGaussianNoise
from discreet.randomness import RandomSource


def noisy_integers(
    update: Floats,
    grid: Grid,
    law: IntegerNoise,
    randomness: RandomSource,
    rotation: Rotation | None = None,
    *,
    workers: int = 1,
) -> Integers:
    """Returns one silo's update in grid units with one share of ``law``, in the order that the grid names.

    Guarantee:
        Moving the update by the planned sensitivity moves what the noise hides by at most
        ``grid.l2_sensitivity``, but for ``grid.rounding_failure_prob``. Beside the update there are never
        more than two other vectors of its length: the integers and, if the grid is rotated, a rotated copy.

    Args:
        update: real units, shape ``(grid.dimension,)``, norm at most ``grid.silo_bound``.
        grid: the plan's grid.
        law: the planned noise; one share of it is drawn.
        randomness: secret, fresh; the dither and the noise have sources of their own.
        rotation: the round's public rotation, exactly if ``grid.rotated``.
        workers: threads for the noise; changes the speed only.

    Raises:
        ConfigurationError, PrivacyViolation: as `encode`; also if the noise must come first and is not a
            rounded Gaussian.
    """
    if not grid.noise_first:
        values = signal_integers(update, grid, randomness, rotation)
        add_share(values, law, _noise_source(randomness), workers=workers)
        return values
    return rounded_signal(signal_reals(update, grid, rotation), law, randomness, workers=workers)


def signal_integers(
    update: Floats, grid: Grid, randomness: RandomSource, rotation: Rotation | None = None
) -> Integers:
    """Returns the rounded update before noise is added, for a grid whose noise comes after rounding.

    Args:
        update: real units, shape ``(grid.dimension,)``.
        grid: the plan's grid.
        randomness: as given to `noisy_integers`; if it is seeded, the dither is the same.
        rotation: the round's public rotation, exactly if ``grid.rotated``.

    Raises:
        ConfigurationError, PrivacyViolation: as `encode`.
    """
    return encode(update, grid, randomness.derive("dither"), rotation)


def signal_reals(update: Floats, grid: Grid, rotation: Rotation | None = None) -> Floats:
    """Returns the update before noise is added, for a grid whose noise comes before rounding: grid units.

    Args:
        update: real units, shape ``(grid.dimension,)``.
        grid: the plan's grid.
        rotation: the round's public rotation, exactly if ``grid.rotated``.

    Raises:
        ConfigurationError, PrivacyViolation: as `encode`, but not for the order of noise and rounding.
    """
    check_update(update, grid)
    check_rotation(grid, rotation)
    real = np.array(update, dtype=np.float64) if rotation is None else rotation.forward(update)
    real *= grid.scale
    return real


def rounded_signal(
    real: Floats, law: IntegerNoise, randomness: RandomSource, *, workers: int = 1
) -> Integers:
    """Adds one share of real noise to `signal_reals` and rounds; the result overwrites their memory.

    Args:
        real: grid units.
        law: the planned noise.
        randomness: as given to `noisy_integers`; if it is seeded, the noise is the same.
        workers: threads for the noise; changes the speed only.

    Raises:
        ConfigurationError: if the law is not a rounded Gaussian.
    """
    if not isinstance(law, RoundedGaussianNoise):
        raise ConfigurationError(
            f"noise that comes before rounding must be a rounded Gaussian; got {type(law).__name__}. "
            "Plan the grid with noise_first=False."
        )
    return round_with_noise(real, law, _noise_source(randomness), workers=workers)


def noise_integers(law: IntegerNoise, size: int, randomness: RandomSource) -> Integers:
    """Returns the noise that `noisy_integers` adds from the same seeded source, shape ``(size,)``."""
    return sample_share(law, size, _noise_source(randomness))


def _noise_source(randomness: RandomSource) -> RandomSource:
    """Returns the source of a contribution's noise, independent of its dither."""
    return randomness.derive("noise")
