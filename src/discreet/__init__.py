"""Differentially private federated learning with secure aggregation and guarantees that hold.

The names below are the public ones of everyday use; each package offers more of its own. They are imported
when they are first used, so that ``import discreet`` is quick.

Example:
    >>> import discreet
    >>> step = discreet.Release(discreet.GaussianNoise(1.0), 1.0, 10, discreet.PoissonSampling(0.01))
    >>> round(discreet.epsilon(discreet.Repeated(step, 1000), delta=1e-5).epsilon, 3)
    1.828
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from discreet.version import __version__

if TYPE_CHECKING:
    from discreet import sklearn as sklearn
    from discreet.accounting import calibrate, delta, epsilon, guarantee, tradeoff
    from discreet.config import Config, DataConfig, load_config, parse_config
    from discreet.data import Federation, Records, Silo, load_federation
    from discreet.engines.local.job import Opening, prepare
    from discreet.errors import DiscreetError
    from discreet.models import head_of_texts
    from discreet.plan import Plan, load_plan, make_plan
    from discreet.privacy.adversary import (
        AggregationServer,
        Member,
        ReleasedAnswers,
        ReleasedModels,
        ServerWithColluders,
        WithoutSecureAggregation,
    )
    from discreet.privacy.events import (
        Composed,
        FixedSizeSampling,
        GaussianNoise,
        NoSampling,
        PoissonSampling,
        Release,
        Repeated,
    )
    from discreet.privacy.guarantee import Guarantee
    from discreet.privacy.units import NeighboringRelation, Status, Unit
    from discreet.randomness import SecureRandom, SeededRandom
    from discreet.released import Model, load_model
    from discreet.session import (
        Arrays,
        Frames,
        Loss,
        Run,
        Target,
        composed,
        open_run,
        plan_evaluation,
        plan_questions,
        plan_training,
        train,
    )

HOMES = {
    "accounting": ("calibrate", "delta", "epsilon", "guarantee", "tradeoff"),
    "config": ("Config", "DataConfig", "load_config", "parse_config"),
    "data": ("Federation", "Records", "Silo", "load_federation"),
    "engines.local": ("Opening", "prepare"),
    "errors": ("DiscreetError",),
    "models": ("head_of_texts",),
    "plan": ("Plan", "load_plan", "make_plan"),
    "privacy.adversary": (
        "AggregationServer",
        "Member",
        "ReleasedAnswers",
        "ReleasedModels",
        "ServerWithColluders",
        "WithoutSecureAggregation",
    ),
    "privacy.events": (
        "Composed",
        "FixedSizeSampling",
        "GaussianNoise",
        "NoSampling",
        "PoissonSampling",
        "Release",
        "Repeated",
    ),
    "privacy.guarantee": ("Guarantee",),
    "privacy.units": ("NeighboringRelation", "Status", "Unit"),
    "released": ("Model", "load_model"),
    "randomness": ("SecureRandom", "SeededRandom"),
    "session": (
        "Arrays",
        "Frames",
        "Loss",
        "Run",
        "Target",
        "composed",
        "open_run",
        "plan_evaluation",
        "plan_questions",
        "plan_training",
        "train",
    ),
}
"""Where the public names live."""

_HOME_OF = {name: home for home, names in HOMES.items() for name in names}

__all__ = [
    "AggregationServer",
    "Arrays",
    "Composed",
    "Config",
    "DataConfig",
    "DiscreetError",
    "Federation",
    "FixedSizeSampling",
    "Frames",
    "GaussianNoise",
    "Guarantee",
    "Loss",
    "Member",
    "Model",
    "NeighboringRelation",
    "NoSampling",
    "Opening",
    "Plan",
    "PoissonSampling",
    "Records",
    "Release",
    "ReleasedAnswers",
    "ReleasedModels",
    "Repeated",
    "Run",
    "SecureRandom",
    "SeededRandom",
    "ServerWithColluders",
    "Silo",
    "Status",
    "Target",
    "Unit",
    "WithoutSecureAggregation",
    "__version__",
    "calibrate",
    "composed",
    "delta",
    "epsilon",
    "guarantee",
    "head_of_texts",
    "load_config",
    "load_federation",
    "load_model",
    "load_plan",
    "make_plan",
    "open_run",
    "parse_config",
    "plan_evaluation",
    "plan_questions",
    "plan_training",
    "prepare",
    "tradeoff",
    "train",
]


def __getattr__(name: str) -> Any:
    """Imports a public name from its home, or the package of scikit-learn's estimators."""
    if name == "sklearn":
        return importlib.import_module("discreet.sklearn")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")
    return getattr(importlib.import_module(f"discreet.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
