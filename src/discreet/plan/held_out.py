"""The evaluations of a training: the plan of questions that they carry out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.arrays import Floats
from discreet.config import Config, parse_config
from discreet.config.evaluate import EvaluateConfig
from discreet.errors import ConfigurationError
from discreet.kinds.questions import EvaluationQuestion
from discreet.plan.facts import FederationFacts
from discreet.plan.order import Order

if TYPE_CHECKING:
    from discreet.plan.plan import Plan

TWO_SIDES = (
    "every record keeps what its public coin hangs on (its content as it is read, or its entry in the id "
    "column, and the name of its silo; a person's entry in the person column), so that it is in the training "
    "or among the held-out records, and never in both"
)
NOT_MEASURED = (
    "no exact measurement of held-out records, such as a simulation writes into its folder, was shown to "
    "anybody"
)


def evaluation_config(config: Config, facts: FederationFacts) -> Config:
    """Returns the questions that a training's evaluations ask: of what it holds out, by its own rules.

    The weights are zeros, in whose place come those of the round (`with_weights`).

    Raises:
        ConfigurationError: if the question makes no sense.
    """
    stated = _stated(config)
    rounds = config.training.planned_rounds
    if stated.every > rounds:
        raise ConfigurationError(
            f"'evaluate.every' must be at most the number of rounds, {rounds}; got {stated.every}."
        )
    features = facts.dimension // facts.outputs
    question: dict[str, Any] = {
        "kind": "evaluation",
        "title": "How good is the model on held-out records?",
        "weights": [[0.0] * features] * facts.outputs,
        "trained": facts.model_digest,
        "silos": list(facts.silos),
        "bins": stated.bins if isinstance(stated.bins, int) else list(stated.bins),
    } | stated.model_dump(include={"by", "threshold"}, exclude_none=True)
    capacity = config.data.unit_capacity if stated.capacity is None else stated.capacity
    held_out = config.data if capacity is None else config.data.with_unit_capacity(capacity)
    privacy = config.privacy
    tables = {
        "name": config.name,
        "ask": [question],
        "data": held_out.model_dump(mode="json", exclude_none=True) | {"asked": "held-out"},
        "privacy": {
            "unit": privacy.unit,
            "epsilon": stated.epsilon,
            "delta": privacy.delta,
            "against": privacy.against,
            "mechanism": stated.mechanism,
            "accept_assumptions": list(privacy.accept_assumptions),
        },
        "aggregation": config.aggregation.model_dump(exclude={"bits", "rotation", "noise_first"}),
    }
    found = parse_config(tables, source="'evaluate'")
    count = Order(rounds, stated.every).evaluations
    return found.model_copy(update={"training": found.training.model_copy(update={"rounds": count})})


def with_weights(config: Config, weights: Floats) -> Config:
    """Returns the questions of `evaluation_config` about a model with these weights, shape ``(d,)``.

    They are rounded as the released model's are, which holds single precision.
    """
    (question,) = config.ask or ()
    rows = weights.astype("float32").astype("float64").reshape(len(question.weights), -1)  # type: ignore[union-attr]
    stated = question.model_copy(update={"weights": tuple(map(tuple, rows.tolist()))})
    return config.model_copy(update={"ask": (stated,)})


def judges_balanced(plan: Plan) -> bool:
    """Says whether evaluations are compared by balanced accuracy, in place of accuracy.

    Class weights and a threshold say that the commonest class must not decide, as it does in the accuracy.
    """
    return plan.training.local.weighs is not None or (
        plan.evaluating is not None and plan.evaluating.threshold is not None
    )


def measure_text(plan: Plan) -> str:
    """Names what evaluations are compared by."""
    return "balanced accuracy" if judges_balanced(plan) else "accuracy"


def evaluation_text(plan: Plan) -> str:
    """Says when held-out records are asked, whether that may end the training, and what is released."""
    stated, measure = _stated(plan.config), measure_text(plan)
    stop = "" if stated.stop is None else f"; ends after {stated.stop.patience} without a better {measure}"
    rounds = "every round" if stated.every == 1 else f"every {stated.every} rounds, and after the last"
    best = f"; released is the model of the best {measure}, or the last where none is known"
    (question,) = (plan if plan.evaluation is None else plan.evaluation).config.ask or ()
    called = question.threshold_text() if isinstance(question, EvaluationQuestion) else ""
    if stated.threshold is not None:
        called = f"the second class is called from {stated.threshold:g} on"
    return "; ".join(filter(None, (f"after {rounds}{stop}{best if stated.keep == 'best' else ''}", called)))


def _stated(config: Config) -> EvaluateConfig:
    if config.evaluate is None:
        raise ValueError("a config must state evaluations for them to be planned")
    return config.evaluate
