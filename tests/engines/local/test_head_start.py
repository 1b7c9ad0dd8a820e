"""A linear head begins at public weights: agreed by their hash, refused if others, compared afterwards."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from safetensors.numpy import save_file
from typer.testing import CliRunner

import discreet
from discreet.cli.app import app
from discreet.config import parse_config
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.engines.local import Opening, Prepared, job, prepare, run
from discreet.errors import ConfigurationError
from discreet.models import flatten, model_file, read_model_file
from discreet.models.public_weights import PublicWeights
from discreet.plan.public_model import public_model
from discreet.privacy.ledger import Intent, Lost
from discreet.released import load_model
from discreet.report.facts import plan_facts
from discreet.rounds import RunDirectory, initial_state, open_ledger
from discreet.rounds.state import announced_digest
from discreet.session import plan_without_data
from discreet.session.finish import finish
from discreet.silo.check import dry_run
from discreet.silo.policy import PolicyRefusal, load_policy
from discreet.verify import VerificationFailure, verify
from discreet.verify.finding import Basis
from discreet.verify.manifest import seal

HEAD = np.array([[4.0, 0.0, 0.0, 0.5], [0.0, 4.0, 0.0, 0.0], [0.0, 0.0, 4.0, -0.5]], np.float32)
ABOUT = {"source": "class texts", "licence": "CC0-1.0"}


def pretrained(folder: Path, name: str = "start", **arrays: Any) -> dict[str, str]:
    """Writes a file of public weights; returns the table that names it."""
    file = folder / f"{name}.safetensors"
    save_file(arrays or {"weight": HEAD}, file)
    return {"file": str(file), "sha256": hashlib.sha256(file.read_bytes()).hexdigest(), **ABOUT}


@pytest.fixture
def document(tmp_path: Path) -> dict[str, Any]:
    """Records of three classes along the axes, which the head knows."""
    rng, labels = np.random.default_rng(0), np.arange(90) % 3
    source = tmp_path / "records.npz"
    np.savez(source, x=3.0 * np.eye(3)[labels] + rng.normal(size=(90, 3)), y=labels)
    data = {"source": f"npz:{source}", "num_classes": 3, "record_capacity": 40, "feature_norm_bound": 1.0}
    return {
        "data": data | {"partition": {"kind": "iid", "silos": 3}, "test_fraction": 0.2},
        "model": {"pretrained": pretrained(tmp_path)},
        "training": {"rounds": 2, "local": {"kind": "stable-steps"}},
        "privacy": {"epsilon": 8.0, "delta": 1e-5},
        "run": {"seed": 1, "compare": False},
    }


def prepared(document: dict[str, Any], **model: Any) -> Prepared:
    return prepare(parse_config(document | {"model": model} if model else document))


def trained(document: dict[str, Any], out: Path) -> Path:
    finish(run(parse_config(document), out), None)
    return out


def test_training_starts_there_and_every_row_says_what_is_assumed(document: dict[str, Any]) -> None:
    plan = prepared(document).plan
    np.testing.assert_array_equal(flatten(prepared(document).model), HEAD.ravel())
    for row in plan.guarantees:
        (said,) = [
            one for one in row.assumptions if one.startswith("the public weights of start.safetensors")
        ]
        assert document["model"]["pretrained"]["sha256"][:12] in said
        assert "were made from public data alone" in said
    (stated,) = [one for one in plan_facts(plan) if one.label == "Public weights"]
    assert (stated.meaning, ABOUT["source"] in stated.value) == ("what training starts from", True)
    zero = prepared(document, name="logistic").plan
    assert plan.digest() != zero.digest()
    assert plan.facts.model_digest != zero.facts.model_digest


def test_settings_left_to_the_plan_leave_half_the_noise_in_a_logit(document: dict[str, Any]) -> None:
    document["privacy"]["epsilon"] = 0.3
    plans = [prepared(document).plan, prepared(document, name="logistic").plan]
    rates = [cast(Any, one.training.local).learning_rate for one in plans]
    assert rates[0] == pytest.approx(0.5 * rates[1])


def test_the_guarantee_is_that_of_a_head_from_zero(document: dict[str, Any]) -> None:
    """The same kind and rate: sensitivity, noise and every ε do not hang on where training starts."""
    local = {"kind": "stable-steps", "learning_rate": 0.1, "steps": "each", "residual_cap": 0.15}
    stated = document | {"training": {"rounds": 2, "local": local}}
    plan, zero = prepared(stated).plan, prepared(stated, name="logistic").plan
    assert plan.release == zero.release
    assert [row.epsilon for row in plan.guarantees] == [row.epsilon for row in zero.guarantees]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"weights": HEAD}, "start.safetensors must hold 'weight'; it holds weights. Write one array"),
        ({"weight": HEAD, "bias": HEAD[:, 0]}, "must hold 'weight' alone; it holds 'bias' too. Write one"),
        ({"weight": HEAD[:, :3]}, r"in the network's shape \(3, 4\), torch.float32; got \(3, 3\)"),
        ({"weight": HEAD.astype(np.int32)}, "torch.float32; got .* torch.int32"),
        ({"weight": HEAD * np.float32(np.nan)}, "finite as float32; 'weight' has NaN or infinity"),
        ({"weight": HEAD.astype(np.float64) * 1e300}, "finite as float32; 'weight' has NaN or infinity"),
    ],
)
def test_a_file_that_does_not_fit_is_refused(
    document: dict[str, Any], tmp_path: Path, arrays: dict[str, Any], message: str
) -> None:
    document["model"]["pretrained"] = pretrained(tmp_path, **arrays)
    with pytest.raises(ConfigurationError, match=message) as caught:
        prepared(document)
    assert "\n" not in str(caught.value)


def test_a_head_of_texts_is_refused_as_one_of_levels(document: dict[str, Any], tmp_path: Path) -> None:
    """Both have a row for each class; of levels the first row is what all share."""
    texts = discreet.head_of_texts(list(np.eye(3)[:, None]), scale=4.0)
    document["data"]["feature_norm_bound"] = 1.0
    for name, weight in (("logistic", texts), ("ordinal", HEAD), ("ordinal", 0 * HEAD)):
        made = prepared(document, name=name, pretrained=pretrained(tmp_path, weight=weight))
        assert made.plan.model.name == name
    with pytest.raises(ConfigurationError, match=r"must hold a head of levels: .* add up to zero") as caught:
        prepared(document, name="ordinal", pretrained=pretrained(tmp_path, weight=texts))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("written", ["that of the file", "AB" * 32])
def test_a_digest_that_is_none_is_refused_in_words(document: dict[str, Any], written: str) -> None:
    document["model"]["pretrained"]["sha256"] = written
    with pytest.raises(ConfigurationError, match="must be 64 digits of 0-9 and a-f, in lower case") as caught:
        parse_config(document)
    assert "\n" not in str(caught.value)


FAST = {"kind": "stable-steps", "learning_rate": 0.1, "records_per_step": 16}
SLOW = {"kind": "stable-steps", "learning_rate": 1e-4, "steps": 4}
TOO_LONG = "'model.pretrained' must begin at weights short enough .* Begin at shorter weights"
TOO_LARGE = r"'model.pretrained' must begin at weights of at most 1\.09951e\+12 in absolute value; got 1e\+13"


@pytest.mark.parametrize(
    ("training", "scale", "message"),
    [
        ({"local": FAST}, 1e11, TOO_LONG),
        ({"local": SLOW}, 1e8, TOO_LONG),
        ({"local": SLOW | {"decay": 1e-3}}, 1e5, "in round 2"),
        ({"local": {"kind": "single-step"}}, 2.5e12, TOO_LARGE),
    ],
)
def test_weights_that_no_silo_could_train_from_are_refused_when_planning(
    document: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    training: dict[str, Any],
    scale: float,
    message: str,
) -> None:
    """By whoever plans, from records or without any, simulates, or is shown such a plan as a silo."""
    document["training"] |= training
    if training["local"]["kind"] == "single-step":
        document["privacy"]["clip_norm"] = 1.0
    assert prepared(document).plan.guarantees
    document["model"]["pretrained"] = pretrained(tmp_path, weight=HEAD * np.float32(scale))
    config = parse_config(document)
    for plan in (prepare, plan_without_data):
        with pytest.raises(ConfigurationError, match=message) as caught:
            plan(config)
        assert "\n" not in str(caught.value)
    monkeypatch.setattr("discreet.engines.local.job.require_start", lambda *_: None)
    forged = prepare(config).plan
    with pytest.raises(ConfigurationError, match=message):
        public_model(forged)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": {"name": "mlp"}}, "must be left out unless 'name' is a network of one's own"),
        ({"model": {"trained": ["x"]}}, "or 'pretrained' alone is of logistic or ordinal; got 'logistic'"),
        ({"data": {"standardise": {"kind": "private"}}}, "its weights are for features as they are read"),
    ],
)
def test_a_config_in_which_a_head_begins_nowhere_is_refused(
    document: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    for table, keys in change.items():
        document[table] |= keys
    with pytest.raises(ConfigurationError, match=message):
        parse_config(document)


def test_a_silo_opens_its_own_copy_and_refuses_other_weights(
    document: dict[str, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "consortium"
    plan = rehearse(parse_config(document), folder)
    policy = load_policy(ConsortiumFolder(folder).policy(plan.facts.silos[0]))
    (own,) = policy.data.weights
    assert dry_run(policy, plan).plan.digest() == plan.digest()
    server = ConsortiumFolder(folder).server
    assert Path(server.weights("start.safetensors")).read_bytes() == own.read_bytes()
    without = policy.model_copy(update={"data": policy.data.model_copy(update={"weights": ()})})
    with pytest.raises(PolicyRefusal, match=r"model\.pretrained\.file must be a file that 'data\.weights'"):
        dry_run(without, plan)
    pretrained(tmp_path, "start", weight=HEAD + 1)
    with pytest.raises(PolicyRefusal, match="'sha256' must be that of the public weights"):
        dry_run(policy, plan)


def verified(out: Path, **by: Any) -> str:
    """Returns what verification says of the model."""
    (found,) = [one for one in verify(out, **by) if one.subject == "model, state"]
    return found.detail


def test_a_released_model_needs_no_file_and_verification_compares_it(
    document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = trained(document, tmp_path / "run")
    records = np.load(tmp_path / "records.npz")["x"]
    file = Path(document["model"]["pretrained"]["file"]).rename(tmp_path / "elsewhere.safetensors")
    scores = load_model(out).predict_proba(records)
    np.testing.assert_array_equal(discreet.open_run(out).predict_proba(records), scores)
    assert not np.array_equal(flatten(discreet.open_run(out).model), HEAD.ravel())
    assert "started from NOT COMPARED with the public file" in verified(out)
    assert "started from are those of the file" in verified(out, weights=file)
    # A coordinator states one file, and trains from another.
    others = pretrained(tmp_path, "others", weight=HEAD * np.float32(0.5))["file"]
    with monkeypatch.context() as forged:
        forged.setattr(PublicWeights, "read", lambda *_: Path(others).read_bytes())
        forgery = trained(document, tmp_path / "forged")
    assert "NOT COMPARED" in verified(forgery)
    with pytest.raises(VerificationFailure, match=r"'facts\.model_digest' must be that of the model built"):
        verified(forgery, weights=file)
    with pytest.raises(
        VerificationFailure,
        match=r"^the public weights \(--weights\) must be start\.safetensors, SHA-256 .* others",
    ):
        verified(out, weights=Path(others))
    with pytest.raises(VerificationFailure, match=r"^Cannot read weights from gone: No such file"):
        verified(out, weights=tmp_path / "gone")


def toml(table: dict[str, Any], within: str = "") -> Iterator[str]:
    """Returns the lines of a config, a dotted key each."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from toml(value, f"{within}{key}.")
        else:
            yield f"{within}{key} = {json.dumps(value)}"


def test_what_the_public_weights_alone_are_worth_is_shown_and_verified(
    document: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, config = tmp_path / "run", tmp_path / "config.toml"
    config.write_text("\n".join(toml(document)))
    told = CliRunner().invoke(app, ["run", str(config), "--out", str(out)])
    assert told.exit_code == 0, told.output
    test = prepared(document).federation.pooled_test()
    logits = test.features @ HEAD.T
    right = float((logits.argmax(axis=1) == test.labels).mean())
    start = json.loads((out / "result.json").read_text())["start"]
    assert start["accuracy"] == pytest.approx(right)
    assert right > 0.5
    said = f"before round 1: public weights alone, not private: accuracy {right:.3f}, base rate"
    assert said in " ".join(told.output.split())
    assert told.output.index("before round 1:") < told.output.index("round 1/2")
    assert f"public weights alone, before round 1 {100 * right:.1f} %" in re.sub(r"[\s│|]+", " ", told.output)
    discreet.train(parse_config(document), out=tmp_path / "again", progress=True)
    assert said in " ".join(capsys.readouterr().err.split())
    page = re.sub(r"<[^>]+>", "\n", (out / "report.html").read_text())
    assert f"public weights alone: {100 * right:.1f} %; always the commonest class" in page
    assert re.search(rf"no records: public weights alone\s+before round 1: .*\s+{100 * right:.1f} %", page)


def test_verification_measures_the_public_weights_again(document: dict[str, Any], tmp_path: Path) -> None:
    result = run(parse_config(document), tmp_path / "run")
    weights = Path(document["model"]["pretrained"]["file"])

    def found(file: Path | None = weights, **change: Any) -> str:
        finish(replace(result, start={**result.start, **change}), None)
        return " ".join(one.detail for one in verify(tmp_path / "run", records=tmp_path, weights=file))

    assert "of the public weights alone" in found()
    assert "those of the public weights alone NOT COMPARED" in found(None)
    with pytest.raises(VerificationFailure, match=r"result\.json, start: 'accuracy'"):
        found(accuracy=0.123)
    with pytest.raises(VerificationFailure, match=r"result\.json, start must hold .* it has 'epsilon'"):
        found(epsilon=0.1)


@pytest.mark.parametrize(("model", "evaluate"), [({"name": "logistic"}, True), ({}, False)])
def test_nothing_is_measured_of_a_head_from_zero_or_without_leave(
    document: dict[str, Any], tmp_path: Path, model: dict[str, Any], evaluate: bool
) -> None:
    document["model"] = model or document["model"]
    document["run"]["evaluate"] = evaluate
    out = trained(document, tmp_path / "run")
    assert "start" not in json.loads((out / "result.json").read_text())
    assert list(verify(out))


def test_a_training_that_began_elsewhere_than_at_the_stated_weights_is_seen_with_the_file(
    document: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan is honest; the ledger names what the first release started from."""
    with monkeypatch.context() as forged:
        forged.setattr(job, "initial_state", lambda plan, weights: initial_state(plan, 0.5 * weights))
        out = trained(document, tmp_path / "run")
    assert "NOT COMPARED" in verified(out)
    with pytest.raises(VerificationFailure, match="must start from the plan's initial weights"):
        verified(out, weights=Path(document["model"]["pretrained"]["file"]))


def test_what_a_training_released_is_a_file_to_begin_at(document: dict[str, Any], tmp_path: Path) -> None:
    first = trained(document, tmp_path / "first")
    released = discreet.open_run(first)
    file = first / "model.safetensors"
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    again = prepared(document, pretrained={"file": str(file), "sha256": digest, **ABOUT})
    np.testing.assert_array_equal(flatten(again.model), flatten(released.model))


def test_several_labels_and_evaluations_and_counts_of_classes_go_with_it(tmp_path: Path) -> None:
    rows = "".join(f"{age},{age % 2},{age // 50}\n" for age in range(100))
    (tmp_path / "rows.csv").write_text("age,ill,old\n" + rows)
    head = np.array([[3.0, 0.0], [0.0, -3.0]], np.float32)
    data: dict[str, Any] = {
        "source": f"csv:{tmp_path / 'rows.csv'}",
        "ranges": {"age": [0, 100]},
        "classes": ["0", "1"],
    }
    data |= {"record_capacity": 60, "partition": {"kind": "iid", "silos": 3}, "test_fraction": 0.3}
    document: dict[str, Any] = {
        "data": data | {"label": ["ill", "old"]},
        "model": {"pretrained": pretrained(tmp_path, weight=head)},
        "training": {"rounds": 2, "local": {"kind": "stable-steps"}},
        "privacy": {"epsilon": 8.0, "delta": 1e-5},
        "run": {"seed": 1, "compare": False},
    }
    out = trained(document, tmp_path / "labels")
    assert load_model(out).network.network.weight.shape == (2, 2)
    assert "NOT COMPARED" in verified(out)
    local = {"kind": "stable-steps", "class_weights": {"kind": "private"}}
    binary = document | {
        "evaluate": {"every": 1, "epsilon": 1.0},
        "data": data | {"label": "old"},
        "training": {"rounds": 2, "local": local},
    }
    binary["model"] = {"pretrained": pretrained(tmp_path, "one", weight=head[:1])}
    plan = prepared(binary).plan
    assert None not in (plan.preparation, plan.evaluation)


def test_a_program_names_the_file_by_an_argument(tmp_path: Path) -> None:
    rng, labels = np.random.default_rng(0), np.arange(40) % 3
    head = discreet.head_of_texts(list(np.eye(3)[:, None]), scale=4.0)
    begins = pretrained(tmp_path, weight=head)
    both = discreet.Arrays(
        {name: (rng.normal(size=(40, 3)) + 3.0 * np.eye(3)[labels], labels) for name in ("a", "b", "c")},
        num_classes=3,
        norm_bound=1.0,
    )
    target = discreet.Target(epsilon=8.0, delta=1e-5)
    plan = discreet.plan_training(both.public(capacity=40), target=target, pretrained=begins, rounds=2)
    of_a_path = discreet.plan_training(
        both.public(capacity=40),
        target=target,
        pretrained=begins | {"file": Path(begins["file"])},
        rounds=2,
    )
    assert of_a_path.digest() == plan.digest()
    found = discreet.train(plan, both, seed=1, out=tmp_path / "run")
    assert found.predict(3.0 * np.eye(3)).tolist() == [0, 1, 2]
    with pytest.raises(ConfigurationError, match="'pretrained' must be a table"):
        discreet.plan_training(plan.data, target=discreet.Target(epsilon=1.0), pretrained=3)  # type: ignore[arg-type]


def test_where_nothing_was_completed_the_released_head_is_that_of_the_ledger(
    document: dict[str, Any], tmp_path: Path
) -> None:
    out, config = tmp_path / "run", parse_config(document)
    directory, begun = RunDirectory(out), prepared(document)
    start = initial_state(begun.plan, flatten(begun.model))
    with open_ledger(directory, begun.plan, seeded=True) as ledger:
        for release in range(1, begun.plan.releases + 1):
            ledger.append(Intent(release, announced_digest(begun.plan, start, release)))
            ledger.append(Lost(release, "no sum"))
    result = run(config, out, opening=Opening.RESUME)
    directory.metrics.touch()
    directory.state.touch()
    finish(result, None)
    for weights, basis in (
        (None, Basis.CHAINED),
        (Path(document["model"]["pretrained"]["file"]), Basis.RECOMPUTED),
    ):
        (found,) = [one for one in verify(out, weights=weights) if one.subject == "model, state"]
        assert found.basis is basis
    about = read_model_file(directory.model.read_bytes(), name="model").about
    directory.model.write_bytes(model_file(begun.model, np.full(HEAD.size, 123.0), about, None))
    (out / "manifest.json").unlink()
    seal(out)
    with pytest.raises(VerificationFailure, match="must start from the released weights; it names others"):
        list(verify(out))
