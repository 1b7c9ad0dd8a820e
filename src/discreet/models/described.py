"""The public facts of a model, read off the model itself."""

from __future__ import annotations

from torch import nn

from discreet.kinds.model_facts import ModelFacts, digest_of
from discreet.models.batch_norm import running_statistics
from discreet.models.convexity import convexity
from discreet.models.outputs import count_outputs
from discreet.models.parameters import flatten


def described(model: nn.Module, feature_shape: tuple[int, ...]) -> ModelFacts:
    """Returns what plans state of ``model``, which has its initial weights.

    Raises:
        ConfigurationError: if it does not return one row of logits a record.
    """
    # As it was made: the pass over zeros below runs its code.
    initial, architecture = flatten(model), repr(model)
    return ModelFacts(
        outputs=count_outputs(model, feature_shape),
        linear=convexity(model) is not None,
        dimension=len(initial),
        model_digest=digest_of(architecture, initial),
        batch_norm_channels=sum(tensor.numel() for tensor in running_statistics(model)) // 2,
    )
