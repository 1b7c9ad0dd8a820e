"""ONNX files as feature maps: one record a call, all bytes of the stated file, and nothing drawn."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, load_model, load_model_from_string, save_model

from discreet.errors import ConfigurationError
from discreet.models import frozen_map
from discreet.models.frozen_map import FrozenMap
from discreet.models.onnx_file import checked_model
from discreet.models.public_weights import PublicWeights

RECORDS = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
DOUBLED = [helper.make_node("Add", ["x", "x"], ["y"])]
OPSETS = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1), helper.make_opsetid("com.microsoft", 1)]


def external(name: str) -> TensorProto:
    """A tensor that lies in another file, which is there."""
    tensor = helper.make_tensor(name, TensorProto.FLOAT, [3], np.ones(3, np.float32).tobytes(), raw=True)
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="secret.bin")
    return tensor


def written(
    folder: Path, nodes: Sequence[Any], *, rows: Any = "n", tensors: Sequence[Any] = (), **parts: Any
) -> PublicWeights:
    (folder / "secret.bin").write_bytes(np.ones(3, np.float32).tobytes())
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, 3]) for name in ("x", "y")]
    graph = helper.make_graph(list(nodes), "g", ends[:1], ends[1:], initializer=list(tensors))
    path = folder / "f.onnx"
    save_model(helper.make_model(graph, opset_imports=OPSETS, ir_version=9, **parts), str(path))
    return PublicWeights(str(path), hashlib.sha256(path.read_bytes()).hexdigest())


@pytest.mark.parametrize("rows", ["n", 1])
def test_a_file_answers_for_any_number_of_records(rows: Any, tmp_path: Path) -> None:
    found = FrozenMap.onnx(written(tmp_path, DOUBLED, rows=rows), (3,))
    np.testing.assert_allclose(found(RECORDS), 2 * RECORDS, rtol=1e-6)


QUANTISED = [
    helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "scale", "zero"]),
    helper.make_node("DequantizeLinear", ["q", "scale", "zero"], ["y"]),
]
MEAN = [helper.make_node("ReduceMean", ["x", "axes"], ["m"]), helper.make_node("Sub", ["x", "m"], ["y"])]
AXES = helper.make_tensor("axes", TensorProto.INT64, [1], [0])


@pytest.mark.parametrize(("nodes", "tensors"), [(QUANTISED, []), (MEAN, [AXES])], ids=["quantised", "mean"])
def test_operators_that_mix_the_records_of_a_batch_mix_none(
    nodes: list[Any], tensors: list[Any], tmp_path: Path
) -> None:
    """A scale that is found from a batch is moved by its longest record."""
    found = FrozenMap.onnx(written(tmp_path, nodes, tensors=tensors), (3,))
    crafted = RECORDS.copy()
    crafted[4] *= 1e6
    np.testing.assert_array_equal(found(RECORDS)[:4], found(crafted)[:4])


def _branch(tensor: TensorProto, name: str) -> Any:
    output = helper.make_tensor_value_info(name, TensorProto.FLOAT, [3])
    return helper.make_graph(
        [helper.make_node("Constant", [], [name], value=tensor)], f"in {name}", [], [output]
    )


def _own_function(node: Any) -> dict[str, Any]:
    """An operator of the file's own, and what calls it."""
    nodes = [node, helper.make_node("Add", ["a", "w"], ["b"])]
    made = helper.make_function("own", "Twice", ["a"], ["b"], nodes, OPSETS[:1])
    return {"nodes": [helper.make_node("Twice", ["x"], ["y"], domain="own")], "functions": [made]}


ADDED = helper.make_node("Add", ["x", "w"], ["y"])
TRUE = helper.make_tensor("c", TensorProto.BOOL, [], [True])
HERE = helper.make_tensor("w", TensorProto.FLOAT, [3], [1.0, 1.0, 1.0])


@pytest.mark.parametrize(
    "parts",
    [
        {"nodes": [ADDED], "tensors": [external("w")]},
        {"nodes": [helper.make_node("Constant", [], ["w"], value=external("w")), ADDED]},
        {
            "nodes": [
                helper.make_node(
                    "If",
                    ["c"],
                    ["w"],
                    then_branch=_branch(HERE, "a"),
                    else_branch=_branch(external("w"), "b"),
                ),
                ADDED,
            ],
            "tensors": [TRUE],
        },
        _own_function(helper.make_node("Constant", [], ["w"], value=external("w"))),
    ],
    ids=["initializer", "constant", "branch", "function"],
)
def test_no_other_file_is_opened(
    parts: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        ConfigurationError, match=r"f\.onnx must hold all of its weights; 'w' is in .*external_data=False"
    ):
        FrozenMap.onnx(written(tmp_path, **parts), (3,))


def test_operators_of_the_files_own_are_written_out(tmp_path: Path) -> None:
    own = _own_function(helper.make_node("Constant", [], ["w"], value=HERE))
    found = FrozenMap.onnx(written(tmp_path, **own), (3,))
    np.testing.assert_allclose(found(RECORDS), RECORDS + 1.0, rtol=1e-6)


def _calling(name: str, *called: str) -> Any:
    nodes = [
        helper.make_node(one, ["a" if place == 0 else f"v{place}"], [f"v{place + 1}"], domain="own")
        for place, one in enumerate(called)
    ]
    nodes.append(helper.make_node("Identity", [f"v{len(called)}"], ["b"]))
    return helper.make_function("own", name, ["a"], ["b"], nodes, OPSETS[:2])


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ([_calling(f"F{n}", f"F{n + 1}", f"F{n + 1}") for n in range(30)], "more than 1048576 operators"),
        ([_calling("F0", "F1"), _calling("F1", "F0")], "'F0' calls itself"),
    ],
    ids=["doubling", "circle"],
)
def test_functions_that_grow_without_end_are_not_written_out(
    functions: list[Any], message: str, tmp_path: Path
) -> None:
    last = helper.make_function(
        "own", "F30", ["a"], ["b"], [helper.make_node("Identity", ["a"], ["b"])], OPSETS[:1]
    )
    nodes = [helper.make_node("F0", ["x"], ["y"], domain="own")]
    with pytest.raises(ConfigurationError, match=message):
        FrozenMap.onnx(written(tmp_path, nodes, functions=[*functions, last]), (3,))


def test_a_file_that_begins_as_one_of_onnxruntimes_own_is_read_as_onnx(tmp_path: Path) -> None:
    weights = written(tmp_path, DOUBLED, producer_name="ORTM")
    assert Path(weights.path).read_bytes()[4:8] == b"ORTM"
    np.testing.assert_allclose(FrozenMap.onnx(weights, (3,))(RECORDS), 2 * RECORDS, rtol=1e-6)


ENDLESS = helper.make_graph(
    [helper.make_node("Identity", [name], [f"{name} too"]) for name in ("go", "kept")],
    "body",
    [
        helper.make_tensor_value_info("turn", TensorProto.INT64, []),
        helper.make_tensor_value_info("go", TensorProto.BOOL, []),
        helper.make_tensor_value_info("kept", TensorProto.FLOAT, ["n", 3]),
    ],
    [
        helper.make_tensor_value_info("go too", TensorProto.BOOL, []),
        helper.make_tensor_value_info("kept too", TensorProto.FLOAT, ["n", 3]),
    ],
)
FILLED = [
    helper.make_node("ConstantOfShape", ["s"], ["filled"]),
    helper.make_node("ReduceSum", ["filled"], ["total"], keepdims=0),
    helper.make_node("Add", ["x", "total"], ["y"]),
]


def _sizes(name: str, *sides: int) -> TensorProto:
    return helper.make_tensor(name, TensorProto.INT64, [len(sides)], sides)


def _filled_branch(size: int) -> Any:
    """A branch that fills a tensor."""
    nodes = [
        helper.make_node("Constant", [], [f"t{size}"], value=_sizes("t", size)),
        helper.make_node("ConstantOfShape", [f"t{size}"], [f"filled with {size}"]),
        helper.make_node("ReduceSum", [f"filled with {size}"], [f"s{size}"], keepdims=0),
    ]
    output = helper.make_tensor_value_info(f"s{size}", TensorProto.FLOAT, [])
    return helper.make_graph(nodes, f"fills {size}", [], [output])


BRANCHES = [
    helper.make_node(
        "If", ["c"], ["total"], then_branch=_filled_branch(1 << 33), else_branch=_filled_branch(1)
    ),
    FILLED[-1],
]
ROUNDABOUT = [
    helper.make_node("Cast", ["s"], ["f"], to=TensorProto.FLOAT),
    helper.make_node("Sqrt", ["f"], ["root"]),
    helper.make_node("Mul", ["root", "root"], ["square"]),
    helper.make_node("Cast", ["square"], ["t"], to=TensorProto.INT64),
    helper.make_node("ConstantOfShape", ["t"], ["filled"]),
    *FILLED[1:],
]
BY_A_RECORD = [
    helper.make_node("ReduceMax", ["x"], ["f"], keepdims=0),
    helper.make_node("Cast", ["f"], ["whole"], to=TensorProto.INT64),
    helper.make_node("Reshape", ["whole", "one"], ["s"]),
    *FILLED,
]
SQUARED = [
    helper.make_node("Transpose", ["row"], ["column"], perm=[1, 0]),
    helper.make_node("MatMul", ["column", "row"], ["filled"]),
    *FILLED[1:],
]
UNCOUNTED = [
    helper.make_node("ConstantOfShape", ["s"], ["zeros"]),
    helper.make_node("Cast", ["zeros"], ["off"], to=TensorProto.BOOL),
    helper.make_node("Not", ["off"], ["on"]),
    helper.make_node("NonZero", ["on"], ["places"]),
    helper.make_node("Cast", ["places"], ["row"], to=TensorProto.FLOAT),
    *SQUARED,
]
"""As many numbers as are not zero: nothing says beforehand how many these are."""


def _row_branch(size: int) -> Any:
    nodes = [
        helper.make_node("Constant", [], [f"t{size}"], value=_sizes("t", 1, size)),
        helper.make_node("ConstantOfShape", [f"t{size}"], [f"row of {size}"]),
    ]
    output = helper.make_tensor_value_info(f"row of {size}", TensorProto.FLOAT, [1, size])
    return helper.make_graph(nodes, f"makes {size}", [], [output])


UNLIKE = [
    helper.make_node("If", ["c"], ["row"], then_branch=_row_branch(1 << 20), else_branch=_row_branch(1)),
    *SQUARED,
]


def _hiding_branch(name: str) -> Any:
    output = helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])
    nodes = [helper.make_node("ConstantOfShape", ["s"], [name])]
    return helper.make_graph(nodes, name, [], [output], initializer=[_sizes("s", 1)])


HIDING = [
    helper.make_node(
        "If",
        ["c"],
        ["few"],
        then_branch=_hiding_branch("one"),
        else_branch=_hiding_branch("other"),
    )
]
"""Branches have an ``s`` of their own, which onnxruntime takes in them alone."""
MANY = [
    *(helper.make_node("ConstantOfShape", ["s"], [f"f{place}"]) for place in range(5)),
    helper.make_node("Sum", [f"f{place}" for place in range(5)], ["filled"]),
    *FILLED[1:],
]
SCANNED = helper.make_node("Scan", ["x"], ["y"], body=_branch(HERE, "w"), num_scan_inputs=1)
NOISE = [helper.make_node("RandomNormalLike", ["x"], ["r"]), helper.make_node("Add", ["x", "r"], ["y"])]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"nodes": NOISE}, "must draw no random numbers; 'RandomNormalLike' does"),
        (
            {
                "nodes": [helper.make_node("Dropout", ["x", "", "c"], ["y"])],
                "tensors": [TRUE],
            },
            "must draw no random numbers; 'Dropout' does",
        ),
        (
            {"nodes": [helper.make_node("Gelu", ["x"], ["y"], domain="com.microsoft")]},
            "must have operators of standard ONNX alone; 'Gelu' is of 'com.microsoft'",
        ),
        (
            {"nodes": [helper.make_node("Loop", ["", "c", "x"], ["y"], body=ENDLESS)], "tensors": [TRUE]},
            "must have no operator 'Loop'",
        ),
        (
            {
                "nodes": FILLED,
                "tensors": [helper.make_tensor("s", TensorProto.INT64, [2], [1 << 20, 1 << 20])],
            },
            "must have tensors of at most 268,435,456 numbers; 'filled' has 1,099,511,627,776",
        ),
        (
            {"nodes": BRANCHES, "tensors": [TRUE]},
            "at most 268,435,456 numbers; 'filled with 8589934592' has 8,589,934,592",
        ),
        (
            {"nodes": UNCOUNTED, "tensors": [_sizes("s", 1 << 20)]},
            r"must say how large its tensors are for a record of shape \(3,\); of 'places', by 'NonZero'",
        ),
        (
            {"nodes": UNLIKE, "tensors": [TRUE]},
            r"must say how large its tensors are for a record of shape \(3,\); of 'row', by 'If', it",
        ),
        (
            {"nodes": [*HIDING, *FILLED], "tensors": [TRUE, _sizes("s", 1 << 29)]},
            "must give each tensor a name of its own, in branches too; it has two that are named 's'",
        ),
        ({"nodes": ROUNDABOUT, "tensors": [_sizes("s", 1 << 34)]}, "'filled' has 17,179,869,184"),
        (
            {"nodes": [helper.make_node("Expand", ["x", "s"], ["y"])], "tensors": [_sizes("s", 1 << 30, 3)]},
            "'y' has 3,221,225,472",
        ),
        (
            {"nodes": BY_A_RECORD, "tensors": [_sizes("one", 1)]},
            r"must say how large its tensors are for a record of shape \(3,\); of 'filled', by 'ConstantOfSh",
        ),
        (
            {"nodes": MANY, "tensors": [_sizes("s", 1 << 28)]},
            "must have at most 1,073,741,824 numbers that hang on no record",
        ),
        ({"nodes": [SCANNED]}, "must have no operator 'Scan'"),
        ({"nodes": DOUBLED, "rows": 2}, "must take a batch of one record"),
    ],
)
def test_what_is_no_function_of_one_record_is_refused(
    parts: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        FrozenMap.onnx(written(tmp_path, **parts), (3,))


def test_what_a_file_says_of_its_sizes_counts_for_nothing(tmp_path: Path) -> None:
    weights = written(tmp_path, FILLED, tensors=[_sizes("s", 1 << 33)])
    model = load_model(weights.path)
    model.graph.value_info.append(helper.make_tensor_value_info("filled", TensorProto.FLOAT, [1]))
    save_model(model, weights.path)
    with pytest.raises(ConfigurationError, match="'filled' has 8,589,934,592"):
        FrozenMap.onnx(PublicWeights(weights.path, None), (3,))


def test_a_tensor_that_is_stored_sparsely_is_as_large_as_it_is(tmp_path: Path) -> None:
    weights = written(tmp_path, DOUBLED)
    model = load_model(weights.path)
    one = helper.make_tensor("few", TensorProto.FLOAT, [1], [1.0])
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(one, _sizes("where", 0), [1 << 33]))
    save_model(model, weights.path)
    with pytest.raises(ConfigurationError, match="'few' has 8,589,934,592"):
        FrozenMap.onnx(PublicWeights(weights.path, None), (3,))


def test_sizes_that_a_network_works_out_from_its_batch_are_known(tmp_path: Path) -> None:
    """As torch writes ``expand(len(x), -1)``: where -1 stands, a side stays as it is."""
    nodes = [
        helper.make_node("Shape", ["x"], ["sides"]),
        helper.make_node("Gather", ["sides", "first"], ["rows"]),
        helper.make_node("Concat", ["rows", "kept"], ["wanted"], axis=0),
        helper.make_node("Equal", ["wanted", "kept"], ["is kept"]),
        helper.make_node("Where", ["is kept", "one", "wanted"], ["to"]),
        helper.make_node("Expand", ["w", "to"], ["more"]),
        helper.make_node("Add", ["x", "more"], ["y"]),
    ]
    tensors = [_sizes("first", 0), _sizes("kept", -1), _sizes("one", 1), HERE]
    found = FrozenMap.onnx(written(tmp_path, nodes, tensors=tensors), (3,))
    np.testing.assert_allclose(found(RECORDS), RECORDS + 1.0, rtol=1e-6)


def test_fields_that_nobody_walked_do_not_run(tmp_path: Path) -> None:
    """A newer format's, say, which onnxruntime knows and the onnx that walks the file does not."""
    data = Path(written(tmp_path, DOUBLED).path).read_bytes() + b"\xc2\x3e\x06hidden"
    assert b"hidden" in load_model_from_string(data).SerializeToString()
    assert b"hidden" not in checked_model(data, "f.onnx", (3,)).SerializeToString()


def test_other_files_are_refused_before_they_are_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = written(tmp_path, DOUBLED)
    with pytest.raises(ConfigurationError, match="'sha256' must be that of the public weights") as refused:
        FrozenMap.onnx(PublicWeights(weights.path, "0" * 64), (3,))
    assert str(weights.sha256) not in str(refused.value), "whoever asks hears no hash of an owner's file"
    monkeypatch.setattr(frozen_map, "LARGEST", 10)
    with pytest.raises(ConfigurationError, match=r"f\.onnx must have at most 10 bytes"):
        FrozenMap.onnx(weights, (3,))
    monkeypatch.undo()
    Path(weights.path).write_bytes(b"no network")
    with pytest.raises(ConfigurationError, match="must be an ONNX file with one input"):
        FrozenMap.onnx(PublicWeights(weights.path, None), (3,))
