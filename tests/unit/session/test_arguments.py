"""What a program names wrong, or fills with something else: one line that says where it belongs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet
from discreet.errors import ConfigurationError
from discreet.session import Arrays, Frames, Target, plan_training, train

ANY: Any = discreet  # the type checker would refuse what is refused here
TABLE = {"age": [51, 62], "ill": [0, 1]}
FACTS: dict[str, Any] = {"label": "ill", "ranges": {"age": (20, 90)}}
FRAMES = Frames(dict.fromkeys(("north", "east", "south"), TABLE), **FACTS)
PUBLIC = FRAMES.public(capacity=30)
X, Y = np.zeros((4, 3), dtype=np.float32), np.arange(4) % 2


def plan(**given: Any) -> object:
    return plan_training(PUBLIC, **{"target": Target(4.0), **given})


def frames(tables: Any, **given: Any) -> object:
    return Frames(tables, **{**FACTS, **given})


def arrays(features: Any, labels: Any, **given: Any) -> object:
    return Arrays({"north": (features, labels)}, **{"num_classes": 2, **given})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plan(clip_norm=1.0), 'takes no \'clip_norm\'. Give privacy={"clip_norm": ...}.'),
        (lambda: plan(learning_rate=0.1), 'Give local={"learning_rate": ...}.'),
        (lambda: plan(epsilon=1.0), "Give target=discreet.Target(epsilon=...)."),
        (lambda: plan(adapters=4), "a key of the table 'model' of a config"),
        (lambda: plan(label="ill"), "Give discreet.Frames(..., label=...)."),
        (lambda: plan(privcy={}), "Did you mean 'privacy'?"),
        (lambda: plan(seed=3), "Give train(..., seed=...)."),
        (lambda: ANY.plan_training(PUBLIC), "plan_training: missing a required argument: 'target'."),
        (lambda: ANY.train(plan(), FRAMES), "train: missing a required argument: 'out'."),
        (lambda: ANY.load_model("runs/a", unknown=1), "takes no 'unknown'. It takes: path, own_code"),
        (ANY.load_model, "load_model: missing a required argument: 'path'."),
        (lambda: ANY.Target(eps=1.0), "Target takes no 'eps'. Did you mean 'epsilon'?"),
        (lambda: ANY.Frames({"north": TABLE}, capacity=9), "Give public(capacity=...) of Frames or Arrays."),
        (lambda: ANY.Arrays({"north": (X, Y)}), "Arrays: missing a required argument: 'num_classes'."),
        (lambda: plan(loss="hinge"), "loss must be a Loss, with a function and its constants"),
        (lambda: ANY.Loss("m:f"), "Loss: missing a required argument: 'residual_norm'."),
        (lambda: plan(privacy={"epsilon": 3.0}), "the target alone, which says 4.0; got 3.0 in privacy."),
        (lambda: plan(rounds="5"), "'training.rounds': must be a number; got '5'."),
        (lambda: plan(rounds=True), "'training.rounds': must be a number; got True."),
        (lambda: ANY.plan_questions(PUBLIC, "moments", target=Target(1.0)), "must be a list of tables"),
        (lambda: frames([TABLE]), "tables must be given by silo"),
        (lambda: frames(TABLE), "age: the table of a silo must be a dataframe"),
        (lambda: frames({0: TABLE}), "the name of a silo must be a text, as in "),
        (lambda: frames({"north": {"age": [51, 62], "ill": [0]}}), "columns must be of equal length; got "),
        (lambda: frames({"north": {"age": "51", "ill": [0]}}), "'age' must be a sequence of cells; got str."),
        (lambda: frames({"north": TABLE}, classes=["No", "No"]), "'No' is there more than once"),
        (lambda: frames({"north": TABLE}, test_fraction="0.5"), "must be a number; got '0.5'."),
        (lambda: arrays(X, np.array(["a"] * 4)), "labels whole numbers; got float32 and <U1."),
        (lambda: arrays(X.astype(str), Y), "features must be real numbers"),
        (lambda: arrays(X, list(Y)), "features and labels must be arrays or tensors; got list."),
        (lambda: arrays(X, np.eye(2)[Y]), "every record must have one label; got shapes (4, 3) and (4, 2)."),
        (lambda: arrays(X, Y, num_classes=1), "'num_classes': must be at least 2; got 1."),
        (lambda: arrays(X, Y, split_seed=True), "'split_seed': must be a number; got True."),
        (lambda: arrays(X, Y, pixels="yes"), "'pixels': must be true or false; got 'yes'."),
        (lambda: arrays(X, Y, transform="network:m:f"), "Give Arrays(..., features=...), a map or"),
        (lambda: arrays(X, Y, pretrained={}), "is for an .npz file and a config (docs/how-to"),
        (
            lambda: Arrays({"north": (X, Y)}, num_classes=2, features="onnx:a.onnx"),
            "Write the arrays into an .npz file for a config (docs/how-to/fine-tune.md)",
        ),
        (lambda: ANY.load_model("runs/a", own_code="no"), "own_code must be True or False; got 'no'."),
        (lambda: ANY.load_model("runs/a", weights=3), "weights must be the path of a file; got int."),
        (lambda: ANY.open_run("runs/a", own_code="no"), "own_code must be True or False; got 'no'."),
        (lambda: ANY.open_run("runs/a", weights="w"), "Give predict(records, weights=FILE) of a run, or"),
        (lambda: next(ANY.verify.verify("runs/a", own_code=1)), "own_code must be True or False; got 1."),
    ],
)  # fmt: skip
def test_what_is_asked_wrong_is_one_line_where_it_is_asked(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_frames_find_columns_by_their_text_and_refuse_two_of_one_name() -> None:
    class Numbered:
        columns = (0, 1)

        def __getitem__(self, key: object) -> list[int]:
            assert key in (0, 1)
            return [0, 1]

    class Twice(Numbered):
        columns = (0, 0)

    numbered: dict[str, Any] = {"label": "1", "ranges": {"0": (0, 1)}}
    assert Frames({"north": Numbered()}, **numbered).label == "1"
    with pytest.raises(ConfigurationError, match="2 columns are called '0'"):
        Frames({"north": Twice()}, label=None, ranges={"0": (0, 1)})


@pytest.mark.parametrize("label", [-1.0, 0.5])
def test_a_simulation_of_which_no_label_can_be_used_is_refused_and_nothing_is_written(
    label: float, tmp_path: Path
) -> None:
    held = {name: (X, np.full(4, label)) for name in ("north", "east", "south")}
    unusable = Arrays(held, num_classes=2, norm_bound=1.0)
    agreed = plan_training(unusable.public(capacity=30), target=Target(4.0), rounds=1)
    with pytest.raises(ConfigurationError, match="no record can be used") as caught:
        train(agreed, unusable, out=tmp_path / "run")
    assert "4 of 4 labels are not in [0, 2)" in caught.value.__notes__[0]
    assert not (tmp_path / "run").exists()
