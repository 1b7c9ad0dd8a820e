"""An entry for the Differential Privacy Deployments Registry (https://registry.opendp.org), from a report.

Its fields are those of ``schemas/deployments-schema.yaml`` in https://github.com/opendp/deployments-registry-data
(July 2026). The entry is written as JSON, which every YAML parser reads.
"""

from __future__ import annotations

import re
from typing import Any

from discreet.errors import ConfigurationError
from discreet.privacy.adversary import WithoutSecureAggregation
from discreet.privacy.judgement import judge
from discreet.privacy.notation import delta_text, epsilon_text, pair_text
from discreet.report.board import NOT_STATED
from discreet.report.content import ReportInput
from discreet.report.wording import RELATIONS, UNITS, status_text


def registry_entry(report: ReportInput) -> dict[str, Any]:
    """Returns the entry, a draft of the third tier; what nobody stated says so.

    Guarantee:
        No measurement on held-out records is in it. ε and δ are rounded up.

    Raises:
        ConfigurationError: for a simulation, an unfinished run, or one that promises nothing finite.
    """
    if report.seeded:
        raise ConfigurationError(
            "a registry entry must be about a deployment; this run is a simulation, whose noise comes from "
            "run.seed and can be removed by whoever knows it. Train without a seed."
        )
    if not report.finished:
        raise ConfigurationError("a registry entry must be about a finished run; this one is not finished.")
    if report.budget.is_vacuous:
        raise ConfigurationError("a registry entry must state a finite ε; this run promises none.")
    return {
        "url_slug": re.sub(r"[^a-z0-9]+", "-", report.title.lower()).strip("-") or "training",
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": _basic(report),
            "dp_variant": {
                "variant_name": "Approximate DP",
                "data_domain": _data_domain(report),
                "unprotected_quantities": "Names of the silos, who took part in which round, bounds on the "
                "number of records, columns with their ranges and texts, and all settings are public.",
            },
            "privacy_loss": _privacy_loss(report),
            "deployment_model": _model(report),
            "accounting": {
                "post_processing": f"The server's rule: {_fact(report, 'Server')}.",
                "composition": f"Over {report.planned}, by the accountants that the report "
                "cites; a round that was interrupted after its sum may have been seen is charged.",
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": "Records are read by public rules. Tuning: "
                f"{_said(report, 'Tuning')}.",
                "mechanisms": f"{_fact(report, 'Noise')}. What is sent are integers on a grid. Software: "
                f"{', '.join(' '.join(version) for version in report.versions)}.",
                "justification": f"{_said(report, 'Why this ε')}. Decided by: {_said(report, 'Decided by')}.",
            },
            "administrative": {
                "notes": f"Plan (SHA-256) {report.plan_digest}; last ledger line {report.ledger_head}.",
                "registry_authors": [_said(report, "Contact")],
            },
        },
    }


def _said(report: ReportInput, label: str) -> str:
    """Returns what the parties stated under a label of the report."""
    return next((fact.value for fact in report.about if fact.label == label), NOT_STATED)


def _fact(report: ReportInput, label: str) -> str:
    return next((fact.value for fact in report.facts if fact.label == label), NOT_STATED)


def _basic(report: ReportInput) -> dict[str, Any]:
    return {
        "name": report.title,
        "data_curators": [_said(report, "Controller")],
        "intended_use": _said(report, "Purpose"),
        "data_product_type": "Machine learning model",
        "data_product_region": _said(report, "Region"),
        "description": f"A model ({_fact(report, 'Model')}) that {len(report.silos)} silos trained together "
        "by federated learning with secure aggregation; its weights are released.",
        "publication_date": report.finished,
    }


def _data_domain(report: ReportInput) -> str:
    names = ", ".join(column.name for column in report.columns)
    return (
        f"{_said(report, 'Population')}. At most {report.units:,} units at {len(report.silos)} silos"
        f"{f'; columns: {names}' if names else ''}."
    )


def _privacy_loss(report: ReportInput) -> dict[str, Any]:
    budget = report.budget
    return {
        "privacy_unit": UNITS[budget.unit],
        "privacy_unit_details": f"Neighbouring data sets ({budget.neighboring.value}): {UNITS[budget.unit]} "
        f"{RELATIONS[budget.neighboring]}. Several of one person: {_said(report, 'Records of one person')}.",
        "privacy_parameters": {
            "epsilon": float(epsilon_text(budget.epsilon)),
            "delta": float(delta_text(budget.delta)),
        },
        "privacy_parameters_details": f"For the whole training against {budget.adversary.describe()}; "
        f"{status_text(budget)}. It is {judge(budget, report.units)}.",
    }


def _model(report: ReportInput) -> dict[str, Any]:
    actors = [
        f"- {row.against}: {pair_text(row.epsilon, row.delta)}, {row.status.value}"
        for row in report.guarantees
        if not isinstance(row.adversary, WithoutSecureAggregation)
    ]
    return {
        "model_name": "Federated",
        "model_name_details": "Silos add their share of the noise before anything is sent. Sums: "
        f"{_fact(report, 'Aggregation')}.",
        "actors": "\n".join(["Who may look, and what is guaranteed against each:", *actors]),
        "release_type": "One release",
        "release_type_details": "One training; every further one on the same records adds to its cost.",
        "data_source_type": "Static",
        "access_type": "Non-interactive",
    }
