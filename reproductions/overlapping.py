"""Data sources whose silos overlap: each holds a tenth of the images, drawn anew; for configs by name.

`discreet.data` deals every record to one silo, as in life. The paper of `p2-silos` draws a tenth of the
images for each of up to a hundred silos. Here the images are shuffled and cut into ten, again and again, so
that every image is in a tenth of the silos.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from discreet.data import Federation, Records, Silo, scale_to_norm, with_constant
from discreet.randomness import SeededRandom
from local_dp import FEATURE_NORM

FILE_VARIABLE = "DISCREET_OVERLAPPING"
_PARTS = 10


def overlapping(silos: int, *, test_fraction: float, split_seed: int) -> Federation:  # noqa: ARG001
    """Returns ``silos`` silos over the images, or their features, in the file ``$DISCREET_OVERLAPPING``.

    The file's own test images are the test records, dealt out one by one.
    """
    with np.load(Path(os.environ[FILE_VARIABLE]), allow_pickle=False) as arrays:
        train, labels = arrays["x_train"], arrays["y_train"]
        test, test_labels = arrays["x_test"], arrays["y_test"]
    samples = deals(len(labels), silos, SeededRandom(split_seed).derive("overlapping"))
    parts = [
        Silo(
            f"silo-{number:03d}",
            train=records(train[rows], labels[rows]),
            test=records(test[number::silos], test_labels[number::silos]),
        )
        for number, rows in enumerate(samples)
    ]
    shape = parts[0].train.features.shape[1:]
    return Federation(f"{silos} overlapping silos", tuple(parts), num_classes=10, feature_shape=shape)


def deals(count: int, silos: int, randomness: SeededRandom) -> list[npt.NDArray[np.int64]]:
    """Cuts fresh shuffles of ``count`` records into ten parts until every silo has one."""
    shuffles = -(-silos // _PARTS)
    rows = [
        part for number in range(shuffles)
        for part in np.array_split(randomness.derive(number).permutation(count), _PARTS)
    ]  # fmt: skip
    return rows[:silos]


def records(
    features: npt.NDArray[np.uint8] | npt.NDArray[np.float16], labels: npt.NDArray[np.uint8]
) -> Records:
    """Bytes of images from 0 to 1; scattering features flat with a constant, at the norm they have anyway."""
    if features.dtype == np.uint8:
        return Records(features.astype(np.float32) / np.float32(255.0), labels.astype(np.int64))
    scaled = scale_to_norm(with_constant(features.astype(np.float64)), FEATURE_NORM)
    return Records(scaled, labels.astype(np.int64))


silos_10, silos_25 = partial(overlapping, 10), partial(overlapping, 25)
silos_50, silos_100 = partial(overlapping, 50), partial(overlapping, 100)
