"""The public network that made a model's features, as a part of what is exported: of torch, or of ONNX."""

from __future__ import annotations

import math
import warnings
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from discreet.arrays import Float32s
from discreet.data.map_answers import unplanned
from discreet.data.transform import mapped_records
from discreet.errors import ConfigurationError
from discreet.models.frozen_map import FrozenMap
from discreet.models.onnx_file import LARGEST, checked_model
from discreet.models.public_weights import PublicWeights
from discreet.models.residual import FrozenResidual
from discreet.released.model import Model
from discreet.released.public_map import of_a_network
from discreet.released.scorer import Mapped

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

_INNER = "features/"
_TOLERANCE = 1e-4
_SCALES = (1.0, 0.25, 1e-3)
_MORE_SCALES = (*_SCALES, -1.0, 30.0, 0.0)
_SCORES_APART, _FEATURES_APART = 1e-5, 1e-4


class _Residual(nn.Module):
    def __init__(self, found: FrozenResidual) -> None:
        super().__init__()
        self.found = found

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.found.features(images)


def is_composed(model: Model) -> bool:
    """Says whether a public network made the features of a model, and is here."""
    return model.maps is not None and of_a_network(model.plan)


def of_onnx(model: Model) -> bool:
    """Says whether that network is an ONNX file."""
    return is_composed(model) and str(model.plan.data.transform).startswith("onnx:")


def torch_map(model: Model) -> Mapped:
    """Returns the public network as a module for a batch of records, which answers as it does for each alone.

    Args:
        model: with its public network.

    Raises:
        ConfigurationError: if the network is no module of torch, or it answers a record otherwise among
            others, which was tried on public ones.
    """
    no_module = ConfigurationError(
        "a torch program must be made of torch modules; the features of this model are made by an ONNX file. "
        "Export it with --onnx."
    )
    if of_onnx(model) or model.maps is None:
        raise no_module
    shape = _record_shape(model)
    found, bound = model.maps.of(shape)
    match found:
        case FrozenResidual():
            network: nn.Module = _Residual(found)
        case FrozenMap(module=nn.Module() as network):
            pass
        case _:
            raise no_module
    made, probe = Mapped(network, shape, bound or 1.0).eval(), _public(shape, _SCALES)
    try:
        with torch.no_grad():
            together = made(torch.from_numpy(probe)).numpy()
        alike = np.allclose(together, mapped_records(probe, found, bound), rtol=0.0, atol=_TOLERANCE)
    except Exception:  # of the user's own network
        alike = False
    if not alike:
        raise ConfigurationError(
            f"the feature network {model.plan.data.transform!r} must answer records of a batch as it answers "
            "each alone to be a part of a program; it does not. Load the model with discreet.load_model."
        )
    return made


def onnx_map(model: Model, opset: int, target: str) -> tuple[list[Any], list[NodeProto]]:
    """Returns the ONNX file of a model's features as a step over records, each in a call of its own.

    Args:
        model: with its public network.
        opset: the version of the operators.
        target: what to call the features, shape ``(n, d)``.

    Returns:
        The input of records, and the nodes that make features of them; what is not finite counts as 0.

    Raises:
        ConfigurationError: if the records are rows of a table, or the file cannot be made one of ``opset``.
    """
    from onnx import TensorProto, compose, helper, numpy_helper

    weights = None if model.maps is None else model.maps.weights
    if model.rules is not None or weights is None:
        raise ConfigurationError(
            "an ONNX file of features must be of arrays to be a part of a program; this model reads tables. "
            "Load it with discreet.load_model."
        )
    inner = compose.add_prefix(_converted(weights, opset), _INNER)
    graph, (taken,) = inner.graph, _inputs(inner)
    sides = taken.type.tensor_type.shape.dim[1:]
    kind, wide = taken.type.tensor_type.elem_type, model.plan.facts.feature_shape[0] - 1
    constants = {"zero": np.float32(0.0), "axis": np.array([0]), "flat": np.array([wide])}
    nodes = [
        *(
            helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(value)))
            for name, value in constants.items()
        ),
        helper.make_node("IsNaN", ["record"], ["nan"]),
        helper.make_node("IsInf", ["record"], ["inf"]),
        helper.make_node("Or", ["nan", "inf"], ["odd"]),
        helper.make_node("Where", ["odd", "zero", "record"], ["finite"]),
        helper.make_node("Unsqueeze", ["finite", "axis"], ["alone"]),
        helper.make_node("Cast", ["alone"], [taken.name], to=kind),
        *graph.node,
        helper.make_node("Cast", [graph.output[0].name], ["found"], to=TensorProto.FLOAT),
        helper.make_node("Reshape", ["found", "flat"], ["vector"]),
    ]
    shape = [side.dim_value or f"side {place}" for place, side in enumerate(sides)]
    body = helper.make_graph(
        nodes,
        "one record",
        [helper.make_tensor_value_info("record", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("vector", TensorProto.FLOAT, [wide])],
        initializer=list(graph.initializer),
    )
    step = helper.make_node("Scan", ["features"], [target], body=body, num_scan_inputs=1)
    return [helper.make_tensor_value_info("features", TensorProto.FLOAT, ["rows", *shape])], [step]


def require_alike(model: Model, program: ModelProto) -> None:
    """Refuses a program around an ONNX file that gives public records other features or scores than we do.

    Onnx's converter of versions changes what some operators compute, such as ``Resize`` of version 10.

    Args:
        model: with its public network.
        program: what `onnx_map` is a part of.

    Raises:
        ConfigurationError: if they differ.
    """
    import onnxruntime
    from onnx import helper

    shape = _record_shape(model)
    seen = type(program)()
    seen.CopyFrom(program)
    scan = next(node for node in program.graph.node if node.op_type == "Scan")
    seen.graph.output.append(helper.make_empty_tensor_value_info(scan.output[0]))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        seen.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    odd = _public(shape, (1.0,))
    odd.flat[0] = np.nan
    if not all(_alike(model, session, one[None]) for one in (*_public(shape, _MORE_SCALES), *odd)):
        raise ConfigurationError(
            "an exported program must answer public records as the model does; this one does not, for onnx "
            "cannot put the feature network into newer operators unchanged. Load the model with "
            "discreet.load_model."
        )


def _alike(model: Model, session: Any, record: Float32s) -> bool:
    """Says whether a program gives a record the features and scores that we do; it may raise where ours does.

    Features are compared as well: a head may be so sure that scores do not show them.
    """
    finite, maps = np.nan_to_num(record, nan=0.0), model.maps
    if maps is None:
        return False
    maps.notes()
    own, _ = maps.of(record.shape[1:])
    features = np.nan_to_num(own(finite), nan=0.0, posinf=0.0, neginf=0.0)
    raised = bool(maps.notes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = model.predict(record) if model.outcome is not None else model.predict_proba(record)
    try:
        *_, scored, found = session.run(None, {"features": record})
    except Exception:  # of compiled code
        return raised
    near = _SCORES_APART * (1.0 if model.outcome is None else model.outcome.half)
    far = _FEATURES_APART * max(1.0, float(np.abs(features).max(initial=0.0)))
    return bool(
        np.allclose(scored, scores, rtol=0.0, atol=near)
        and np.allclose(np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=0.0), features, rtol=0.0, atol=far)
    )


def _inputs(model: ModelProto) -> list[Any]:
    """Returns the inputs that are not initializers."""
    held = {one.name for one in model.graph.initializer}
    return [one for one in model.graph.input if one.name not in held]


def _converted(weights: PublicWeights, opset: int) -> ModelProto:
    """Returns the file of a model's features in another version of the operators."""
    from onnx import version_converter

    name = PurePath(weights.path).name
    parsed = checked_model(weights.read(LARGEST), name)
    others = sorted({one.domain for one in parsed.opset_import} - {"", "ai.onnx"})
    used = {node.domain for node in parsed.graph.node}
    try:
        if used & set(others):
            raise ValueError(f"it has operators of {', '.join(sorted(used & set(others)))}")
        converted: ModelProto = version_converter.convert_version(parsed, opset)
    except Exception as error:  # of any kind, from compiled code
        reason = (str(error).splitlines() or [""])[0].rstrip(".")
        raise ConfigurationError(
            f"{name} must be one of operators of version {opset} to be a part of a program; {reason}. Load "
            "the model with discreet.load_model."
        ) from error
    return converted


def _record_shape(model: Model) -> tuple[int, ...]:
    """Returns the shape of a record as the network takes it."""
    answers = model.plan.facts.map_answers
    if answers is None:
        raise unplanned(str(model.plan.data.transform))
    return answers.record_shape


def _public(shape: tuple[int, ...], scales: tuple[float, ...]) -> Float32s:
    """Returns a few public records of different scales."""
    drawn = np.random.default_rng(0).uniform(size=(len(scales), math.prod(shape)))
    return (np.array(scales)[:, None] * drawn).astype(np.float32).reshape(-1, *shape)
