"""An ONNX file as one network in memory: what is walked is what runs, and it opens no other file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from discreet.arrays import Float32s
from discreet.errors import ConfigurationError
from discreet.models.onnx_sizes import too_large

MOST_OPERATORS = 1 << 20
"""Once functions of the file's own are written out, which some bytes could double again and again."""

LARGEST = 1 << 30
"""Bytes of a file that is parsed: protobuf ends at twice as many."""

_STANDARD = frozenset({"", "ai.onnx", "ai.onnx.ml"})
_REPEATING = frozenset({"Loop", "Scan", "SequenceMap"})
_RANDOM = frozenset({"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
                     "RandomUniformLike"})  # fmt: skip


class OnnxNetwork:
    """A network that onnxruntime computes, on one thread and in one order.

    Guarantee:
        An answer is a function of the record and the file's bytes, if onnxruntime's standard operators are
        functions of their inputs: the network has no others, draws nothing, and opens no file.
    """

    def __init__(self, data: bytes, name: str, record_shape: tuple[int, ...]) -> None:
        """Parses a file and starts a session of what was parsed.

        Args:
            data: of the file.
            name: of the file, in messages.
            record_shape: of one record, from which sizes of tensors follow.

        Raises:
            ConfigurationError: if onnx or onnxruntime is not installed, the file is none with one input, or
                it has parts elsewhere, operators that are not standard ONNX, that repeat others, or random
                numbers; or a tensor would be too large, or grows by more than the shape of a record.
        """
        model = checked_model(data, name, record_shape)
        import onnxruntime

        with _one_line(name):
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = options.inter_op_num_threads = 1
            options.use_deterministic_compute = True
            # Bytes of ONNX may begin as those of onnxruntime's own format do, which nobody walked.
            options.add_session_config_entry("session.load_model_format", "ONNX")
            options.log_severity_level = 4  # what a record makes it say is said to nobody
            self._session = onnxruntime.InferenceSession(
                model.SerializeToString(), options, providers=["CPUExecutionProvider"]
            )
            (self._taken,) = self._session.get_inputs()

    def __call__(self, record: Float32s) -> Float32s:
        """Returns the first output for a batch of one record."""
        kind = np.int64 if self._taken.type == "tensor(int64)" else np.float32
        return np.asarray(self._session.run(None, {self._taken.name: record.astype(kind)})[0])


def checked_model(data: bytes, name: str, record_shape: tuple[int, ...] | None = None) -> Any:
    """Parses a file, writes its own functions out, and walks what is then there.

    Args:
        data: of the file.
        name: of the file, in messages.
        record_shape: of one record; None where no network is made, and takes sides as the file states them.

    Returns:
        The ``onnx.ModelProto``.

    Raises:
        ConfigurationError: see `OnnxNetwork`.
    """
    try:
        import onnx
        import onnxruntime  # noqa: F401 (which runs what is returned)
        from onnx import inliner
    except ModuleNotFoundError:
        raise ConfigurationError(
            "an ONNX file needs onnx and onnxruntime; one is not installed. Run: pip install "
            "'discreet[export]'"
        ) from None
    with _one_line(name):
        model = onnx.load_model_from_string(data)
        _require_few_operators(model)
        model = inliner.inline_local_functions(model)
        model.DiscardUnknownFields()
        wrong = next(_wrong_parts(model), None) or too_large(model, record_shape)
    if wrong is not None:
        raise ConfigurationError(
            f"{name} must {wrong}. Export the network for inference, in one file: "
            "with torch, torch.onnx.export(..., external_data=False)."
        )
    return model


@contextmanager
def _one_line(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # whatever onnx and onnxruntime raise
        reason = (str(error).splitlines() or [""])[0]
        raise ConfigurationError(f"{name} must be an ONNX file with one input; {reason}.") from error


def _require_few_operators(model: Any) -> None:
    """Counts operators as if the file's own functions were written out.

    Raises:
        ValueError: if they are too many, or a function calls itself.
    """
    functions = {(function.domain, function.name): function for function in model.functions}
    counted: dict[tuple[str, str], int] = {}
    open_ones: set[tuple[str, str]] = set()

    def count(message: Any) -> int:
        found = 0
        if message.DESCRIPTOR.name == "NodeProto":
            key = message.domain, message.op_type
            found = written_out(key) if key in functions else 1
        for field, value in message.ListFields():
            if field.message_type is not None and field.message_type.name != "TensorProto":
                found += sum(map(count, value if hasattr(value, "__len__") else (value,)))
        return found

    def written_out(key: tuple[str, str]) -> int:
        if key in open_ones:
            raise ValueError(f"its function {key[1]!r} calls itself")
        if key not in counted:
            open_ones.add(key)
            counted[key] = sum(map(count, functions[key].node))
            open_ones.discard(key)
        return counted[key]

    operators = sum(map(count, model.graph.node))
    if operators > MOST_OPERATORS:
        raise ValueError(f"it has more than {MOST_OPERATORS} operators when its functions are written out")


def _wrong_parts(message: Any) -> Iterator[str]:
    """Yields what a network must not have, in every message inside it, such as subgraphs and attributes."""
    kind = message.DESCRIPTOR.name
    if kind == "TensorProto" and (message.external_data or message.data_location == message.EXTERNAL):
        yield f"hold all of its weights; {message.name!r} is in another file"
    if kind == "NodeProto":
        if message.domain not in _STANDARD:
            yield f"have operators of standard ONNX alone; {message.op_type!r} is of {message.domain!r}"
        trains = message.op_type == "Dropout" and any(message.input[2:])
        if message.op_type in _RANDOM or trains:
            yield f"draw no random numbers; {message.op_type!r} does"
        if message.op_type in _REPEATING:
            yield f"have no operator {message.op_type!r}, which repeats others as often as numbers say"
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if hasattr(value, "__len__") else (value,):
                yield from _wrong_parts(inner)
