"""Public transforms of a whole federation by a fixed feature map; the config's key ``data.transform``."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.data import Federation
from discreet.data.transform import mapped
from discreet.errors import ConfigurationError
from discreet.models.features import FeatureMap, centred_pixels, normalised_scattering, scattering_maps
from discreet.models.residual import FrozenResidual

_NORM_BOUND = 1.0
_FEATURE_MAPS: dict[str, FeatureMap] = {
    "scattering": normalised_scattering,
    "centred-pixels": centred_pixels,
}


def transformed(federation: Federation, transform: str, norm_bound: float | None) -> Federation:
    """Returns the federation with every record mapped.

    Args:
        federation: images.
        transform: a known map, or ``residual:FILE`` for the last layer of a network.
        norm_bound: that features are scaled to, 1 if None; networks on top of maps have none.

    Raises:
        ConfigurationError: if the map cannot be applied.
    """
    if transform == "scattering-maps":
        if norm_bound is not None:
            raise ConfigurationError(
                "'data.feature_norm_bound' must be left out with scattering-maps, made for networks; got "
                f'{norm_bound}. Use transform = "scattering" for a linear head.'
            )
        return mapped(federation, scattering_maps, norm_bound=None)
    return mapped(federation, _linear_features(transform), norm_bound or _NORM_BOUND)


def _linear_features(transform: str) -> FeatureMap:
    """Returns the map that makes features for a linear head: a known one, or a network's last layer."""
    scheme, colon, path = transform.partition(":")
    return FrozenResidual.load(Path(os.path.expandvars(path))) if colon else _FEATURE_MAPS[scheme]
