"""The feature map of a released model; where it is a public network, only with that network's own weights."""

from __future__ import annotations

from pathlib import Path, PurePath

from discreet.data.map_answers import is_own, unplanned
from discreet.errors import ConfigurationError
from discreet.models.public_weights import PublicWeights, agreed_file
from discreet.models.transforms import PublicMap
from discreet.plan import Plan

_NETWORKS = ("network", "onnx", "residual")


def of_a_network(plan: Plan) -> bool:
    """Says whether a public network makes a plan's features, whose weights no released model holds."""
    return (plan.data.transform or "").partition(":")[0] in _NETWORKS


def public_map(plan: Plan, weights: str | Path | None, *, own_code: bool) -> PublicMap | None:
    """Returns what makes a plan's features; None where nothing does, or a network without given weights.

    Args:
        plan: of the model.
        weights: the file of the network's public weights, which is read and hashed.
        own_code: whether a network that is not bundled may be imported.

    Raises:
        ConfigurationError: if the plan has no such network, its code is not to be imported, the file is
            another one than the plan names, or the network answers public records otherwise than it says.
    """
    data = plan.data
    if data.transform is None or not of_a_network(plan):
        if weights is not None:
            raise ConfigurationError(
                "the public weights of a feature network (--weights) must be left out: no such network makes "
                "the features of this model, and its file holds all of its own weights."
            )
        return None if data.transform is None else _planned(plan, None)
    if weights is None:
        return None
    if data.transform.startswith("network:") and not own_code:
        raise ConfigurationError(
            f"the feature network must be imported by your leave; the plan names {data.transform!r}. Open "
            "it with own_code=True (--own-code) if you trust it."
        )
    made = _planned(plan, agreed_weights(plan, Path(weights)))
    if made.stated is not None:
        made.of(made.stated.record_shape)  # refused when it is opened, and not with the first record
    return made


def _planned(plan: Plan, weights: PublicWeights | None) -> PublicMap:
    transform, stated = str(plan.data.transform), plan.facts.map_answers
    if stated is None and is_own(transform):
        raise unplanned(transform)
    return PublicMap(transform, plan.data.feature_norm_bound, weights, stated)


def agreed_weights(plan: Plan, path: Path) -> PublicWeights:
    """Returns a file of the weights of a plan's feature network, once it is the one that the plan names.

    Raises:
        ConfigurationError: if it is another, or the plan names none.
    """
    stated = plan.data.pretrained
    if stated is None:
        raise ConfigurationError(
            f"the plan must state the SHA-256 of the weights of {plan.data.transform!r}, by which a file is "
            "told from others; it states none. Train with [data.pretrained]."
        )
    return agreed_file(path, weights_name(plan), stated.sha256)


def weights_name(plan: Plan) -> str:
    """Returns the name of the file of a plan's feature network."""
    stated = plan.data.pretrained
    named = (stated.file if stated is not None else None) or (plan.data.transform or "").partition(":")[2]
    return PurePath(named).name


def no_weights_given(plan: Plan) -> ConfigurationError:
    """Returns the refusal to read records without the weights of the plan's feature network."""
    stated = plan.data.pretrained
    which = weights_name(plan) + ("" if stated is None else f", SHA-256 {stated.sha256}")
    imports = (plan.data.transform or "").startswith("network:")
    code = ", and own_code=True to load_model or open_run (--own-code)" * imports
    return ConfigurationError(
        "the public weights that made the features must be given to read records; none are. Give "
        f"weights=FILE to load_model, or to predict of a run (--weights FILE){code}: {which}. Or give arrays "
        f"of shape {plan.facts.feature_shape}, features of {plan.data.transform!r} with a constant 1 behind "
        "them, scaled to the plan's norm bound."
    )
