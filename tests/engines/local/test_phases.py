"""Where the time of a round goes: every phase is there, and they add up to the round."""

from __future__ import annotations

from pathlib import Path

from discreet.cli.watch import phase_seconds
from discreet.engines.local import run
from discreet.rounds import RoundReport
from tests.engines.local.small_digits import prepared


def test_phases_add_up_to_the_round(tmp_path: Path) -> None:
    config = prepared("noisy", speed={"workers": 1}).config
    reports: list[RoundReport] = []
    run(config, tmp_path / "out", observe=reports.append)
    assert len(reports) == config.training.rounds
    for report in reports:
        assert report.phases is not None
        assert report.sum.seconds is not None
        phases, inner = report.phases, report.sum.seconds
        assert report.seconds == phases.total == phases.sum + phases.server + phases.record + phases.measuring
        parts = (inner.training, inner.encoding, inner.aggregation)
        assert min(parts) >= 0.0
        assert inner.training > 0.0
        assert inner.encoding > 0.0
        assert sum(parts) <= phases.sum + 1e-9


def test_the_log_names_every_phase_once(tmp_path: Path) -> None:
    config = prepared("linear", speed={"workers": 1}).config
    reports: list[RoundReport] = []
    run(config, tmp_path / "out", observe=reports.append)
    names = ["training", "encoding", "aggregation", "sum", "server", "record", "measuring"]
    assert list(phase_seconds(reports[0])) == [f"{name}_seconds" for name in names]
