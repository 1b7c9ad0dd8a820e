"""What others ask for in their own form holds the report's numbers, rounded up, and no measurement."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main
from discreet.errors import EXIT_BAD_REQUEST, ConfigurationError
from discreet.report import ReportInput
from discreet.report.content import Fact
from discreet.report.nist import nist_table
from discreet.report.registry import registry_entry
from tests.unit.report.conftest import HOSTILE

# schemas/deployments-schema.yaml of opendp/deployments-registry-data, July 2026: the fields of each part.
FIELDS = {
    "basic": {"name", "data_curators", "intended_use", "data_product_type", "data_product_region",
              "description", "publication_date", "data_product_sector"},
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {"privacy_unit", "privacy_unit_details", "privacy_parameters",
                     "privacy_parameters_details"},
    "deployment_model": {"model_name", "model_name_details", "actors", "release_type",
                         "release_type_details", "data_source_type", "data_source_type_details",
                         "access_type", "access_type_details"},
    "accounting": {"post_processing", "composition"},
    "implementation": {"preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"},
    "administrative": {"sources", "notes", "registry_authors"},
}  # fmt: skip
REQUIRED = FIELDS["basic"] - {"data_product_sector"}


@pytest.fixture
def filed(report: ReportInput) -> ReportInput:
    about = (Fact("Purpose", "find | the ill\nearly <i>", "what for"), Fact("Contact", "not stated", "whom"))
    return dataclasses.replace(report, finished="2026-11-23", about=about)


def test_an_entry_has_the_registrys_fields_and_upper_bounds(filed: ReportInput) -> None:
    entry = json.loads(json.dumps(registry_entry(filed)))
    assert set(entry) == {"url_slug", "status", "tier", "deployment"}
    parts: dict[str, dict[str, Any]] = entry["deployment"]
    assert set(parts) == set(FIELDS)
    assert {part: set(found) - FIELDS[part] for part, found in parts.items()} == {
        part: set() for part in FIELDS
    }
    assert set(parts["basic"]) >= REQUIRED
    assert parts["basic"]["intended_use"] == "find | the ill\nearly <i>"
    assert parts["basic"]["publication_date"] == "2026-11-23"
    assert parts["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.988, "delta": 1e-5}
    assert filed.budget.epsilon <= 0.988
    assert parts["administrative"]["registry_authors"] == ["not stated"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"seeded": True}, "simulation"), ({"finished": ""}, "not finished"), ({"budget": None}, "finite ε")],
)
def test_what_is_no_deployment_has_no_entry(
    filed: ReportInput, changes: dict[str, Any], message: str
) -> None:
    if "budget" in changes:
        changes = {"budget": filed.guarantees[-1]}
    with pytest.raises(ConfigurationError, match=message):
        registry_entry(dataclasses.replace(filed, **changes))


def test_the_table_stays_a_table(filed: ReportInput) -> None:
    text = nist_table(filed)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len(rows) > 10
    assert {line.replace("\\|", "").count("|") for line in rows} == {4}
    assert "Purpose: find \\| the ill early &lt;i>" in text
    assert "state: contact" not in text, "who is asked is in the rows that ask it"
    assert "ε 0.988, δ 1e-5 for the plan" in text
    assert "A simulation" not in text
    assert "A simulation" in nist_table(dataclasses.replace(filed, seeded=True))


def test_no_measurement_is_exported(filed: ReportInput) -> None:
    assert filed.final is not None
    both = nist_table(filed) + json.dumps(registry_entry(filed))
    assert not any(number in both for number in ("77.8", "0.7777", "0.877", "0.8765", "0.4567"))
    assert HOSTILE not in nist_table(filed)


def test_the_command_writes_new_files_only(
    directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table, entry = tmp_path / "nist.md", tmp_path / "entry.json"

    def go(*options: str) -> Any:
        monkeypatch.setattr(sys, "argv", ["discreet", "report", str(directory), *options])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    assert not go("--nist", str(table))
    assert table.read_text(encoding="utf-8").startswith("# NIST SP 800-226, asked of: hospitals")
    page = (directory / "report.html").read_bytes()
    (directory / "report.html").unlink()
    capsys.readouterr()
    assert go("--nist", str(table)) == EXIT_BAD_REQUEST
    assert "--nist must name a new file" in capsys.readouterr().err
    assert go("--registry", str(entry)) == EXIT_BAD_REQUEST
    assert "this run is a simulation" in " ".join(capsys.readouterr().err.split())
    assert not entry.exists()
    assert not (directory / "report.html").exists(), "what is refused changes nothing"
    assert not go()
    assert (directory / "report.html").read_bytes() == page
