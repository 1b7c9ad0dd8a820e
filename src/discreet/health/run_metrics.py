"""A training's metrics, from its status."""

from __future__ import annotations

from discreet.health.exposition import Kind, Metric, counter, gauge
from discreet.health.run_status import RunState, RunStatus


def run_metrics(status: RunStatus) -> tuple[Metric, ...]:
    """Returns the metrics of a training, every family in every state.

    Guarantee:
        All of it is in files that the server has anyway. The seconds of a round include the silos' training,
        as the server sees it.
    """
    spent, last = status.spent, status.last_round
    states = tuple(({"state": str(state)}, float(state is status.state)) for state in RunState)
    return (
        Metric("discreet_run_state", Kind.GAUGE, "1 for the state that the training is in, else 0.", states),
        gauge("discreet_run_silos", "Silos of the plan.", len(status.silos)),
        gauge("discreet_run_rounds_planned", "Rounds of the plan.", status.planned),
        counter("discreet_run_rounds_completed_total", "Rounds completed.", len(spent.completed)),
        counter("discreet_run_rounds_lost_total", "Rounds interrupted; they stay charged.", len(spent.lost)),
        counter(
            "discreet_run_attempts_aborted_total",
            "Attempts that ended before anything was unmasked; not charged.",
            spent.aborted,
        ),
        gauge(
            "discreet_run_epsilon_charged",
            "Epsilon of the releases so far, if nobody ends the training because of what it released.",
            status.epsilon or 0.0,
        ),
        gauge(
            "discreet_run_epsilon_planned",
            "Epsilon after all rounds, and whenever the training ends.",
            status.epsilon_planned,
        ),
        gauge("discreet_run_delta", "The delta that both are stated at.", status.delta),
        gauge(
            "discreet_run_last_round_survivors",
            "Silos in the last sum.",
            None if last is None else len(last.survivors),
        ),
        gauge(
            "discreet_run_last_round_seconds",
            "Wall time of the last round at the server.",
            None if last is None else last.seconds,
        ),
        gauge(
            "discreet_run_last_round_timestamp_seconds",
            "When the last round was written down.",
            None if last is None else last.at.timestamp(),
        ),
    )
