"""From a name in the config to a model with public, reproducible initial weights."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable

import torch
from torch import nn

from discreet.errors import ConfigurationError, DiscreetError, HowTo
from discreet.kinds.model_facts import (
    LINEAR,
    ORDINAL,
    linear_outputs,
    names_own_code,
    require_classes,
)
from discreet.models import networks
from discreet.models.adapters import FineTuning
from discreet.models.batch_norm import without_counts
from discreet.models.checks import check_model, check_records_independent, looks_up
from discreet.models.convexity import LinearHead, OrdinalHead
from discreet.models.head_start import HeadStart
from discreet.models.joint import JointLabels
from discreet.models.own_code import imported

ModelFactory = Callable[[tuple[int, ...], int], nn.Module]


def linear_head(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """Logistic regression: one output for two classes, softmax for more; no bias (a constant feature is)."""
    return LinearHead(math.prod(feature_shape), linear_outputs(num_classes))


def ordinal_head(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """Cumulative logits for three classes or more, which are levels in their order; no bias."""
    return OrdinalHead(math.prod(feature_shape), num_classes)


BUNDLED: dict[str, ModelFactory] = {
    LINEAR: linear_head,
    ORDINAL: ordinal_head,
    "mlp": networks.mlp,
    "cnn-tanh": networks.cnn_tanh,
    "cnn-tanh-standardised": networks.cnn_tanh_standardised,
    "cnn-relu": networks.cnn_relu,
    "cnn-tempered-sigmoid": networks.cnn_tempered_sigmoid,
    "cnn-group-norm": networks.cnn_group_norm,
    "cnn-street": networks.cnn_street,
    "lstm": networks.lstm,
}


def build_model(
    spec: str,
    feature_shape: tuple[int, ...],
    num_classes: int,
    seed: int,
    *,
    mixes_records: bool = False,
    labels: int = 0,
    tuning: FineTuning | HeadStart | None = None,
) -> nn.Module:
    """Builds a model whose initial weights are a function of ``seed`` and of public weights alone.

    Guarantee:
        The initial weights depend on the arguments only, never on data, and torch's global generator is
        left as it was. The model has passed `check_model`.

    Args:
        spec: a bundled name, or ``module:factory`` for a user's ``factory(feature_shape, num_classes)``.
        feature_shape: shape of one record's features, without the batch dimension.
        num_classes: number of label values.
        seed: public seed of the initial weights.
        mixes_records: whether batch norm may mix records, as in `check_model`.
        labels: how many labels with two values a record has, whose combinations are the classes; the factory
            makes a logit for each. 0 where it has one label.
        tuning: what of it is trained, and the public weights of the rest; or where a linear head begins. None
            trains what the factory says, from where it says.

    Raises:
        ConfigurationError: for an unknown name, a factory that cannot be imported, a refused model, or public
            weights that do not fit.

    Example:
        >>> build_model("logistic", (14,), 2, seed=0).weight.shape
        torch.Size([1, 14])
    """
    require_classes(num_classes)
    factory = _factory(spec)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _made(factory, spec, feature_shape, num_classes, labels)
        if tuning is not None and isinstance(model, nn.Module):
            tuning.apply(model)
        probe = torch.rand(3, *feature_shape)
    if not isinstance(model, nn.Module):
        raise ConfigurationError(
            f"Factory {spec!r} must return a torch.nn.Module; got {type(model).__name__}.",
            see=HowTo.OWN_MODEL,
        )
    model = JointLabels(model, labels) if labels else model
    check_model(without_counts(model), mixes_records=mixes_records)
    try:
        check_records_independent(model, probe)
    except (RuntimeError, IndexError) as error:
        knob = "Use a model that fits."
        if looks_up(model):
            knob = "Features are float32: call .long() before nn.Embedding, and set pixels = false for bytes."
        raise ConfigurationError(
            f"Model {spec!r} cannot take features of shape {feature_shape}: {error}. {knob}",
            see=HowTo.OWN_MODEL,
        ) from error
    return model


def count_weights(spec: str, feature_shape: tuple[int, ...], num_classes: int, labels: int = 0) -> int | None:
    """Returns the number of trainable weights of a bundled model, without making them; None for another.

    Raises:
        ConfigurationError: if the model cannot take features of this shape.
    """
    if spec not in BUNDLED:
        return None
    with torch.device("meta"):
        made = _made(BUNDLED[spec], spec, feature_shape, num_classes, labels)
    return sum(weight.numel() for weight in made.parameters() if weight.requires_grad)


def _made(
    factory: ModelFactory, spec: str, feature_shape: tuple[int, ...], num_classes: int, labels: int
) -> nn.Module:
    """Calls a factory; a shape that it cannot make a model for is the caller's mistake."""
    try:
        if labels and spec == LINEAR:
            return LinearHead(math.prod(feature_shape), labels)
        return factory(feature_shape, labels or num_classes)
    except (RuntimeError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        if isinstance(error, DiscreetError):
            raise
        raise ConfigurationError(
            f"Model {spec!r} cannot be made for features of shape {feature_shape} and {num_classes} classes: "
            f"{error}. Use a model that fits.",
            see=HowTo.OWN_MODEL,
        ) from error


def _factory(spec: str) -> ModelFactory:
    if names_own_code(spec):
        return imported(spec, "model factory")
    if spec in BUNDLED:
        return BUNDLED[spec]
    near = difflib.get_close_matches(spec, BUNDLED, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ConfigurationError(
        f"Model must be one of {', '.join(sorted(BUNDLED))} or 'module:factory'; got {spec!r}.{hint}"
    )
