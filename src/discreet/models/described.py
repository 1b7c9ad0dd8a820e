"""The public facts of a model, read off the model itself."""

from __future__ import annotations

from torch import nn

from discreet.kinds.model_facts import ModelFacts, digest_of
from discreet.models.convexity import convexity
from discreet.models.outputs import count_outputs
from discreet.models.parameters import flatten


def described(model: nn.Module, feature_shape: tuple[int, ...]) -> ModelFacts:
    """Returns what plans state of ``model``, which has its initial weights.

    Raises:
        ConfigurationError: if it does not return one row of logits a record.
    """
    initial = flatten(model)
    return ModelFacts(
        dimension=len(initial),
        model_digest=digest_of(repr(model), initial),
        outputs=count_outputs(model, feature_shape),
        linear=convexity(model) is not None,
    )
