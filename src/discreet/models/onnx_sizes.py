"""How large the tensors of an ONNX network are for one record, worked out without making any of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

MOST_NUMBERS = 1 << 28
"""In a tensor, for a batch of one record; a side that nobody can work out beforehand counts as one."""

MOST_HELD = 1 << 30
"""Numbers of all tensors together that hang on no record, and are there before one comes."""

_FEW = 1 << 10
"""Numbers of a tensor that is worked out, as sizes are; others keep their shape alone."""

# What these make may be larger than all that they take, by numbers that they take.
_GROWING = frozenset({"AffineGrid", "BlackmanWindow", "CenterCropPad", "Col2Im", "ConstantOfShape", "DFT",
                      "Expand", "HammingWindow", "HannWindow", "MaxUnpool", "MelWeightMatrix", "OneHot",
                      "Pad", "Range", "Resize", "STFT", "Tile", "Upsample"})  # fmt: skip
_OF_SHAPES = frozenset({"Shape", "Size"})
# By these, networks work out sizes.
_WORKED_OUT = frozenset({"Abs", "Add", "And", "Cast", "Ceil", "Concat", "Constant", "ConstantOfShape",
                         "Div", "Equal", "Expand", "Floor", "Gather", "Greater", "Identity", "Less",
                         "Max", "Min", "Mod", "Mul", "Neg", "Not", "Or", "Range", "ReduceProd",
                         "ReduceSum", "Reshape", "Round", "Shape", "Size", "Slice", "Sqrt", "Squeeze",
                         "Sub", "Tile", "Transpose", "Unsqueeze", "Where"})  # fmt: skip


def too_large(model: Any, record_shape: tuple[int, ...] | None) -> str | None:
    """Says which tensor is too large for a batch of one record, such as one that a few bytes ask for.

    Onnxruntime makes tensors that hang on no input before any record comes. What a file says itself of the
    sizes of its tensors counts for nothing.

    Args:
        model: an ``onnx.ModelProto`` without functions of its own, and with no branches but those of ``If``.
        record_shape: of one record; None takes the sides of the input as the file states them, and what
            cannot be worked out then for small.

    Returns:
        What it must do, as a part of a sentence; None if nothing is too large.
    """
    from onnx import helper

    twice = next((name for name, count in Counter(_names(model.graph)).items() if count > 1), None)
    if twice is not None:
        return f"give each tensor a name of its own, in branches too; it has two that are named {twice!r}"
    seen = _Seen({one.domain: one.version for one in model.opset_import})
    stored = {one.name for one in model.graph.initializer}
    for one in model.graph.input:
        if one.name not in stored:
            seen.hanging.add(one.name)
            seen.types[one.name] = one.type
            if record_shape is not None:
                kind = one.type.tensor_type.elem_type
                seen.types[one.name] = helper.make_tensor_type_proto(kind, (1, *record_shape))
    held = 0
    for tensor in _tensors(model.graph, seen):
        if tensor.numbers > MOST_NUMBERS:
            return f"have tensors of at most {MOST_NUMBERS:,} numbers; {tensor.name!r} has {tensor.numbers:,}"
        if not tensor.known and (tensor.made_by in _GROWING or not tensor.hangs) and record_shape is not None:
            return (
                f"say how large its tensors are for a record of shape {record_shape}; of {tensor.name!r}, "
                f"by {tensor.made_by!r}, it does not"
            )
        held += 0 if tensor.hangs else tensor.numbers
    if held > MOST_HELD:
        return f"have at most {MOST_HELD:,} numbers that hang on no record; it has {held:,}"
    return None


@dataclass(frozen=True, slots=True)
class _Tensor:
    """What a node makes, or a sparse initializer; sides that are not known count as one."""

    name: str
    made_by: str
    numbers: int
    known: bool
    hangs: bool


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is known of tensors by name: types with shapes, numbers of small ones, who hangs on a record."""

    versions: dict[str, int]
    types: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, Any] = field(default_factory=dict)
    hanging: set[str] = field(default_factory=set)


def _names(graph: Any) -> Iterator[str]:
    """Yields the names of the tensors that a graph defines, and the branches in it."""
    stored = [
        *(one.name for one in graph.initializer),
        *(one.values.name for one in graph.sparse_initializer),
    ]
    yield from stored
    yield from {one.name for one in graph.input} - set(stored)
    for node in graph.node:
        yield from filter(None, node.output)
        for one in node.attribute:
            if one.HasField("g"):
                yield from _names(one.g)


def _tensors(graph: Any, seen: _Seen) -> Iterator[_Tensor]:
    """Yields the tensors that nodes of a graph make, and of the branches in it, in order."""
    from onnx import helper, numpy_helper

    for one in graph.initializer:
        seen.types[one.name] = helper.make_tensor_type_proto(one.data_type, one.dims)
        if math.prod(one.dims) <= _FEW:
            seen.numbers[one.name] = numpy_helper.to_array(one)
    for one in graph.sparse_initializer:
        name = one.values.name
        seen.types[name] = helper.make_tensor_type_proto(one.values.data_type, one.dims)
        yield _tensor(name, "", seen)
    for node in graph.node:
        branches = [one.g for one in node.attribute if one.HasField("g")]
        for branch in branches:
            yield from _tensors(branch, seen)
        ends = [one.name for branch in branches for one in branch.output]
        if node.op_type not in _OF_SHAPES and not seen.hanging.isdisjoint((*node.input, *ends)):
            seen.hanging.update(node.output)
        seen.types.update(_of_branches(node, branches, seen) if branches else _inferred(node, seen))
        _work_out(node, seen)
        for name in filter(None, node.output):
            yield _tensor(name, node.op_type, seen)


def _tensor(name: str, made_by: str, seen: _Seen) -> _Tensor:
    sides = _sides(name, seen)
    numbers = math.prod(1 if side is None else side for side in sides or ())
    known = sides is not None and None not in sides
    return _Tensor(name, made_by, numbers, known, name in seen.hanging)


def _sides(name: str, seen: _Seen) -> list[int | None] | None:
    """Returns the shape of a tensor, None where a side is not known; None if nothing of it is."""
    found = seen.types.get(name)
    if found is None or not found.tensor_type.HasField("shape"):
        return None
    sides = found.tensor_type.shape.dim
    return [max(side.dim_value, 0) if side.HasField("dim_value") else None for side in sides]


def _of_branches(node: Any, branches: list[Any], seen: _Seen) -> dict[str, Any]:
    """Returns the types of what an ``If`` makes, where both branches make the same."""
    made = zip(node.output, *(branch.output for branch in branches), strict=False)
    found = {name: [seen.types.get(one.name) for one in ends] for name, *ends in made}
    return {name: ends[0] for name, ends in found.items() if ends[0] and all(one == ends[0] for one in ends)}


def _inferred(node: Any, seen: _Seen) -> dict[str, Any]:
    """Returns the types of what a node makes, as the standard says; of none that does not fit it."""
    import onnx
    from onnx import helper, numpy_helper, shape_inference

    attributes = {one.name: one.t for one in node.attribute}
    if node.op_type == "Constant" and "value" in attributes:
        stored = attributes["value"]  # not copied, for it may be large
        return {node.output[0]: helper.make_tensor_type_proto(stored.data_type, stored.dims)}
    given = [name for name in node.input if name]
    domain = "" if node.domain == "ai.onnx" else node.domain
    try:
        version = seen.versions.get(domain) or seen.versions["ai.onnx"]
        found: dict[str, Any] = shape_inference.infer_node_outputs(
            onnx.defs.get_schema(node.op_type, version, domain),
            node,
            {name: seen.types[name] for name in given},
            {name: numpy_helper.from_array(seen.numbers[name]) for name in given if name in seen.numbers},
            opset_imports=[helper.make_opsetid(domain, version)],
        )
    except Exception:  # of compiled code: onnxruntime refuses a node that fits nothing
        return {}
    return found


def _work_out(node: Any, seen: _Seen) -> None:
    """Works out the few numbers that a node makes of few, or of the shape of what it takes."""
    from onnx.reference import ReferenceEvaluator

    (name, *_), domain = node.output or ("",), node.domain
    sides = _sides(name, seen)
    if domain not in ("", "ai.onnx") or node.op_type not in _WORKED_OUT or sides is None or None in sides:
        return
    given = {}
    for one in filter(None, node.input):
        if node.op_type in _OF_SHAPES:
            shape = _sides(one, seen)
            if shape is not None and None not in shape:
                # Which holds one number.
                given[one] = np.broadcast_to(np.float32(0.0), [side for side in shape if side is not None])
        elif one in seen.numbers:
            given[one] = seen.numbers[one]
    if len(given) < len({*filter(None, node.input)}) or math.prod(filter(None, sides)) > _FEW:
        return
    try:
        with np.errstate(all="ignore"):
            (found,) = ReferenceEvaluator(node, opsets=seen.versions).run(None, given)
    except Exception:  # whatever a size that fits nothing makes it raise
        return
    seen.numbers[name] = np.asarray(found)
