import json
from pathlib import Path

import pytest

from discreet.errors import ConfigurationError, LedgerError
from discreet.privacy.ledger import Intent, LedgerWriter, Lost, Opened
from discreet.report import collect, write_report
from discreet.report.content import AbortedRound, CompletedRound, LostRound


def test_a_finished_run_is_read_back_whole(directory: Path) -> None:
    report = collect(directory)
    assert report.title == "hospitals"
    assert report.seeded
    assert report.silos == ("cleveland", "hungary", "long_beach_va", "switzerland")
    assert (
        [outcome.release for outcome in report.completed]
        == [1, 2]
        == list(range(1, report.charged_rounds + 1))
    )
    assert report.completed[1].survivors == ("cleveland", "hungary", "long_beach_va")
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    assert report.final is not None
    assert report.final.accuracy == lines[-1]["accuracy"]
    assert dict(report.final.by_silo)["cleveland"] == lines[-1]["accuracy/cleveland"]
    assert [outcome.epsilon_spent for outcome in report.completed] == [
        line["epsilon_spent"] for line in lines
    ]
    assert report.units == 4 * 303
    assert report.comparison is not None
    assert [silo for silo, _ in report.comparison.alone] == list(report.silos)
    assert report.plan_digest == json.loads((directory / "plan.json").read_text())["digest"]
    assert (
        report.ledger_head == json.loads((directory / "ledger.jsonl").read_text().splitlines()[-1])["digest"]
    )
    assert "CC BY 4.0" in report.attribution


def test_the_attack_bound_is_no_looser_than_the_guarantee(directory: Path) -> None:
    report = collect(directory)
    assert 0.99 < report.budget.epsilon <= 1.0
    assert report.attack is not None
    for point in report.attack.table:
        by_guarantee = 2.718281829 * point.false_positive_rate + 1e-5
        assert point.false_positive_rate < point.max_true_positive_rate <= by_guarantee
    # A Gaussian mechanism of μ = 0.268 is (1, 1e-5)-DP; its total variation is 2Φ(μ/2) − 1 = 0.1066.
    assert report.attack.max_advantage == pytest.approx(0.1066, rel=0.02)


def test_write_report_writes_page_and_json(directory: Path) -> None:
    page = write_report(directory)
    assert page == directory / "report.html"
    assert "Privacy report: hospitals" in page.read_text(encoding="utf-8")
    data = json.loads((directory / "report.json").read_text(encoding="utf-8"))
    assert data["plan_digest"] == collect(directory).plan_digest
    labels = [fact["label"] for fact in data["facts"]]
    assert {"Sampling", "Noise", "Ring", "Sensitivity", "Clipping", "Survivors"} <= set(labels)
    roles = [citation["role"] for citation in data["citations"]]
    assert "Local training: stable-steps" in roles
    assert "Secure aggregation" not in roles, "the oracle is no published protocol"


def test_interrupted_and_aborted_rounds_are_told(directory: Path) -> None:
    opened = json.loads((directory / "ledger.jsonl").read_text().splitlines()[0])
    (directory / "ledger.jsonl").unlink()
    (directory / "metrics.jsonl").unlink()
    (directory / "comparison.json").unlink()
    from discreet.privacy.ledger import Aborted, Completed

    with LedgerWriter.open(directory / "ledger.jsonl") as ledger:
        ledger.append(Opened(opened["plan_digest"], "secure"))
        ledger.append(Intent(1, "m"))
        ledger.append(Aborted(1, "not-enough-survivors"))
        ledger.append(Intent(1, "m"))
        ledger.append(Completed(1, ("cleveland", "hungary", "switzerland"), "t", "m"))
        ledger.append(Intent(2, "m"))
        report = collect(directory)
        assert [type(outcome) for outcome in report.outcomes] == [AbortedRound, CompletedRound, LostRound]
        ledger.append(Lost(2, "power"))
    report = collect(directory)
    assert not report.seeded
    assert report.outcomes[-1] == LostRound(2, "power")
    assert report.charged_rounds == 2
    assert report.spent.epsilon == pytest.approx(report.budget.epsilon)
    assert report.completed[0].epsilon_spent < report.budget.epsilon
    assert report.completed[0].measured is None
    assert report.final is None
    assert report.comparison is None
    whats = [refusal.what for refusal in report.refusals]
    assert whats[:2] == [
        "an attempt at round 1 was refused (not-enough-survivors)",
        "round 2 was not repeated",
    ]
    write_report(directory)


def test_altered_files_are_refused(directory: Path) -> None:
    plan, ledger = directory / "plan.json", directory / "ledger.jsonl"
    original = plan.read_text(), ledger.read_text()
    plan.write_text(original[0].replace('"rounds": 2', '"rounds": 1'))
    with pytest.raises(ConfigurationError, match="match its own digest"):
        collect(directory)
    plan.write_text(original[0])
    ledger.write_text(original[1].replace('"release":2', '"release":1'))
    with pytest.raises(LedgerError, match="hash chain"):
        collect(directory)
    ledger.unlink()
    with LedgerWriter.open(ledger) as writer:
        writer.append(Opened("00", "secure"))
    with pytest.raises(LedgerError, match="must belong to the plan beside it"):
        collect(directory)
    with pytest.raises(ConfigurationError, match=r"plan\.json must be readable"):
        collect(directory / "nowhere")
