"""Attacks on rows of the guarantee table: who is absent, who knows a share, how often a message is seen."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm
from typer.testing import CliRunner

from discreet.accounting import epsilon
from discreet.audit.neighbours import Rounds
from discreet.cli.app import app
from discreet.config import parse_config
from discreet.data import Records
from discreet.models import build_model, described, flatten
from discreet.plan import Plan, federation_facts, guarantees_after, make_plan
from discreet.privacy.adversary import AggregationServer, ReleasedModels
from discreet.privacy.events import Composed, GaussianNoise, Release
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.ledger import Completed, Entry, Intent, Opened, read_ledger, spending
from discreet.privacy.units import NeighboringRelation, Status
from discreet.randomness import SeededRandom
from discreet.rounds import contribute
from discreet.silo.policy import Charge
from tests.attacks.outcome import Outcome, epsilon_shown
from tests.contracts.neighbours.worlds import KINDS, config, planned

DELTA = 1e-5
_REPETITIONS = 120


# --- 3: a client is absent, and so is its noise -------------------------------------------------------------


def absence_shown(relation: NeighboringRelation, seed: int = 1) -> float:
    """Returns the ε that the squared length of a sum shows between neighbours of that relation.

    One client without any data, there or not there (add-remove), or with data that move nothing
    (replace-special).
    """
    kind = KINDS["clipped-update"] | {"privacy": {"clip_norm": 1.0, "unit": "client", "epsilon": 1.0}}
    rounds = planned(config(kind, {"source": "npz:unset.npz"}, "mlp"), (8, 8), 10, None)
    empty = Records(np.zeros((0, 8, 8), np.float32), np.zeros(0, np.int64))
    source = SeededRandom(seed)

    def length(present: Iterable[str], *labels: str | int) -> float:
        total = sum(_sent(rounds, name, empty, source.derive(*labels, name)) for name in present)
        return float(np.square(total).sum())

    without = ("a", "b") if relation is NeighboringRelation.ADD_REMOVE else ("a", "b", "c")
    worlds = [
        np.array([length(names, world, number) for number in range(_REPETITIONS)])
        for world, names in (("with", ("a", "b", "c")), ("without", without))
    ]
    middle = (worlds[0].mean() + worlds[1].mean()) / 2.0
    errors = int((worlds[1] > middle).sum()), int((worlds[0] <= middle).sum())
    return epsilon_shown(*errors, _REPETITIONS, DELTA)


def _sent(rounds: Rounds, name: str, records: Records, source: SeededRandom) -> NDArray[np.float64]:
    start = flatten(rounds.model)
    return contribute(
        rounds.plan, name, 1, model=rounds.model, parameters=start, records=records, randomness=source
    ).values.astype(np.float64)


def an_absent_client() -> Outcome:
    """Compares with the relation that the plan states for the released models."""
    kind = KINDS["clipped-update"] | {"privacy": {"clip_norm": 1.0, "unit": "client", "epsilon": 1.0}}
    plan = planned(config(kind, {"source": "npz:unset.npz"}, "mlp"), (8, 8), 10, None).plan
    row = next(claim for claim in plan.guarantees if isinstance(claim.adversary, ReleasedModels))
    shown = absence_shown(row.neighboring)
    return Outcome(
        "3: noise of a client that is absent (client unit)",
        "ε ≥ 4.39 for 1.000",
        f"{row.neighboring.value}: ε ≥ {shown:.2f} for {row.epsilon:.3f}",
        shown > row.epsilon,
    )


# --- 4: a member subtracts its own noise --------------------------------------------------------------------


def member_plan(silos: int) -> Plan:
    """Ten rounds of a linear head, everybody's noise in every sum, target ε = 2."""
    model = build_model("logistic", (64,), 10, seed=0)
    made = parse_config(
        {
            "data": {
                "source": "digits", "record_capacity": 50, "partition": {"kind": "iid", "silos": silos},
            },
            "training": {"rounds": 10, "local": {"kind": "single-step"}},
            "privacy": {"epsilon": 2.0, "delta": DELTA, "clip_norm": 0.5},
        },
        source="test",
    )  # fmt: skip
    names = tuple(f"s{number}" for number in range(silos))
    facts = federation_facts(
        names, feature_shape=(64,), num_classes=10, feature_norm_bound=None, model=described(model, (64,))
    )
    return make_plan(made, facts)


def uncovered(plan: Plan, rows: Iterable[Guarantee]) -> tuple[float, float]:
    """Returns ε against a silo that knows its own noise, and what the row about other silos claims.

    The first is worked out here and not by the accountant: the sums' noise is as good as Gaussian, and the
    (ε, δ) of Gaussian releases has a closed form (Balle and Wang 2018, Theorem 8).
    """
    others = plan.release.share.variance / plan.release.share.num_silos * (plan.thresholds.min_survivors - 1)
    mu = math.sqrt(plan.rounds / others) * plan.release.l2_sensitivity

    def excess(value: float) -> float:
        left, right = norm.cdf(mu / 2 - value / mu), norm.cdf(-mu / 2 - value / mu)
        return float(left - math.exp(value) * right - DELTA)

    true = brentq(excess, 0.0, 100.0)
    claims = [row.epsilon for row in rows if "another participating" in row.adversary.describe()]
    return true, max(claims, default=math.nan)


def a_member_without_its_own_noise() -> Outcome:
    """Three, five and ten silos; the target is ε = 2."""
    found, works = [], False
    for silos in (3, 5, 10):
        plan = member_plan(silos)
        true, claimed = uncovered(plan, plan.guarantees)
        works = works or not true <= claimed or not true <= 2.0
        found.append(f"{silos} silos {true:.3f}")
    return Outcome(
        "4: a member subtracts its own noise",
        "3 silos 2.510, 5 silos 2.266 for 2.000",
        ", ".join(found) + (" for no claim" if math.isnan(claimed) else " for 2.000"),
        works,
    )


# --- 5: attempts that were aborted, and every one showed a message ------------------------------------------

_ABORTING = """name = "aborts"
[data]
source = "digits"
partition = {{ kind = "iid", silos = 5 }}
record_capacity = 400
[training]
rounds = 1
local = {{ kind = "single-step" }}
[privacy]
epsilon = 2.0
delta = 1e-5
clip_norm = 0.5
[aggregation]
mode = "semi-honest"
[run]
seed = 1
evaluate = false
{dropouts}
"""
_DROPOUT = 'dropouts = [{ silo = "silo-3", round = 1, stage = "mask" }]'


def attempts(folder: Path) -> tuple[dict[str, Any], Plan, int]:
    """Aborts three attempts, and twice more on resuming, then succeeds; result, plan and messages sent."""
    from discreet.plan import load_plan

    path, out = folder / "aborts.toml", folder / "run"
    path.write_text(_ABORTING.format(dropouts=_DROPOUT))
    command = ["run", str(path), "--out", str(out), "--quiet"]
    CliRunner().invoke(app, command)
    CliRunner().invoke(app, [*command, "--resume"])
    path.write_text(_ABORTING.format(dropouts=""))
    CliRunner().invoke(app, [*command, "--resume"])
    sent = sum(isinstance(line.entry, Intent) for line in read_ledger(out / "ledger.jsonl"))
    return json.loads((out / "result.json").read_text()), load_plan(out / "plan.json"), sent


def understated(rows: Iterable[dict[str, Any]], plan: Plan, sent: int) -> tuple[float, float]:
    """Returns ε of ``sent`` messages with one share each, and the least that a row about them prints."""
    true = epsilon(plan.event(1, sent), delta=DELTA).epsilon
    own = [row for row in rows if "WithoutSecureAggregation" in json.dumps(row)]
    return true, min((float(row["epsilon"]) for row in own), default=math.inf)


def aborted_attempts() -> Outcome:
    """The rows that a finished run prints, against every message that left a silo."""
    with tempfile.TemporaryDirectory() as folder:
        result, plan, sent = attempts(Path(folder))
    true, printed = understated(result["guarantees"], plan, sent)
    return Outcome(
        "5: attempts that were aborted (own message)",
        "printed 5.001, true 20.760 (10 messages)",
        f"printed {printed:.3f}, true {true:.3f} ({sent} messages)",
        printed < true * (1.0 - 1e-9) or sent < 2,
    )


# --- 7: the server chooses who survives, after it has seen a sum --------------------------------------------


def adaptive_delta(epsilons: tuple[float, float], mus: tuple[float, float, float]) -> float:
    """Returns the true δ if round 2's noise is chosen after round 1 and ε is reported for what was chosen.

    Exact for Gaussian releases: the first loss is normal, and given it the hockey-stick divergence of the
    second has a closed form (Balle and Wang 2018, Theorem 8).

    Args:
        epsilons: what is reported if the second round is noisier, and if it is less noisy.
        mus: sensitivity ÷ noise of round 1, and of round 2 in both cases.
    """
    points = np.linspace(-9.0, 9.0, 20001)
    weights = norm.pdf(points) / norm.pdf(points).sum()
    first = mus[0] ** 2 / 2.0 + mus[0] * points

    def tail(reported: float, mu: float) -> NDArray[np.float64]:
        left = reported - first
        below = norm.cdf(-mu / 2.0 - left / mu)
        return np.asarray(norm.cdf(mu / 2.0 - left / mu) - np.exp(left) * below)

    chosen = np.maximum(tail(epsilons[0], mus[1]), tail(epsilons[1], mus[2]))
    return float((weights * chosen).sum())


_CHOICES = ((50, 50, 3), (10, 50, 3), (20, 50, 3))


def odometer(
    plan: Plan, report: Callable[[int, int, tuple[float, ...]], tuple[float, Status]]
) -> tuple[float, Status]:
    """Returns the largest true δ ÷ δ of what is reported as PROVEN, over some choices, and its status."""
    worst, status = 0.0, Status.PROVEN
    share = plan.release.share.variance / plan.release.share.num_silos
    for first, many, few in _CHOICES:
        mus = tuple(plan.release.l2_sensitivity / math.sqrt(share * shares) for shares in (first, many, few))
        (left, status), (right, other) = report(first, many, mus[:2]), report(first, few, (mus[0], mus[2]))
        if Status.PROVEN in (status, other):
            worst = max(worst, adaptive_delta((left, right), (mus[0], mus[1], mus[2])) / DELTA)
    return worst, status


def composed(_first: int, _second: int, mus: tuple[float, ...]) -> tuple[float, Status]:
    """The report of an earlier version: realised noise levels composed as if they had been fixed."""
    event = Composed(tuple(Release(GaussianNoise(1.0 / mu), 1.0, 1) for mu in mus))
    return epsilon(event, delta=DELTA).epsilon, Status.PROVEN


def survivors_plan() -> Plan:
    """Two rounds of fifty silos, of which three must survive."""
    model = build_model("logistic", (64,), 10, seed=0)
    made = parse_config(
        {
            "data": {"source": "digits", "record_capacity": 50, "partition": {"kind": "iid", "silos": 50}},
            "training": {"rounds": 2, "local": {"kind": "single-step"}},
            "privacy": {"noise_multiplier": 1.0, "delta": DELTA, "clip_norm": 0.5},
            "aggregation": {"min_survivors": 3, "mode": "semi-honest"},
        },
        source="test",
    )
    names = tuple(f"s{number}" for number in range(50))
    return make_plan(
        made,
        federation_facts(
            names, feature_shape=(64,), num_classes=10, feature_norm_bound=None, model=described(model, (64,))
        ),
    )


def survivors_after_the_fact() -> Outcome:
    """What a finished run reports for the noise of the survivors that an adversary chose."""
    plan = survivors_plan()
    name = "7: survivors chosen after a sum was seen"
    before = "true δ = 1.84 × what is reported as PROVEN"

    def after_run(first: int, second: int, _: tuple[float, ...]) -> tuple[float, Status]:
        entries: list[Entry] = [Opened(plan.digest(), "secure")]
        for release, count in enumerate((first, second), 1):
            survivors = plan.facts.silos[:count]
            entries += [Intent(release, ""), Completed(release, survivors, "", "")]
        rows = guarantees_after(plan, spending(tuple(entries)))
        found = next(row for row in rows if isinstance(row.adversary, AggregationServer))
        return found.epsilon, found.status

    worst, status = odometer(plan, after_run)
    return Outcome(name, before, f"true δ = {worst:.2g} × reported; {status.value}", worst > 1.0 + 1e-6)


# --- 8: a training is ended by what it released -------------------------------------------------------------

_WALKS = 100_000


def stopping_plan() -> Plan:
    """Ten rounds of (1, 0.01): a δ that is large enough to be seen in a sample."""
    made = member_plan(5).config
    privacy = made.privacy.model_copy(update={"epsilon": 1.0, "delta": 0.01})
    return make_plan(made.model_copy(update={"privacy": privacy}), member_plan(5).facts)


def stopped_delta(plan: Plan, stated: Callable[[int], float], seed: int = 1) -> float:
    """Returns a lower bound on the true δ if a training ends when its loss exceeds the ε stated so far.

    The losses of Gaussian rounds are a random walk. The bound is four standard errors below the mean.
    """
    _, shares = plan.budget_adversary()
    noise = plan.release.share.variance / plan.release.share.num_silos * shares
    mu = plan.release.l2_sensitivity / math.sqrt(noise)
    steps = np.random.default_rng(seed).standard_normal((_WALKS, plan.rounds))
    losses = np.cumsum(mu * steps + mu**2 / 2.0, axis=1)
    above = losses - np.array([stated(count) for count in range(1, plan.rounds + 1)])
    first = (above > 0.0).argmax(axis=1)
    excess = -np.expm1(-np.maximum(above[np.arange(_WALKS), first], 0.0))
    return float(excess.mean() - 4.0 * excess.std() / math.sqrt(_WALKS))


def an_end_chosen_by_what_was_released() -> Outcome:
    """Compares with what is PROVEN of the rounds so far: by the plan, and as a silo's budget adds it up."""
    plan = stopping_plan()
    charge, whole = Charge(plan, plan.thresholds.max_colluding), plan.spent(plan.releases)

    def stated(count: int) -> float:
        row = plan.spent(count)
        proven = row.epsilon if row.status is whole.status else whole.epsilon
        return min(proven, charge.added(count)[0])

    delta = stopped_delta(plan, stated)
    now = f"δ ≥ {max(0.0, delta):.2g} for {whole.delta:g}"
    return Outcome(
        "8: a training ended by what it released", "δ ≥ 0.019 for 0.01, PROVEN", now, delta > whole.delta
    )


ATTACKS = (
    an_absent_client,
    a_member_without_its_own_noise,
    aborted_attempts,
    survivors_after_the_fact,
    an_end_chosen_by_what_was_released,
)
