"""What is known against the probabilities of a released model: capped residuals, and weighted classes."""

from __future__ import annotations

from discreet.data.labels import NUMBER
from discreet.kinds.preparation import ClassWeightsConfig
from discreet.kinds.weighted import ClassWeights, weights_text
from discreet.plan.plan import Plan

ENTRY = "probabilities"
"""What it is called where files and JSON say it."""


def uncalibrated(plan: Plan) -> str:
    """Says why probabilities are not to be taken at their word; '' if neither caps nor weights are a reason.

    Why a cap does this, and why nothing public repairs it: docs/theory/steps.md. Why weights do: the least
    mean log loss under weights w is at probabilities in proportion to w_k·P(k | x). It is a function of the
    plan alone, so it says nothing of the records.
    """
    if plan.questions or plan.facts.num_classes == NUMBER:
        return ""
    trained = [stage.config.training.local for stage in plan.stages]
    cap = min(one.caps for one in trained)
    weights = [one.weighs for one in trained if one.weighs is not None and _apart(one.weighs)]
    reasons = []
    if cap != 1.0:
        reasons.append(
            f"residuals are capped at {cap:g} in training, which often makes them too sure, and not sure "
            "enough where labels are clear and records few"
        )
    if weights:
        told = " or ".join(dict.fromkeys(map(weights_text, weights)))
        reasons.append(
            f"classes weigh {told} in training, so that they are stated as if the classes were as frequent "
            "as weighted"
        )
    return f"Probabilities are not calibrated: {'; '.join(reasons)}. Labelled records tell." * bool(reasons)


def _apart(weights: ClassWeights) -> bool:
    """Says whether some class weighs more than another, or may."""
    return isinstance(weights, ClassWeightsConfig) or len(set(weights)) > 1
