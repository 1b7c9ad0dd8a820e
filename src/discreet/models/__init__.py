"""Model factories, flat parameters, convexity facts and the checks a model must pass."""

from discreet.models.answers import Answers
from discreet.models.build import build_model, count_weights
from discreet.models.checks import looks_up
from discreet.models.class_texts import head_of_texts
from discreet.models.convexity import LinearHead, OrdinalHead, convexity
from discreet.models.described import described
from discreet.models.joint import JointLabels, labels_of
from discreet.models.parameters import (
    flatten,
    load_flat,
    load_tensors,
    model_file,
    read_model_file,
    trainable,
)

__all__ = [
    "Answers",
    "JointLabels",
    "LinearHead",
    "OrdinalHead",
    "build_model",
    "convexity",
    "count_weights",
    "described",
    "flatten",
    "head_of_texts",
    "labels_of",
    "load_flat",
    "load_tensors",
    "looks_up",
    "model_file",
    "read_model_file",
    "trainable",
]
