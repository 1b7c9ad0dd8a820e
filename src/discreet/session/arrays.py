"""Arrays, tensors and data sets in memory: records of any shape, with what is publicly known of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from discreet.arrays import Float32s
from discreet.config.arguments import known_fields
from discreet.data import require_held, stated_shape
from discreet.errors import ConfigurationError
from discreet.session.in_memory import InMemory, require_by_silo
from discreet.session.own_model import importable_name


@final
@known_fields
@dataclass(frozen=True, slots=True, repr=False)
class Arrays(InMemory):
    """Images, signals or other numbers of several silos in one process; for networks, and for linear models.

    Bytes are divided by 255; other numbers are taken as they are, but for one that is not finite, which is 0.
    A record whose label is none of 0, 1, … below ``num_classes`` is left out. A data set is read once, record
    by record, before the first round; a record that raises, or has another shape, is left out. All of it is
    counted for the owner.

    Guarantee:
        One record decides about no other, if a data set gives each alike whatever other records it holds.
        Random augmentation draws from one generator for all, so it does not.

    Attributes:
        silos: what each silo holds: ``(features, labels)``, both arrays of NumPy or tensors of torch; or a
            data set of such pairs with a length, as torch's map-style ones.
        num_classes: labels are below this.
        norm_bound: L2 norm that every record is scaled to, flattened and with a constant appended, as linear
            models need; left out, records keep their shape and no bound is promised. With ``features`` it is
            1 if left out, but for ``scattering-maps``.
        feature_shape: shape of one record's features; left out, that of the arrays. Data sets alone state
            none.
        test_fraction: probability that a record is held out for measurements.
        split_seed: public seed of the split.
        id: what a third member says of each record, such as ``"patient"``; records of equal id are held out
            together.
        features: a feature map: ``scattering``, ``scattering-maps`` or ``centred-pixels``; or a function of
            your own from one record, an array of the feature shape, to a vector. It is called for one record
            at a time, and on one of zeros when the plan is made. Its vectors get a constant appended and are
            scaled to the norm bound, so linear models can train on them. A record on which it raises, or
            gives another number of features, counts as zeros. That it keeps nothing from call to call, and
            that whatever it was fitted to is public, is an assumption that the guarantee names.
        pixels: whether bytes are pixels, which are divided by 255, and not numbers such as token ids; left
            out, they are taken for pixels, and whoever trains is told.

    Raises:
        ConfigurationError: if records are not given by silo, are no arrays of numbers by their types and
            shapes, or have their shape stated nowhere or in two ways; no record is read.

    Example:
        >>> import numpy as np
        >>> north, south = np.zeros((20, 8, 8)), np.zeros((30, 8, 8))
        >>> both = Arrays(
        ...     {"north": (north, np.arange(20) % 10), "south": (south, np.arange(30) % 10)}, num_classes=10
        ... )
        >>> both.public(capacity=50).feature_shape
        (8, 8)
    """

    silos: Mapping[str, Any]
    num_classes: int
    norm_bound: float | None = None
    feature_shape: Sequence[int] | None = None
    test_fraction: float = 0.25
    split_seed: int = 0
    id: str | None = None
    features: str | Callable[[Float32s], Any] | None = None
    pixels: bool | None = None

    def __post_init__(self) -> None:
        require_by_silo("silos", self.silos, "{'north': (features, labels), 'south': data_set}")
        for silo, held in self.silos.items():
            require_held(held, silo, ids=self.id is not None)
        shapes = {silo: stated_shape(held) for silo, held in self.silos.items()}
        known = {silo: shape for silo, shape in shapes.items() if shape is not None}
        if self.feature_shape is None and not known:
            raise ConfigurationError(
                "feature_shape must be given where no array states it, since no record is read for it; "
                "got None. Give, for example, feature_shape=(28, 28)."
            )
        agreed = next(iter(known.values())) if self.feature_shape is None else self.feature_shape
        agreed = tuple(agreed) if isinstance(agreed, list) else agreed
        object.__setattr__(self, "feature_shape", agreed)
        self.public(capacity=1)
        for silo, shape in known.items():
            if shape != agreed:
                raise ConfigurationError(
                    f"{silo}: every record must have the shape {agreed}; got {shape}. "
                    "Give arrays of one shape, or another feature_shape."
                )

    @property
    def by_silo(self) -> Mapping[str, Any]:
        """What each silo holds."""
        return self.silos

    def stated(self) -> Mapping[str, Any]:
        """Returns what is publicly known, as keys of the config's table ``data``."""
        return {
            "feature_shape": self.feature_shape,
            "num_classes": self.num_classes,
            "feature_norm_bound": self.norm_bound,
            "test_fraction": self.test_fraction,
            "split_seed": self.split_seed,
            "id": self.id,
            "transform": self._transform(),
            "pixels": self.pixels,
        }

    def _transform(self) -> str | None:
        if self.features is None or isinstance(self.features, str):
            return self.features
        return "map:" + importable_name(self.features, "feature map", "a function of one record")

    def __repr__(self) -> str:
        return f"Arrays({', '.join(self.silos)}; shape {self.feature_shape}, {self.num_classes} classes)"
