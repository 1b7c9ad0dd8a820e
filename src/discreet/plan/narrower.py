"""Would another law of noise tell the same questions more exactly?"""

from __future__ import annotations

import math

from discreet.errors import ConfigurationError, PrivacyRefusal
from discreet.mechanisms import NoiseFamily
from discreet.plan.asked import asked_blocks
from discreet.plan.make import make_plan
from discreet.plan.plan import Plan

# Less is not worth another law.
_WORTH = 1.05


def count_noise(plan: Plan) -> float:
    """Returns the standard deviation of the noise that every count of a plan's questions is sure to have.

    Where questions have several weights, it is that of the question with the most noise.
    """
    factor = min(block.factor for block in asked_blocks(plan.config) or ())
    return math.sqrt(plan.release.share.variance) / plan.grid.scale / factor


def narrower_by_laplace(plan: Plan) -> tuple[float, float] | None:
    """Returns the noise of every count, now and with discrete Laplace noise, if that is narrower.

    The target stays the same. It says nothing of what several releases cost together: there Gaussian noise is
    cheaper (docs/theory/integers.md, section 7).
    """
    law = NoiseFamily.DISCRETE_LAPLACE.value
    if not plan.questions or plan.privacy.mechanism == law or plan.privacy.epsilon is None:
        return None
    privacy = plan.privacy.model_copy(update={"mechanism": law})
    try:
        other = make_plan(plan.config.model_copy(update={"privacy": privacy}), plan.facts)
    except (ConfigurationError, PrivacyRefusal):
        return None
    now, then = count_noise(plan), count_noise(other)
    return (now, then) if now > _WORTH * then else None
