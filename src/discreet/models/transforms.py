"""Public transforms of a whole federation by a fixed feature map; the config's key ``data.transform``."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from discreet.arrays import Float32s
from discreet.data import Federation
from discreet.data.feature_cache import FeatureCache
from discreet.data.map_answers import MapAnswers, is_own, require_planned_map
from discreet.data.transform import CHUNK, mapped, mapped_records
from discreet.errors import ConfigurationError
from discreet.models.features import FeatureMap, centred_pixels, normalised_scattering, scattering_maps
from discreet.models.frozen_map import FrozenMap
from discreet.models.map_alike import require_map_alike
from discreet.models.own_map import OwnMap
from discreet.models.public_weights import PublicWeights
from discreet.models.residual import FrozenResidual
from discreet.models.threads import PIECE, one_thread
from discreet.version import __version__

_NORM_BOUND = 1.0
_FEATURE_MAPS: dict[str, FeatureMap] = {
    "scattering": normalised_scattering,
    "centred-pixels": centred_pixels,
}


def transformed(
    federation: Federation,
    transform: str,
    norm_bound: float | None,
    weights: PublicWeights | None = None,
    cache: Path | None = None,
    *,
    require_answers: Callable[[MapAnswers], None] | None = None,
) -> Federation:
    """Returns the federation with every record mapped.

    Args:
        federation: images, or records of the shape that a map of the user's own takes.
        transform: a known map, ``residual:FILE`` for the last layer of a network, ``map:module:function``, or
            ``onnx:FILE`` or ``network:module:factory`` for a frozen network.
        norm_bound: that features are scaled to, 1 if None; networks on top of maps have none.
        weights: the public weights of a network, which a map by a network needs.
        cache: folder where a silo keeps the features that a network with stated weights made.
        require_answers: raises for the answers of another map than was planned; asked before a record is
            mapped, or its features are looked for in the cache.

    Raises:
        ConfigurationError: if the map cannot be applied.
        PrivacyRefusal: if this machine's kernels let a record's features depend on others.
    """
    found, bound = _map_and_bound(transform, norm_bound, federation.feature_shape, weights)
    if not isinstance(found, OwnMap | FrozenMap):  # which hear of one record at a time
        rows = CHUNK if found is centred_pixels else PIECE
        require_map_alike(transform, found, rows, federation.feature_shape)
    answers = _answers(found, federation.feature_shape) if is_own(transform) else None
    if answers is not None and require_answers is not None:
        require_answers(answers)
    kept = None
    if cache is not None and isinstance(found, FrozenMap):
        kept = FeatureCache(cache, f"{found.made_of} {answers} {bound!r} {__version__}")
    made = mapped(federation, found, bound, kept)
    return dataclasses.replace(made, warnings=(*made.warnings, *_unusable(found)), map_answers=answers)


@dataclass(frozen=True, slots=True)
class PublicMap:
    """A config's feature map for records outside of its federation: what it gives them, `transformed` would.

    Attributes:
        transform: as of `transformed`.
        norm_bound: likewise.
        weights: likewise.
        stated: what the map must answer to public records; None where no plan says it.
    """

    transform: str
    norm_bound: float | None
    weights: PublicWeights | None = None
    stated: MapAnswers | None = None
    _built: dict[tuple[int, ...], tuple[FeatureMap, float | None]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def features(self, records: Float32s) -> Float32s:
        """Returns the features of records.

        Raises:
            ConfigurationError: if the map cannot be applied.
        """
        return mapped_records(records, *self.of(records.shape[1:]))

    def of(self, shape: tuple[int, ...]) -> tuple[FeatureMap, float | None]:
        """Returns the map for records of a shape, and what its features are scaled to; built once.

        Raises:
            ConfigurationError: if it cannot be built, or is another one than was planned.
        """
        if self.stated is not None and shape != self.stated.record_shape:
            raise ConfigurationError(
                f"records must have the shape of those in training, {self.stated.record_shape}; got {shape}."
            )
        if shape not in self._built:
            found, bound = _map_and_bound(self.transform, self.norm_bound, shape, self.weights)
            if self.stated is not None:
                require_planned_map(self.transform, self.stated, _answers(found, shape))
            self._built[shape] = found, bound
        return self._built[shape]

    def notes(self) -> tuple[str, ...]:
        """Returns how many records got zeros since this was asked last."""
        return tuple(note for found, _ in self._built.values() for note in _unusable(found))


def _answers(found: FeatureMap, shape: tuple[int, ...]) -> MapAnswers:
    with one_thread():
        answers = MapAnswers.of(found, shape)
    _unusable(found)  # public records are nobody's, and not counted
    return answers


def _unusable(found: FeatureMap) -> tuple[str, ...]:
    """Returns a note on records for which a map gave no features, and counts from 0 again."""
    if not (isinstance(found, OwnMap | FrozenMap) and found.unusable):
        return ()
    count, found.unusable = found.unusable, 0
    return (
        f"feature map {found.name!r}: for {count} records it raised, or gave no vector of "
        f"{found.length} numbers; their features are 0.",
    )


def _map_and_bound(
    transform: str,
    norm_bound: float | None,
    feature_shape: tuple[int, ...],
    weights: PublicWeights | None = None,
) -> tuple[FeatureMap, float | None]:
    """Returns the map that a config names, and the norm that its features are scaled to, if any."""
    if transform == "scattering-maps":
        if norm_bound is not None:
            raise ConfigurationError(
                "'data.feature_norm_bound' must be left out with scattering-maps, made for networks; got "
                f'{norm_bound}. Use transform = "scattering" for a linear head.'
            )
        return scattering_maps, None
    bound = norm_bound or _NORM_BOUND
    scheme, _, name = transform.partition(":")
    match scheme:
        case "residual" if weights is not None:
            return FrozenResidual.load(weights), bound
        case "onnx" if weights is not None:
            return FrozenMap.onnx(weights, feature_shape), bound
        case "network" if weights is not None:
            return FrozenMap.network(name, weights, feature_shape), bound
        case "map":
            return OwnMap.of(name, feature_shape), bound
        case _:
            return _FEATURE_MAPS[scheme], bound
