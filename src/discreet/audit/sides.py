"""The two sides of an evaluated training, each with a guarantee of its own to be attacked."""

from __future__ import annotations

from dataclasses import replace

from discreet.engines.local import Prepared
from discreet.plan.make import make_plan
from discreet.plan.public_model import public_model
from discreet.randomness import SeededRandom

TRAINING, EVALUATION = "training", "evaluations"


def sides(prepared: Prepared, randomness: SeededRandom) -> dict[str, Prepared]:
    """Returns what is attacked, by name: the training, and if there are any its evaluations.

    No unit is on both sides, and each has noise of its own, so each claim is attacked by itself. Evaluations
    ask about weights that are drawn here: a server may announce any, and those of the start, which are zeros
    as a rule, give every record the same score.
    """
    plan, held_out = prepared.plan, prepared.held_out
    if plan.evaluation is None or held_out is None:
        return {TRAINING: prepared}
    config = prepared.config.model_copy(update={"evaluate": None})
    alone = replace(prepared, config=config, plan=make_plan(config, plan.facts), held_out=None)
    asked = plan.questions_about(4.0 * (randomness.uniform(plan.facts.dimension) - 0.5))
    named = asked.config.model_copy(update={"name": f"the evaluations of {config.name}"})
    return {TRAINING: alone, EVALUATION: Prepared(named, held_out, asked, public_model(asked))}
