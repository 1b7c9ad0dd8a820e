"""What a plan's guarantees are worth, beside how well they are founded."""

from __future__ import annotations

from discreet.plan.plan import Plan
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.judgement import Judgement, judge
from discreet.privacy.units import Unit


def public_units(plan: Plan) -> int:
    """Returns a public bound on how many units take part: the capacities' sum, or the number of silos."""
    return len(plan.facts.silos) if plan.unit is Unit.CLIENT else sum(plan.capacities)


def judged(plan: Plan, guarantee: Guarantee) -> Judgement:
    """Judges a guarantee about ``plan`` among all units of the plan."""
    return judge(guarantee, public_units(plan))
