"""A loss of the user's own: its constants are tried, its sensitivity holds, its guarantee says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet
from discreet.audit.following import FollowingCoins
from discreet.config import parse_config
from discreet.data.records import Records
from discreet.errors import ConfigurationError
from discreet.kinds import BinaryLogistic, StableSteps
from discreet.kinds.float_error import MAX_NORM, MIN_NORM
from discreet.kinds.stated_loss import StatedLoss, require_as_stated
from discreet.learning import local_update
from discreet.models import LinearHead
from discreet.plan.assumptions import OWN_LOSS
from discreet.privacy.assumptions import numbered
from tests.support import own_losses
from tests.unit.plan.planned import plan

OWN = own_losses.__name__
HUBER = StatedLoss(f"{OWN}:huber_margin", 1, residual_norm=2.0, curvature=1.0)
SMOOTHED = StatedLoss(f"{OWN}:smoothed_softmax", 3, residual_norm=2.0**0.5, curvature=0.5)


@pytest.mark.parametrize(("loss", "classes"), [(HUBER, 2), (SMOOTHED, 3)])
def test_what_is_as_stated_passes(loss: StatedLoss, classes: int) -> None:
    require_as_stated(loss, classes)


@pytest.mark.parametrize(
    ("name", "norm", "curvature", "said"),
    [
        ("huber_margin", 1.5, 1.0, "'residual_norm' .* stated is 1.5, and some reach 2"),
        ("huber_margin", 2.0, 0.8, "'curvature' .* stated is 0.8, and some reach 1"),
        ("not_convex", 2.0, 1.0, "must be convex in the logits"),
        ("another_gradient", 2.0, 1.0, "must return its own gradient"),
        ("of_the_batch", 2.0, 1.0, "must treat every record by itself"),
        ("of_another_shape", 2.0, 1.0, "must return losses of shape"),
        ("is_missing", 2.0, 1.0, "Cannot import loss"),
    ],
)
def test_what_is_visibly_not_as_stated_is_refused(
    name: str, norm: float, curvature: float, said: str
) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        require_as_stated(StatedLoss(f"{OWN}:{name}", 1, norm, curvature), 2)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "constants", [(0.0, 1.0), (1.0, np.inf), (np.nan, 1.0), (1e-200, 1.0), (1e200, 1.0), (1.0, 0.0)]
)
def test_constants_are_positive_numbers(constants: tuple[float, float]) -> None:
    with pytest.raises(ConfigurationError, match="must be positive"):
        StatedLoss(f"{OWN}:huber_margin", 1, *constants)


@pytest.mark.parametrize("norm", [MIN_NORM, MAX_NORM])
def test_gradients_are_shortened_to_the_smallest_and_largest_norm_that_may_be_stated(norm: float) -> None:
    own = StatedLoss(f"{OWN}:as_long_as_the_logits", 1, residual_norm=norm, curvature=1.0)
    lengths = np.array([[0.5], [2.0], [1e60]]) * norm
    _, residuals = own.losses_and_residuals(lengths, np.zeros(3, np.int64))
    assert (residuals / norm).ravel() == pytest.approx([0.5, 1.0, 1.0])


def kind(loss: StatedLoss, rate: float, steps: int | None = None) -> StableSteps:
    return StableSteps(loss, 1.0, rate, steps=steps, record_capacity=60)


def records(trial: int, classes: int) -> Records:
    rng = np.random.default_rng(trial)
    features = rng.normal(size=(30, 4))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    return Records(features.astype(np.float32), rng.integers(0, classes, 30))


@pytest.mark.parametrize(("loss", "classes", "rate"), [(HUBER, 2, 1.99), (SMOOTHED, 3, 3.99)])
@pytest.mark.parametrize("steps", [None, 3])
def test_one_record_moves_the_claim_and_no_more(
    loss: StatedLoss, classes: int, rate: float, steps: int | None
) -> None:
    found = kind(loss, rate if steps is None else 0.02, steps)
    moved, places = 0.0, np.arange(30)
    for trial in range(60):
        data = records(trial, classes)
        start = (0.0, 3.0, 60.0)[trial % 3] * np.random.default_rng(trial).normal(size=4 * loss.outputs)
        kept = np.delete(places, trial % 30)
        sides = [
            local_update(found, LinearHead(4, loss.outputs), start, part, FollowingCoins(trial, own)).vector
            for part, own in ((data, places), (data.take(kept), kept))
        ]
        moved = max(moved, float(np.linalg.norm(sides[0] - sides[1])))
    assert 0.9 * found.l2_sensitivity() <= moved <= found.l2_sensitivity()


def test_a_gradient_that_is_longer_than_stated_is_shortened_and_no_number_is_nothing() -> None:
    short = StatedLoss(f"{OWN}:huber_margin", 1, residual_norm=0.5, curvature=1.0)
    _, residuals = short.losses_and_residuals(np.array([[-9.0], [np.nan]]), np.array([1, 1]))
    assert residuals.tolist() == [[-0.5], [0.0]]


def test_a_record_for_which_it_raises_counts_for_nothing_and_no_other_is_touched() -> None:
    logits, labels = np.array([[0.25], [1.5], [-2.0]]), np.array([1, 0, 1])
    plain = HUBER.losses_and_residuals(logits[1:], labels[1:])
    odd = StatedLoss(f"{OWN}:raises_sometimes", 1, 2.0, 1.0)
    losses, residuals = odd.losses_and_residuals(logits, labels)
    assert losses[0] == residuals[0, 0] == 0.0
    assert np.array_equal(losses[1:], plain[0])
    assert np.array_equal(residuals[1:], plain[1])


def test_the_logistic_loss_stated_as_ones_own_has_its_constants() -> None:
    own, head = StatedLoss(f"{OWN}:huber_margin", 1, 1.0, 0.25), BinaryLogistic()
    assert (own.lipschitz(1.5), own.smoothness(1.5)) == (head.lipschitz(1.5), head.smoothness(1.5))


LOSS = {"function": f"{OWN}:smoothed_softmax", "residual_norm": 1.42, "curvature": 0.5}


CAPPED = {"kind": "stable-steps", "learning_rate": 0.01, "steps": 4, "residual_cap": 0.5}


def own_plan(local: dict[str, Any], loss: dict[str, Any] | None = LOSS, model: str = "logistic") -> Any:
    config = {
        "data": {"source": "digits", "record_capacity": 400, "partition": {"kind": "iid", "silos": 4}},
        "model": {"name": model, "loss": loss},
        "training": {"local": local, **({} if "learning_rate" not in local else {"rounds": 4})},
        "privacy": {"epsilon": 4.0, "delta": 1e-5},
    }
    return discreet.prepare(parse_config(config)).plan


def test_a_plan_needs_no_import_and_says_what_it_assumes() -> None:
    unseen = LOSS | {"function": "nobody.has_this:loss"}
    made = own_plan({"kind": "stable-steps"}, unseen)
    assert all(OWN_LOSS in row.assumptions for row in made.guarantees)
    assert numbered(made.guarantees)[OWN_LOSS] == 31
    training = made.silo_training("silo-1")
    assert isinstance(training.loss, StatedLoss)
    assert training.loss.residual_norm == 1.42


@pytest.mark.parametrize(
    ("local", "said"),
    [
        ({"kind": "single-step"}, "must be left out but for a linear model under stable-steps"),
        (CAPPED, "must be 1 with a loss"),
    ],
)  # fmt: skip
def test_what_is_not_proven_with_it_is_refused(local: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        plan_with(local)


def plan_with(local: dict[str, Any]) -> None:
    config = {
        "data": {"source": "digits", "record_capacity": 400, "partition": {"kind": "iid", "silos": 4}},
        "model": {"loss": LOSS},
        "training": {"local": local, "rounds": 2},
        "privacy": {"epsilon": 4.0, "delta": 1e-5, **({"clip_norm": 1.0} if "steps" not in local else {})},
    }
    discreet.prepare(parse_config(config))


def test_noise_follows_the_stated_norm() -> None:
    local = {"kind": "stable-steps", "learning_rate": 0.01, "steps": 4}
    one, twice = (own_plan(local, LOSS | {"residual_norm": norm}) for norm in (1.0, 2.0))
    sensitivities = [made.silo_training("silo-1").l2_sensitivity() for made in (one, twice)]
    assert sensitivities[1] == pytest.approx(2.0 * sensitivities[0])
    assert plan(local) is not None


def test_a_program_trains_with_it(tmp_path: Any) -> None:
    rng = np.random.default_rng(0)
    age = rng.uniform(20, 90, 600)
    table = {"age": age, "ill": (age + rng.normal(0, 10, 600) > 55).astype(int)}
    silos = {name: {key: column[k::3] for key, column in table.items()} for k, name in enumerate("abc")}
    frames = discreet.Frames(silos, label="ill", ranges={"age": (20, 90)})
    made = discreet.plan_training(
        frames.public(capacity=220),
        target=discreet.Target(epsilon=4.0),
        loss=discreet.Loss(own_losses.huber_margin, residual_norm=2.0, curvature=1.0),
    )
    run = discreet.train(made, frames, out=tmp_path / "run", seed=1)
    assert run.metrics[-1]["accuracy"] > 0.75
    assert OWN_LOSS in run.guarantees[0].assumptions
    run.verify()
