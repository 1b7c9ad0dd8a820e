"""What `p2-grid` and `p2-silos` share: private SGD in every silo, and scattering features made once."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from discreet.accounting import Rdp, calibrate, epsilon
from discreet.models.features import normalised_scattering
from discreet.models.scattering import Scattering
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release, Repeated

DELTA = 1e-5
NETWORKS = {
    "CNN+RL": "cnn-relu",
    "CNN+TS": "cnn-tempered-sigmoid",
    "SN+Lin": "logistic",
    "SN+CNN": "cnn-group-norm",
}
# Our notes on the paper give no batch size: these meet its numbers without privacy (p2-fedavg/README.md).
BATCHES = {"CNN+RL": 128, "CNN+TS": 24, "SN+Lin": 50, "SN+CNN": 50}
# 50 is what CNN+TS suggests with privacy, 250 was chosen on training images held out (p2-grid/README.md).
SMALL_BATCH = 50
LARGE_BATCH = 250
# The norm of features that are normalised in groups, sqrt(3969): "not scaled" in the paper's words.
FEATURE_NORM = 63.0
_CHUNK = 2000


@dataclass(frozen=True)
class Schedule:
    """E epochs a round for R rounds, in batches of an expected size, by silos of so many records."""

    epochs: int
    rounds: int
    batch: int
    records: int

    @property
    def steps(self) -> int:
        """Local steps a round."""
        return self.epochs * self.records // self.batch

    def event(self, multiplier: float, *, silos: int = 1) -> Repeated:
        """All steps of ``silos`` silos, whose noise is ``multiplier`` times the clip norm."""
        release = Release(GaussianNoise(multiplier), 1.0, 1, PoissonSampling(self.batch / self.records))
        return Repeated(release, silos * self.steps * self.rounds)

    def changes(self) -> dict[str, Any]:
        """The paper's optimiser: rate 0.3 a mean gradient, momentum 0.5, one Poisson batch a step."""
        return {
            "training.rounds": self.rounds,
            "training.local": {
                "kind": "noisy-steps",
                "learning_rate": 0.3 / self.batch,
                "steps": self.steps,
                "momentum": 0.5,
            },
            "training.sampling": {"kind": "poisson", "probability": self.batch / self.records},
        }


@dataclass(frozen=True)
class PaperNoise:
    """The noise behind the paper's ε, which its library accounts for by Rényi orders, and what it costs.

    Attributes:
        stated: the paper's ε.
        multiplier: noise over clip norm that Rényi accounting asks for.
        epsilon: what that noise costs by tight accounting; below ``stated``.
    """

    stated: float
    multiplier: float
    epsilon: float

    @property
    def note(self) -> str:
        """In words."""
        return f"noise multiplier {self.multiplier:.4f}, by tight accounting ε = {self.epsilon:.3f}"


@cache
def paper_noise(stated: float, schedule: Schedule) -> PaperNoise:
    """Returns the noise that Rényi accounting asks for at ε = ``stated`` and δ = 1e-5."""
    multiplier = calibrate(
        schedule.event, epsilon=stated, delta=DELTA, lower=0.1, upper=10.0, accountant=Rdp()
    )
    return PaperNoise(stated, multiplier, epsilon(schedule.event(multiplier), delta=DELTA).epsilon)


def scattered(source: Path, cache: Path | None) -> Path:
    """Returns a file of every image's scattering features in half precision; kept in ``cache``, if given."""
    folder = Path(tempfile.mkdtemp()) if cache is None else cache
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"scattering-{source.name}"
    if not path.exists():
        with np.load(source, allow_pickle=False) as arrays:
            parts = {f"y_{part}": arrays[f"y_{part}"] for part in ("train", "test")}
            parts |= {f"x_{part}": features(arrays[f"x_{part}"]) for part in ("train", "test")}
        unfinished = path.with_suffix(".unfinished.npz")
        np.savez(unfinished, **parts)
        unfinished.rename(path)
    return path


def features(images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float16]:
    """Depth 2, 8 rotations, normalised per image in groups of three channels: shape ``(n, 81, 7, 7)``."""
    made = [
        normalised_scattering(images[first : first + _CHUNK].astype(np.float32) / 255.0).astype(np.float16)
        for first in range(0, len(images), _CHUNK)
    ]
    shape = Scattering().output_shape(images.shape[1:])
    return np.concatenate(made).reshape(-1, *shape)
