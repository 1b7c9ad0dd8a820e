"""The public facts of a model, read off the model itself."""

from __future__ import annotations

import torch
from torch import nn

from discreet.errors import ConfigurationError
from discreet.kinds.model_facts import ModelFacts, digest_of
from discreet.models.batch_norm import running_statistics
from discreet.models.convexity import convexity
from discreet.models.joint import labels_of
from discreet.models.parameters import flatten, frozen_digest


def described(model: nn.Module, feature_shape: tuple[int, ...]) -> ModelFacts:
    """Returns what plans state of ``model``, which has its initial weights.

    Raises:
        ConfigurationError: if it does not return one row of logits a record.
    """
    # As it was made: the pass over zeros below runs its code.
    initial, architecture, fixed = flatten(model), repr(model), frozen_digest(model)
    return ModelFacts(
        outputs=labels_of(model) or count_outputs(model, feature_shape),
        dimension=len(initial),
        batch_norm_channels=sum(tensor.numel() for tensor in running_statistics(model)) // 2,
        linear=convexity(model) is not None,
        model_digest=digest_of(architecture, initial, fixed),
    )


def count_outputs(model: nn.Module, feature_shape: tuple[int, ...]) -> int:
    """Returns the number of logits that ``model`` returns, found by a pass over two records of zeros.

    Raises:
        ConfigurationError: if the model does not return one row of logits a record.

    Example:
        >>> count_outputs(nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3)), (4,))
        3
    """
    parameter, was_training = next(model.parameters()), model.training
    model.eval()  # running statistics stay as they were made
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        outputs = model(torch.zeros(2, *feature_shape, device=parameter.device))
    model.train(was_training)
    if not (outputs.ndim == 2 and outputs.shape[0] == 2):
        raise ConfigurationError(
            "A model must return one row of logits a record, shape (2, k) for two; got "
            f"{tuple(outputs.shape)}."
        )
    return int(outputs.shape[1])
