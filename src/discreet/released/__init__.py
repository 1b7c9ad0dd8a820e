"""What a training released, used: prediction, evaluation, export, a model card; from the model file alone."""

from discreet.released.card import model_card
from discreet.released.files import require_new, write_new
from discreet.released.load import build_network, load_model
from discreet.released.model import Model
from discreet.released.pipeline import sklearn_file
from discreet.released.programs import onnx_program, torch_program, weights_file
from discreet.released.public_map import public_map
from discreet.released.scores import Evaluated, Scores, evaluate_file, score_file

__all__ = [
    "Evaluated",
    "Model",
    "Scores",
    "build_network",
    "evaluate_file",
    "load_model",
    "model_card",
    "onnx_program",
    "public_map",
    "require_new",
    "score_file",
    "sklearn_file",
    "torch_program",
    "weights_file",
    "write_new",
]
