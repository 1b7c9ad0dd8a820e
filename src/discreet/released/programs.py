"""A model with its preprocessing as a program of torch or of ONNX, which loads without this package."""

from __future__ import annotations

import io
import json
import logging
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors.torch import save
from torch import nn

from discreet.data import TableRules
from discreet.data.columns import Days
from discreet.errors import ConfigurationError
from discreet.models.adapters import merged
from discreet.plan.uncalibrated import ENTRY
from discreet.released.feature_network import is_composed, of_onnx, onnx_map, require_alike, torch_map
from discreet.released.model import Model
from discreet.released.scorer import ArrayScorer, TableScorer, numeric_columns, text_columns

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

ABOUT = "discreet"
"""The entry of a program's metadata that says where its weights come from, as JSON."""
COLUMNS = "columns"
"""The entry of an ONNX file's metadata that says what each input holds, in order, as JSON; where records are
pixels, of a torch program's extra files too."""

_INNER, _ANSWER = "scorer/", "answer"
_OPSET, _ML_OPSET = 20, 4
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_DAY = (
    "a day as its proleptic Gregorian ordinal, the number that Python's datetime.date.toordinal gives: "
    "0001-01-01 is 1; NaN where it is missing"
)

_PIXELS = "pixels as numbers of 0 to 1: bytes divided by 255, which this program does not do"


def metadata(model: Model) -> dict[str, str]:
    """Returns what every exported form says of itself: its origin, and what is known against probabilities.

    The second entry, ``probabilities``, is left out where nothing is known.
    """
    return {ABOUT: model.origin.text(), **({ENTRY: model.caveat} if model.caveat else {})}


@dataclass(frozen=True, slots=True)
class _Traced:
    """A program of torch, and the rules of its table if it takes rows of one."""

    program: torch.export.ExportedProgram
    inputs: tuple[str, ...]
    rules: TableRules | None


def weights_file(model: Model) -> bytes:
    """Returns a safetensors file of the network's weights by its own names, low-rank updates merged.

    What made the network, without this package, loads it: ``make(…).load_state_dict(load_file(…))``.
    """
    whole = merged(model.network).state_dict()
    return save({name: tensor.contiguous() for name, tensor in whole.items()}, metadata(model))


def torch_program(model: Model) -> bytes:
    """Returns a file for `torch.export.load`; its module maps raw cells, or arrays, to answers.

    `TableScorer` and `ArrayScorer` say what it takes. The names of columns and texts, and the guarantees, are
    in the extra file ``discreet``, and what is known against probabilities, if anything is, in
    ``probabilities``. A public network that made the features is a part of it, if it is here; a record for
    which it raises, and which counts as zeros here, makes the program raise.

    Args:
        model: what is exported.

    Raises:
        ConfigurationError: if torch cannot trace the network, or that of the features is an ONNX file.
    """
    written = io.BytesIO()
    traced = _traced(model)
    extra = metadata(model) | ({} if traced.rules is not None else _told(model, traced))
    with _quiet():
        torch.export.save(traced.program, written, extra_files=extra)
    return written.getvalue()


def onnx_program(model: Model) -> bytes:
    """Returns an ONNX file; for tables it takes one input of shape ``(n, 1)`` for each raw column, by name.

    Columns of numbers are float64, NaN where one is missing, columns of texts are strings, which must be
    spelled as the plan does; the metadata's entry ``columns`` says which is which, in order. A date is the
    number that `datetime.date.toordinal` gives. Other models take ``features``; where these are pixels, as
    numbers of 0 to 1, the same entry says it. The entry ``probabilities`` says what is known against them.
    The outputs are ``label`` and
    ``probabilities``; of several labels ``labels`` and ``probabilities``, both ``(n, K)``; of a regression
    ``prediction``, of shape ``(n,)``. A public network that made the features is a part of it as in
    `torch_program`; one from an ONNX file is asked record by record, as it was in training.

    Args:
        model: what is exported.

    Raises:
        ConfigurationError: if onnx is not installed, torch cannot trace the network, ONNX has not what it
            computes, or a program around an ONNX file answers public records otherwise than the model.
    """
    try:
        import onnx
        import onnxscript  # noqa: F401 (torch's exporter needs it)
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"ONNX needs the package {error.name}; it is not installed. Run: pip install 'discreet[export]'"
        ) from None
    traced = _traced(model, by_onnx=of_onnx(model))
    with _quiet(), _one_line("ONNX cannot express the network"):
        made: Any = torch.onnx.export(
            traced.program,
            input_names=list(traced.inputs),
            output_names=[_ANSWER],
            opset_version=_OPSET,
            dynamo=True,
            verbose=False,
        )
        program = _with_cells(model, traced, made.model_proto)
        onnx.checker.check_model(program, full_check=True)
    if of_onnx(model):
        require_alike(model, program)
    return bytes(program.SerializeToString())


def _traced(model: Model, *, by_onnx: bool = False) -> _Traced:
    """Traces the model for any number of records, with low-rank updates as parts of their layers.

    What an ONNX file gives for records is the program's input, if ``by_onnx``.
    """
    model = replace(model, network=merged(model.network))
    mapped = torch_map(model) if is_composed(model) and not by_onnx else None
    # Without what makes features of rows, the program takes features.
    rules = model.rules if mapped is not None or model.plan.data.transform is None else None
    if rules is None:
        bound = model.plan.facts.feature_norm_bound if by_onnx else None
        arrays = ArrayScorer(model, mapped, of_a_map=bound)
        return _Traced(_program(arrays, torch.zeros(2, *arrays.shape)), ("features",), None)
    columns = rules.schema.columns
    numbers = torch.zeros(2, len(numeric_columns(columns)), dtype=torch.float64)
    codes = torch.zeros(2, len(text_columns(columns)), dtype=torch.int64)
    return _Traced(_program(TableScorer(model, rules, mapped), numbers, codes), ("numbers", "codes"), rules)


def _program(scorer: nn.Module, *examples: torch.Tensor) -> torch.export.ExportedProgram:
    """Traces a scorer; its inputs are those of the examples, for any number of rows."""
    rows = {0: torch.export.Dim("rows")}
    with _quiet(), _one_line("torch cannot trace the network"):
        return torch.export.export(scorer.eval(), examples, dynamic_shapes=(rows,) * len(examples))


def _with_cells(model: Model, traced: _Traced, scorer: ModelProto) -> ModelProto:
    """Puts raw columns before a program, the class behind it, and its origin into the metadata."""
    from onnx import compose, helper

    inner = compose.add_prefix(scorer, _INNER)
    if of_onnx(model):
        inputs, before = onnx_map(model, _OPSET, inner.graph.input[0].name)
    else:
        inputs, before = _features(inner.graph.input[0]) if traced.rules is None else _cells(traced.rules)
    after, outputs = _number() if model.outcome is not None else _class(model)
    graph = helper.make_graph(
        [*before, *inner.graph.node, *after],
        ABOUT,
        inputs,
        outputs,
        initializer=list(inner.graph.initializer),
    )
    versions = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
    made = helper.make_model(graph, producer_name=ABOUT, opset_imports=versions, ir_version=scorer.ir_version)
    made.functions.extend(inner.functions)
    helper.set_model_props(made, metadata(model) | _told(model, traced))
    return made


def _told(model: Model, traced: _Traced) -> dict[str, str]:
    """Returns the entry `COLUMNS`: of a table, and of pixels, which a program takes as divided bytes."""
    holds = list[dict[str, Any]]()
    if traced.rules is not None:
        holds = _cells_told(traced.rules)
    elif model.takes_pixels or (model.pixels and is_composed(model)):
        holds = [{"name": "features", "holds": _PIXELS}]
    return {COLUMNS: json.dumps(holds, ensure_ascii=False)} if holds else {}


def _cells_told(rules: TableRules) -> list[dict[str, Any]]:
    """Returns of every input, in order, its name and what its cells must be."""
    columns = rules.schema.columns
    numbers = [
        {"name": one.column, "holds": _DAY if isinstance(one, Days) else "a number; NaN where it is missing"}
        for one in numeric_columns(columns)
    ]
    texts = [
        {"name": one.column, "holds": "a text; empty where it is missing", "texts": list(one.texts)}
        for one in text_columns(columns)
    ]
    return [*numbers, *texts]


def _class(model: Model) -> tuple[list[NodeProto], list[Any]]:
    """Returns the nodes that name the likeliest class, of each label if several; a classifier's outputs."""
    from onnx import TensorProto, helper, numpy_helper

    texts, several = model.plan.data.classes, len(model.labels)
    kind = TensorProto.INT64 if texts is None else TensorProto.STRING
    probabilities, name = _INNER + _ANSWER, "labels" if several else "label"
    chosen = name if texts is None else f"{_INNER}chosen"
    after = [helper.make_node("Identity", [probabilities], ["probabilities"])]
    if several:
        half, above = f"{_INNER}half", f"{_INNER}above"
        after += [
            helper.make_node("Constant", [], [half], value=numpy_helper.from_array(np.array(1.0 / 2.0))),
            helper.make_node("Greater", [probabilities, half], [above]),
            helper.make_node("Cast", [above], [chosen], to=TensorProto.INT64),
        ]
    else:
        after.append(helper.make_node("ArgMax", [probabilities], [chosen], axis=1, keepdims=0))
    if texts is not None:
        numbers = {"keys_int64s": range(len(texts)), "values_strings": texts}
        after.append(_encoder(chosen, name, **numbers))
    shape: list[Any] = ["rows", several] if several else ["rows"]
    width = several or len(model.classes)
    return after, [
        helper.make_tensor_value_info(name, kind, shape),
        helper.make_tensor_value_info("probabilities", TensorProto.DOUBLE, ["rows", width]),
    ]


def _number() -> tuple[list[NodeProto], list[Any]]:
    """Returns the nodes that make one row of what a regression answers, and its output."""
    from onnx import TensorProto, helper, numpy_helper

    axis = f"{_INNER}axis"
    after = [
        helper.make_node("Constant", [], [axis], value=numpy_helper.from_array(np.array([1]))),
        helper.make_node("Squeeze", [_INNER + _ANSWER, axis], ["prediction"]),
    ]
    return after, [helper.make_tensor_value_info("prediction", TensorProto.DOUBLE, ["rows"])]


def _features(inner: Any) -> tuple[list[Any], list[NodeProto]]:
    """Returns the input of a program over arrays, under its own name."""
    from onnx import helper

    features = type(inner)()
    features.CopyFrom(inner)
    features.name = "features"
    return [features], [helper.make_node("Identity", ["features"], [inner.name])]


def _cells(rules: TableRules) -> tuple[list[Any], list[NodeProto]]:
    """Returns an input for every column, and the nodes that make numbers and codes of them."""
    from onnx import TensorProto, helper

    numbers = [column.column for column in numeric_columns(rules.schema.columns)]
    texts = text_columns(rules.schema.columns)
    inputs = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, ["rows", 1]) for name in numbers]
    inputs += [
        helper.make_tensor_value_info(found.column, TensorProto.STRING, ["rows", 1]) for found in texts
    ]
    nodes, codes = [], []
    for place, found in enumerate(texts):
        codes.append(f"{_INNER}code {place}")
        known = {"keys_strings": found.texts, "values_int64s": range(len(found.texts))}
        nodes.append(_encoder(found.column, codes[-1], **known, default_int64=len(found.texts)))
    nodes += _side_by_side(numbers, codes, "numbers", TensorProto.DOUBLE)
    nodes += _side_by_side(codes, numbers, "codes", TensorProto.INT64)
    return inputs, nodes


def _side_by_side(names: list[str], others: list[str], target: str, kind: int) -> list[NodeProto]:
    """Returns the nodes that join columns; without any, those that cut the others to none, rows kept."""
    from onnx import helper, numpy_helper

    if names:
        return [helper.make_node("Concat", names, [_INNER + target], axis=1)]
    bounds = {name: f"{_INNER}{target} {name}" for name in ("starts", "ends", "axes")}
    return [
        *(
            helper.make_node("Constant", [], [bound], value=numpy_helper.from_array(np.array([axis])))
            for bound, axis in zip(bounds.values(), (0, 0, 1), strict=True)
        ),
        helper.make_node("Slice", [others[0], *bounds.values()], [f"{_INNER}{target} none"]),
        helper.make_node("Cast", [f"{_INNER}{target} none"], [_INNER + target], to=kind),
    ]


def _encoder(source: str, target: str, **entries: Any) -> NodeProto:
    """Returns a node that replaces what is known by something else."""
    from onnx import helper

    lists: dict[str, Any] = {
        name: value if isinstance(value, int) else list(value) for name, value in entries.items()
    }
    return helper.make_node("LabelEncoder", [source], [target], domain="ai.onnx.ml", **lists)


@contextmanager
def _one_line(what: str) -> Iterator[None]:
    """Says in one line that a network cannot be exported: whatever it is made of may fail in any way."""
    try:
        yield
    except Exception as error:
        first = _innermost(error)
        reason = (_COLOURS.sub("", str(first)).strip().splitlines() or [""])[0].rstrip(".")
        raise ConfigurationError(
            f"{what}: {type(first).__name__}: {reason}. Load it with discreet.load_model instead."
        ) from error


def _innermost(error: BaseException) -> BaseException:
    """Returns what an error began with: torch's exporter wraps it in its own, with advice about itself."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps torch's exporters from telling users about their own insides."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
