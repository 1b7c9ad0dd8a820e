"""What a report says of a plan, for every kind of training, mechanism and protocol."""

import itertools
import re
from typing import Any

import pytest

from discreet.accounting import Pld, Rdp, epsilon
from discreet.config import parse_config
from discreet.engines.local import prepare
from discreet.plan import Plan
from discreet.privacy.events import GaussianNoise, PoissonSampling, Release
from discreet.report.citations import accounting_key, citations
from discreet.report.facts import plan_facts
from discreet.report.refusals import refusals

KINDS: dict[str, dict[str, Any]] = {
    "single-step": {"local": {"kind": "single-step"}, "privacy": {"clip_norm": 0.5}},
    "stable-steps": {
        "local": {"kind": "stable-steps", "learning_rate": 0.02, "records_per_step": 40},
        "sampling": {"kind": "poisson", "probability": 0.5},
    },
    "clipped-update": {
        "local": {"kind": "clipped-update", "learning_rate": 0.1, "epochs": 2},
        "privacy": {"clip_norm": 1.0, "unit": "client", "epsilon": 30.0},
    },
}


def plan_for(kind: str, mechanism: str, protocol: str) -> Plan:
    chosen = KINDS[kind]
    config = {
        "data": {"source": "heart-disease", "record_capacity": 303},
        "training": {
            "rounds": 2,
            "local": chosen["local"],
            **({"sampling": chosen["sampling"]} if "sampling" in chosen else {}),
        },
        "privacy": {"epsilon": 2.0, "delta": 1e-5, "mechanism": mechanism, **chosen.get("privacy", {})},
        "aggregation": {"protocol": protocol},
    }
    return prepare(parse_config(config)).plan


@pytest.mark.parametrize(
    ("kind", "mechanism", "protocol"),
    [
        ("single-step", "rounded-gaussian", "bonawitz"),
        ("stable-steps", "discrete-gaussian", "bell"),
        ("clipped-update", "skellam", "ideal"),
    ],
)
def test_every_kind_has_facts_refusals_and_citations(kind: str, mechanism: str, protocol: str) -> None:
    plan = plan_for(kind, mechanism, protocol)
    facts = {fact.label: fact for fact in plan_facts(plan)}
    assert facts["Local training"].value.startswith(kind)
    assert facts["Noise"].value.startswith(mechanism)
    assert facts["Aggregation"].value.startswith(protocol)
    assert facts["Noise multiplier"].value == f"{plan.noise_multiplier:.4g}"
    assert f"modulo 2^{plan.grid.bits};" in facts["Ring"].value
    assert f"{plan.release.l2_sensitivity:.6g} grid units" in facts["Sensitivity"].value
    claims = " ".join(refusal.what for refusal in refusals(plan, ()))
    assert ("person with several records" in claims) == (kind != "clipped-update")
    assert ("smaller ε through sampling" in claims) == (kind != "stable-steps")
    assert ("each local step" in claims) == (kind == "stable-steps")
    written = "\n\n".join(citation.bibtex for citation in citations(plan))
    keys = re.findall(r"^@\w+\{(\w+),", written, flags=re.MULTILINE)
    needed = {
        "single-step": {"abadi2016", "kairouz2021", "bonawitz2017"},
        "stable-steps": {"wu2017", "hardt2016", "canonne2020", "bell2020"},
        "clipped-update": {"mcmahan2018", "agarwal2021"},
    }
    assert needed[kind] <= set(keys)
    others = (
        set().union(*(needed[other] for other in needed if other != kind)) - needed[kind] - {"kairouz2021"}
    )
    assert not others & set(keys)
    assert "% " not in written, "every source of the accounting has an entry"


def test_every_source_that_accountants_name_has_an_entry() -> None:
    event = Release(GaussianNoise(2.0), 1.0, dimension=3, sampling=PoissonSampling(0.1))
    named = itertools.chain.from_iterable(
        epsilon(event, delta=1e-5, accountant=accountant).citations for accountant in (Pld(), Rdp())
    )
    assert all(accounting_key(source) for source in named)
    assert accounting_key("Nobody 1999 (nothing)") is None
    assert accounting_key("") is None
