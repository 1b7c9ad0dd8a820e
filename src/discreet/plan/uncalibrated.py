"""What is known against the probabilities of a released model: residuals that were capped in training."""

from __future__ import annotations

from discreet.data.labels import NUMBER
from discreet.kinds.convex_steps import ConvexStepsSection
from discreet.plan.plan import Plan


def uncalibrated(plan: Plan) -> str:
    """Says why probabilities are not to be taken at their word; '' if no cap is the reason.

    Why a cap does this, and why nothing public repairs it: docs/theory/steps.md. It is a function of the plan
    alone, so it says nothing of the records.
    """
    if plan.questions or plan.facts.num_classes == NUMBER:
        return ""
    trained = (stage.config.training.local for stage in plan.stages)
    cap = min((one.residual_cap for one in trained if isinstance(one, ConvexStepsSection)), default=1.0)
    if cap == 1.0:
        return ""
    return (
        f"Probabilities are not calibrated: residuals are capped at {cap:g} in training, which often makes "
        "them too sure, and not sure enough where labels are clear and records few. Labelled records tell."
    )
