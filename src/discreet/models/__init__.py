"""Model factories, flat parameters, convexity facts and the checks a model must pass."""

from discreet.models.build import build_model, count_weights
from discreet.models.capped import Capped
from discreet.models.checks import check_model
from discreet.models.convexity import BinaryLogistic, ConvexHead, LinearHead, Softmax, convexity
from discreet.models.parameters import flatten, load_flat, model_file, trainable

__all__ = [
    "BinaryLogistic",
    "Capped",
    "ConvexHead",
    "LinearHead",
    "Softmax",
    "build_model",
    "check_model",
    "convexity",
    "count_weights",
    "flatten",
    "load_flat",
    "model_file",
    "trainable",
]
