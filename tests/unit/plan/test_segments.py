"""Rounds with settings of their own: the composed guarantee, and each round's own noise and training."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from discreet.accounting.gdp import gaussian_epsilon
from discreet.config import load_config, parse_config
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError, PrivacyRefusal
from discreet.kinds import ClippedUpdate, SingleStep, StableSteps
from discreet.plan import FederationFacts, Plan, make_plan, parse_plan
from discreet.plan.counted import divisor
from discreet.plan.follows import require_follows
from discreet.plan.guaranteed import against
from discreet.plan.persons import for_persons
from discreet.plan.weight_noise import weight_noise
from discreet.privacy.adversary import ServerWithColluders, WithoutSecureAggregation
from discreet.privacy.wire import digest
from discreet.rounds import require_rows_alike_for

EXAMPLE = Path(__file__).parents[3] / "examples" / "segments.toml"
STABLE = {"kind": "stable-steps", "learning_rate": 0.02, "steps": 4}
NAMES = tuple(f"silo-{number}" for number in range(5))


def plan(
    segments: list[dict[str, Any]] | None,
    local: dict[str, Any] | None = None,
    *,
    training: dict[str, Any] | None = None,
    aggregation: dict[str, Any] | None = None,
    data: dict[str, Any] | None = None,
    evaluate: dict[str, Any] | None = None,
    **privacy: Any,
) -> Plan:
    local = local or {"kind": "single-step"}
    norm = {} if local["kind"] == "stable-steps" else {"clip_norm": 1.0}
    stated = {} if segments is None else {"segments": segments}
    config = parse_config(
        {
            "data": {"source": "digits", "record_capacity": 400, **(data or {})},
            "training": {"local": local, **stated, **(training or {})},
            "privacy": {"epsilon": 2.0, "delta": 1e-5, **norm, **privacy},
            "aggregation": {"protocol": "ideal", "min_survivors": 4, **(aggregation or {})},
            **({} if evaluate is None else {"evaluate": evaluate}),
        }
    )
    facts = FederationFacts(NAMES, (64,), 10, 1.0, 650, "0" * 64, 10, linear=True)
    return make_plan(config, facts)


LATE: list[dict[str, Any]] = [{"rounds": 8}, {"rounds": 2, "noise_scale": 0.5}]


def test_a_segment_of_all_rounds_is_the_plan_of_these_settings() -> None:
    sampling = {"kind": "poisson", "probability": 0.2}
    alone = plan([{"rounds": 6, "sampling": sampling, "clip_norm": 0.5, "noise_scale": 3.0}])
    plain = plan(None, training={"rounds": 6, "sampling": sampling}, clip_norm=0.5)
    for ours, theirs in zip(alone.guarantees, plain.guarantees, strict=True):
        assert ours.epsilon == pytest.approx(theirs.epsilon, rel=1e-6)
        assert (ours.adversary, ours.status, ours.delta) == (theirs.adversary, theirs.status, theirs.delta)
    assert alone.at(6).noise_multiplier == pytest.approx(plain.noise_multiplier, rel=1e-5)
    assert alone.grid.scale == plain.grid.scale


def test_a_cut_between_alike_rounds_changes_nothing() -> None:
    cut, whole = plan([{"rounds": 3}, {"rounds": 5}]), plan([{"rounds": 8}])
    assert cut.grid == whole.grid
    assert cut.noise_multiplier == pytest.approx(whole.noise_multiplier, rel=1e-9)
    for rounds in (1, 3, 4, 8):
        assert cut.spent(rounds).epsilon == pytest.approx(whole.spent(rounds).epsilon, rel=1e-9)


def test_unlike_rounds_compose_as_gaussians_do() -> None:
    """Without sampling everything is one Gaussian comparison, worked out here: μ² = Σ rounds / z²."""
    made = plan(LATE)
    assert made.rounds == 10
    early, late = made.at(8).noise_multiplier, made.at(9).noise_multiplier
    assert late == pytest.approx(early / 2.0, rel=1e-9)
    assert made.spent(10).epsilon == pytest.approx(2.0, rel=1e-3)
    for rounds in (1, 8, 9, 10):
        square = min(rounds, 8) / early**2 + max(0, rounds - 8) / late**2
        by_hand = gaussian_epsilon(square**0.5, 1e-5)
        assert by_hand <= made.spent(rounds).epsilon <= 1.01 * by_hand
    # As the local rows: each silo's own share, whose variance is a third of what the target counts.
    local = next(row for row in made.guarantees if isinstance(row.adversary, WithoutSecureAggregation))
    square = 3.0 * (8 / early**2 + 2 / late**2)
    assert local.epsilon == pytest.approx(gaussian_epsilon(square**0.5, 1e-5), rel=0.01)
    assert for_persons(made, records=(2,))[0][1].epsilon == pytest.approx(
        gaussian_epsilon(2.0 * (8 / early**2 + 2 / late**2) ** 0.5, 1e-5), rel=0.01
    )


def test_an_aborted_attempt_counts_as_one_of_each_segment() -> None:
    made = plan(LATE)
    silo = WithoutSecureAggregation("silo-0")
    early, late = made.at(1).noise_multiplier, made.at(10).noise_multiplier
    found = against(made, silo, 1, rounds=10, aborted=2)
    square = 3.0 * (10 / early**2 + 4 / late**2)
    assert found.epsilon == pytest.approx(gaussian_epsilon(square**0.5, 1e-5), rel=0.01)


def test_a_fixed_multiplier_is_that_of_a_segment_of_one() -> None:
    made = plan(LATE, epsilon=None, noise_multiplier=6.0)
    assert made.noise_multiplier == pytest.approx(6.0, rel=1e-9)
    assert made.at(10).noise_multiplier == pytest.approx(3.0, rel=1e-9)


def test_every_round_has_its_own_training_grid_and_divisor() -> None:
    half = {"kind": "poisson", "probability": 0.5}
    made = plan([{"rounds": 2}, {"rounds": 3, "clip_norm": 0.25, "sampling": half, "noise_scale": 1.5}])
    first, later = made.silo_training("silo-1", 2), made.silo_training("silo-1", 3)
    assert isinstance(first, SingleStep)
    assert isinstance(later, SingleStep)
    assert (first.clip_norm, later.clip_norm) == (1.0, 0.25)
    assert divisor(made, 2, NAMES) == 2000.0
    assert divisor(made, 3, NAMES) == 1000.0
    one, two = (made.at(release) for release in (1, 5))
    assert two.grid.scale > 2.0 * one.grid.scale
    # One wire shape for all rounds.
    assert len({(stage.grid.bits, stage.grid.dimension, stage.grid.rotated) for stage in made.stages}) == 1
    total = np.arange(made.grid.dimension, dtype=np.uint64)
    np.testing.assert_array_equal(made.decoded(total, 4), two.decoded(total, 4))
    assert made.decoded(total, 4)[1:].mean() < made.decoded(total, 1)[1:].mean() / 2.0


def test_local_tables_are_changed_key_by_key_and_decays_go_on() -> None:
    table = STABLE | {"records_per_step": 100, "decay": 0.5, "residual_cap": 0.5}
    del table["steps"]
    made = plan([{"rounds": 1}, {"rounds": 2, "local": {"steps": 7, "learning_rate": 0.01}}], table)
    first, last = made.silo_training("silo-0", 1), made.silo_training("silo-0", 3)
    assert isinstance(first, StableSteps)
    assert isinstance(last, StableSteps)
    assert (first.steps, first.learning_rate, first.unit_length) == (4, 0.02, 1.0)
    assert (last.steps, last.learning_rate, last.unit_length) == (7, 0.01, 0.25)
    assert last.loss == first.loss
    assert made.unit_length(3) == 0.25


def test_the_band_around_weights_adds_each_rounds_own_noise() -> None:
    made = plan([{"rounds": 2}, {"rounds": 1, "noise_scale": 3.0, "local": {"learning_rate": 0.01}}], STABLE)
    found = weight_noise(made, dict.fromkeys((1, 2, 3), NAMES))
    assert found is not None
    variance = 0.0
    for release in (1, 2, 3):
        stage = made.at(release)
        share = stage.release.share
        variance += (share.variance / share.num_silos + 0.25) / stage.grid.scale**2 / len(NAMES)
    assert found.stddev == pytest.approx(variance**0.5)
    assert found.proven


def test_clients_have_segments_too() -> None:
    made = plan(
        [{"rounds": 2}, {"rounds": 2, "local": {"epochs": 3}, "clip_norm": 0.5}],
        {"kind": "clipped-update", "learning_rate": 0.1},
        unit="client",
        delta=1e-3,
    )
    last = made.silo_training("silo-0", 4)
    assert isinstance(last, ClippedUpdate)
    assert (last.clip_norm, last.epochs) == (0.5, 3)
    assert made.spent(4).epsilon == pytest.approx(2.0, rel=1e-3)


class UnlikeInLongArrays(nn.Module):
    """What a kernel does that is another one for many rows: it lets them see each other."""

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return inputs + inputs.mean(dim=0) if len(inputs) > 100 else inputs


def test_rows_are_measured_in_the_shapes_of_every_segment() -> None:
    model = nn.Sequential(nn.Linear(64, 4), UnlikeInLongArrays(), nn.Linear(4, 10))
    short: dict[str, Any] = {"rounds": 1, "sampling": {"kind": "poisson", "probability": 0.05}}
    require_rows_alike_for(plan([short]), model, NAMES[:1])
    with pytest.raises(PrivacyRefusal, match="must not depend on its place"):
        require_rows_alike_for(plan([short, {"rounds": 1}]), model, NAMES[:1])


def test_a_plan_with_segments_travels_and_is_checked() -> None:
    made = plan(LATE)
    document = json.loads(made.document())
    assert parse_plan(made.document()) == made
    require_follows(made)
    for change in ("fewer", "noise"):
        altered = json.loads(json.dumps(document["plan"]))
        if change == "fewer":
            altered["segments"].pop()
        else:
            altered["segments"][1]["release"]["share"]["sigma"] = 1.0
        stated = json.dumps({"digest": digest(altered), "plan": altered}).encode()
        with pytest.raises(ConfigurationError):
            require_follows(parse_plan(stated))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training": {"rounds": 10}}, r"'rounds' must be left out where 'segments' state them; got 10"),
        ({"segments": []}, r"'training.segments'"),
        ({"segments": [{"rounds": 2}] * 31}, r"'training.segments'"),
        ({"segments": [{"rounds": 60_000}] * 2}, r"at most 100,000, which .* they come to 120,000. Plan"),
        ({"segments": [{"rounds": 2, "noise_scale": 0.0}]}, r"'training.segments.0.noise_scale'"),
        ({"segments": [{"rounds": 2, "noise": 1.0}]}, r"unknown key 'training.segments.0.noise'"),
        ({"segments": [{"rounds": 2, "local": {"stile": 1}}]}, r"'segments.0': 'local.stile': Extra"),
        ({"segments": [{"rounds": 2, "local": {"kind": "sharded"}}]}, r"'local.kind' must be the same"),
        ({"local": STABLE, "segments": [{"rounds": 2, "local": {"decay": 0.9}}]}, r"'local.decay' must be"),
        ({"local": STABLE, "segments": [{"rounds": 2, "local": {"steps": -1}}]}, r"'segments.0': 'local.st"),
        ({"local": STABLE, "segments": [{"rounds": 1}, {"rounds": 2, "clip_norm": 1.0}]},
         r"'training.segments.1': 'privacy.clip_norm' must be left out"),
        ({"local": {"kind": "noisy-steps", "learning_rate": 0.1, "steps": 2}}, r"left out for noisy-steps"),
        ({"clip_norm": {"quantile": 0.5, "initial": 1.0}}, r"'privacy.clip_norm' must be a number with"),
        ({"training": {"schedule": {"kind": "buffered", "buffer": 4}}}, r"'schedule' must be left out with"),
        ({"local": {"kind": "stable-steps"}}, r"'segments' must be left out where stable-steps have no"),
        ({"segments": [{"rounds": 2}, {"rounds": 2, "sampling": {"kind": "fixed-size", "fraction": 0.1}}]},
         r"must all have fixed-size sampling, or none"),
        ({"data": {"test_fraction": 0.2}, "evaluate": {"every": 2, "epsilon": 0.5}},
         r"'evaluate' must be left out with"),
    ],
)  # fmt: skip
def test_what_is_not_proven_is_refused_in_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as refusal:
        plan(**({"segments": LATE} | changes))
    assert "\n" not in str(refusal.value)


def test_segments_together_meet_the_target() -> None:
    made = prepare(load_config(EXAMPLE))
    assert isinstance(made.plan.budget_adversary()[0], ServerWithColluders)
    assert made.plan.spent(18).epsilon == pytest.approx(1.0, rel=1e-3)
