"""Attacks on what is printed: assumptions that are missing, probabilities left out, numbers rounded down."""

from __future__ import annotations

import itertools
import math
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from typer.testing import CliRunner

from discreet.accounting import delta as delta_of
from discreet.accounting import epsilon
from discreet.accounting.gdp import gaussian_delta
from discreet.cli.app import app
from discreet.config import parse_config
from discreet.errors import ConfigurationError
from discreet.models import build_model, described
from discreet.plan import Plan, federation_facts, make_plan
from discreet.privacy.adversary import AggregationServer
from discreet.privacy.events import Composed, Event, Failure, GaussianNoise, Release, Repeated
from discreet.privacy.guarantee import Guarantee
from tests.attacks.outcome import Outcome


def planned(silos: int, bound: float | None = None, **tables: dict[str, object]) -> Plan:
    """Plans a linear head for ``silos`` silos, by public facts alone."""
    model = build_model("logistic", (64,), 10, seed=0)
    made = parse_config(
        {
            "data": {
                "source": "digits", "record_capacity": 50, "partition": {"kind": "iid", "silos": silos}
            },
            "training": {"rounds": 20, "local": {"kind": "single-step"}},
            "privacy": {"epsilon": 2.0, "delta": 1e-5, "clip_norm": 0.5},
            **tables,
        },
        source="test",
    )  # fmt: skip
    names = tuple(f"s{number}" for number in range(silos))
    facts = federation_facts(
        names, feature_shape=(64,), num_classes=10, feature_norm_bound=bound, model=described(model, (64,))
    )
    return make_plan(made, facts)


# --- 8: the sparse graph ------------------------------------------------------------------------------------


def sparse_plan(delta: float) -> Plan:
    """Two hundred silos under Bell's sparse graph, in the mode called malicious."""
    return planned(
        200,
        privacy={"epsilon": 2.0, "delta": delta, "clip_norm": 0.5},
        aggregation={"protocol": "bell", "mode": "malicious", "min_survivors": 180, "max_colluding": 10},
    )


def server_row(plan: Plan) -> Guarantee:
    """Returns the row about the server alone."""
    return next(row for row in plan.guarantees if isinstance(row.adversary, AggregationServer))


def is_silent(row: Guarantee) -> bool:
    """Says whether a row leaves out that the server must commit to the list of keys."""
    return not any("commit" in text for text in row.assumptions)


def an_assumption_of_the_sparse_graph() -> Outcome:
    """A sparse graph is secure against a server that commits to its keys first; a malicious one need not."""
    name, before = (
        "8: sparse graph against a server that lies from the start",
        "PROVEN without the assumption",
    )
    try:
        row = server_row(sparse_plan(1e-8))
    except ConfigurationError as error:
        return Outcome(name, before, f"refused: {str(error)[:60]}…", works=False)
    named = "assumption is missing" if is_silent(row) else "assumption is named"
    return Outcome(name, before, f"{row.status.value}, {named}", is_silent(row))


def a_failure_of_the_sparse_graph() -> Outcome:
    """Secrecy fails with probability up to 2^-40 a graph, which is a tenth of δ = 1e-11."""
    name, before = "8: failure of the sparse graph at δ = 1e-11", "2^-40 a graph in no δ"
    try:
        plan = sparse_plan(1e-11)
    except ConfigurationError as error:
        return Outcome(name, before, f"refused: {str(error)[:60]}…", works=False)
    server, models = server_row(plan).epsilon, plan.guarantees[0].epsilon
    return Outcome(
        name,
        before,
        f"ε = {server:.6f} against the server, {models:.6f} without a graph",
        # Both face the same noise, so what the server's row has more is the graph's failure.
        not server > models,
    )


# --- 9: failure probabilities, and numbers as printed -------------------------------------------------------


def failures(event: Event) -> Iterator[Failure]:
    """Yields the failures that an event counts."""
    match event:
        case Composed(events=events):
            yield from itertools.chain.from_iterable(map(failures, events))
        case Failure():
            yield event


def rounding_failures(plan: Plan) -> float:
    """Returns what δ holds for the rounding of all rounds."""
    found = failures(plan.event(plan.thresholds.min_survivors, plan.rounds))
    return sum(failure.prob for failure in found if "round" in failure.reason)


def dithered_rounding() -> Outcome:
    """In stable-steps the dither's failure hangs on the unit's own step too: both neighbours count."""
    training = {"rounds": 20, "local": {"kind": "stable-steps", "learning_rate": 0.01, "steps": 3}}
    plan = planned(5, 1.0, training=training, privacy={"epsilon": 2.0, "delta": 1e-5})
    counted, needed = rounding_failures(plan), 2.0 * plan.rounds * plan.grid.rounding_failure_prob
    return Outcome(
        "9: dithered rounding of stable-steps",
        "Tβ counted of 2Tβ",
        f"{counted:.3g} counted of {needed:.3g}",
        counted < needed * (1.0 - 1e-9),
    )


def a_small_delta() -> Outcome:
    """δ = 1e-12 over twenty rounds."""
    name, before = "9: δ = 1e-12 over 20 rounds", "refused with a wrong reason"
    found = []
    for protocol in ("bonawitz", "bell"):
        try:
            plan = planned(
                5,
                privacy={"epsilon": 2.0, "delta": 1e-12, "clip_norm": 0.5},
                aggregation={"protocol": protocol},
            )
        except ConfigurationError as error:
            return Outcome(name, before, f"{protocol}: {str(error)[:60]}…", works=True)
        found.append(f"{protocol} ε = {plan.guarantees[0].epsilon:.3f}")
    return Outcome(name, before, ", ".join(found), works=False)


def printed(*arguments: str) -> str:
    """Returns what a command prints to a pipe."""
    return CliRunner().invoke(app, list(arguments)).output


def no_delta() -> Outcome:
    """Gaussian noise has no δ = 0 at any ε."""
    text = printed("account", "--noise-multiplier", "1", "--epsilon", "40")
    line = next((line for line in text.splitlines() if "-DP" in line), text[:60])
    zero = re.search(r",\s*0(\.0*)?\)-DP", text) is not None
    return Outcome(
        "9: δ of Gaussian noise at ε = 40",
        "(40, 0)-DP, PROVEN",
        line.split(" under")[0].strip(),
        zero or not gaussian_delta(1.0, 40.0) > 0.0,
    )


def rounded_down(numbers: Iterable[tuple[float, str]]) -> tuple[float, str] | None:
    """Returns the first ε that is printed smaller than it is."""
    return next(((true, text) for true, text in numbers if float(text) < true), None)


def epsilons_as_printed(show: Callable[..., str] = printed) -> Iterator[tuple[float, str]]:
    """Yields some ε and what ``discreet account`` prints of them."""
    for multiplier in ("1.1", "1.37", "2.3", "3.1", "5.7", "0.83"):
        event = Repeated(Release(GaussianNoise(float(multiplier)), 1.0, 1), 10)
        true = epsilon(event, delta=1e-5).epsilon
        text = show("account", "--noise-multiplier", multiplier, "--steps", "10", "--delta", "1e-5")
        found = re.search(r"\(([0-9.e+-]+),", text)
        if found:
            yield true, found.group(1)


def printed_too_small() -> Outcome:
    """The number on the terminal against the number behind it."""
    numbers = list(epsilons_as_printed())
    found = rounded_down(numbers)
    now = (
        f"{len(numbers)} printed, none smaller" if found is None else f"{found[0]:.9f} printed as {found[1]}"
    )
    return Outcome("9: ε as printed", "3.909000129 printed as 3.909", now, found is not None or not numbers)


_TABLE = """name = "narrow"
[data]
source = "digits"
partition = {{ kind = "iid", silos = 5 }}
record_capacity = 400
[training]
rounds = 1
local = {{ kind = "single-step" }}
[privacy]
epsilon = {epsilon}
delta = 1e-5
clip_norm = 0.5
"""


def plan_as_printed(target: float, columns: int) -> str:
    """Returns what ``discreet plan`` prints for a target on a terminal of so many columns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "narrow.toml"
        path.write_text(_TABLE.format(epsilon=target))
        # What goes to a pipe has a width of its own; only a terminal is narrow.
        terminal = {"COLUMNS": str(columns), "FORCE_COLOR": "1", "TERM": "xterm"}
        text = CliRunner().invoke(app, ["plan", str(path)], env=terminal).output
        return re.sub(r"\x1b\[[0-9;]*m", "", text)


def a_narrow_terminal() -> Outcome:
    """ε, δ and status are shown whole or not at all, however narrow the terminal."""
    shown = {columns: plan_as_printed(2.0, columns) for columns in (40, 60, 80)}
    cut = [columns for columns, text in shown.items() if "…" in text or "PROVEN" not in text]
    now = f"cut at {cut[0]} columns" if cut else "whole at 40, 60 and 80 columns"
    return Outcome("9: a narrow terminal", "ε, δ and status end in an ellipsis", now, bool(cut))


def a_worthless_guarantee() -> Outcome:
    """ε = 100 is PROVEN and protects nobody; a reader must not take the one for the other."""
    text = plan_as_printed(100.0, 200).lower()
    judged = "almost certain" in text or "attacker" in text
    return Outcome(
        "10: PROVEN with ε = 100",
        "no word about what it is worth",
        "judged in words" if judged else "no word about what it is worth",
        not judged,
    )


def exact_delta_underflows() -> Outcome:
    """Ten releases at ε = 1000: the true δ is about 10^-21500, smaller than any float but not zero."""
    event = Repeated(Release(GaussianNoise(1.0), 1.0, 1), 10)
    found = delta_of(event, epsilon=1000.0).delta
    return Outcome(
        "9: δ of ten releases at ε = 1000",
        "0",
        f"{found:.3g}",
        not found > 0.0 or math.isnan(found),
    )


ATTACKS = (
    an_assumption_of_the_sparse_graph,
    a_failure_of_the_sparse_graph,
    dithered_rounding,
    a_small_delta,
    no_delta,
    exact_delta_underflows,
    printed_too_small,
    a_narrow_terminal,
    a_worthless_guarantee,
)
