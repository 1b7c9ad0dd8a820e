r"""Checking released sums against the records: each is the exact sum and noise, so it lies near by.

Whoever writes all files of a run can put another histogram of held-out records, or another preparation, in
the place of the one that silos summed: ledger, state and page follow from it. Only records show more, and
they do so up to the noise.

With $k$ numbers off by $d_i$, and noise of deviation $\sigma$ in each, no $|d_i|$ leaves the middle
$1-10^{-9}/k$ of its law, and $\sum d_i^2/\sigma^2$ is $\chi^2_k$. Of Laplace noise, $\sigma$ is that of the
normal law which is as wide at that level; within it the normal law is the wider one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist

from scipy.special import chdtri

from discreet.arrays import Floats
from discreet.config.data import DataConfig
from discreet.config.federation import federation_of
from discreet.data import Federation, Records
from discreet.kinds import Asked
from discreet.plan import Plan
from discreet.privacy.ledger import Completed, Intent
from discreet.rounds import RunRecord
from discreet.rounds.engine import RoundOrder
from discreet.rounds.judging import evaluated_from, noise_variance
from discreet.rounds.preparing import RecordsInUse, prepared_from
from discreet.statistics.contribution import asked_vector
from discreet.verify.evidence import Evidence
from discreet.verify.finding import VerificationFailure
from discreet.verify.models import announced_of, saved_parameters

_FALSE_ALARM = 1e-9
"""At most so likely is each of two ways in which an honest sum is refused."""
# What floats tell from zero beside 1; only for sums of more than a million numbers it is the larger one.
_SMALLEST = 1e-15


@dataclass(frozen=True, slots=True)
class _Summed:
    """A released sum of ``plan``, real units, and the records that it is said to be of, by silo."""

    plan: Plan
    release: int
    sums: Floats
    records: Mapping[str, Records]
    where: str


def check_sums(evidence: Evidence, federation: Federation, located: Callable[[Plan], DataConfig]) -> int:
    """Compares what was released of records by itself with their exact sums; returns how many there were.

    These are the answers to questions, the preparation, and the evaluations that were about the released
    weights; of other weights a run keeps nothing to compare with.

    Args:
        evidence: the run.
        federation: its records.
        located: returns a plan's table of data, with the folder of the records.

    Raises:
        VerificationFailure: if one is further off than noise explains.
    """
    weights = saved_parameters(evidence.run)
    if weights is None:
        return 0
    found = [
        *_of_training_records(evidence.run, weights, federation),
        *_of_held_out_records(evidence.run, weights, located),
    ]
    for one in found:
        _require_near(one)
    return len(found)


def not_compared(evidence: Evidence) -> int:
    """Returns how many evaluations were completed that `check_sums` compares with nothing."""
    run, weights = evidence.run, saved_parameters(evidence.run)
    asked = sum(run.plan.order.evaluates(one.release) for one in run.spending.completed)
    return asked - (0 if weights is None else len(_about(run, weights)))


def _of_training_records(run: RunRecord, weights: Floats, federation: Federation) -> Iterator[_Summed]:
    """Yields the sum of the questions, or of the preparation."""
    train = {silo.name: silo.train for silo in federation.silos}
    if run.plan.questions:
        for one in run.spending.completed:
            yield _Summed(run.plan, one.release, weights, _among(train, one), "the answers")
    prepared = prepared_from(run.directory.load_state().arrays)
    if run.plan.preparation is None or prepared is None:
        return
    asked = RecordsInUse(run.plan, train).as_asked()
    for one in run.spending.completed:
        if run.plan.order.prepares(one.release):
            where = run.plan.order.name(one.release)
            yield _Summed(run.plan.preparation, one.release, prepared.sums, _among(asked, one), where)


def _of_held_out_records(
    run: RunRecord, weights: Floats, located: Callable[[Plan], DataConfig]
) -> Iterator[_Summed]:
    """Yields the histograms of the released model."""
    about = _about(run, weights)
    if not about or run.plan.evaluation is None:
        return
    silos = federation_of(located(run.plan.evaluation)).silos
    used = RecordsInUse(run.plan, {silo.name: silo.train for silo in silos}).under(announced_of(run))
    sums = {one.after: one.sums for one in evaluated_from(run.directory.load_state().arrays)}
    for one in about:
        plan, after = run.plan.carried_out(one.release, weights), run.plan.order.round_of(one.release)
        yield _Summed(plan, one.release, sums[after], _among(used, one), run.plan.order.name(one.release))


def _among(records: Mapping[str, Records], made: Completed) -> dict[str, Records]:
    return {silo: records[silo] for silo in made.survivors}


def _about(run: RunRecord, weights: Floats) -> list[Completed]:
    """Returns the evaluations of these weights, by the ledger."""
    started = {one.release: one.started_from for one in run.entries if isinstance(one, Intent)}
    told = announced_of(run)
    return [
        one
        for one in run.spending.completed
        if run.plan.order.evaluates(one.release)
        and started[one.release] == RoundOrder(one.release, 0, weights, prepared=told).context().hex()
    ]


def _require_near(one: _Summed) -> None:
    """Checks that a released sum is that of the records, up to the noise of as many silos.

    Raises:
        VerificationFailure: without saying how far it is off, which is exact.
    """
    count, off = len(one.sums), one.sums.copy()
    for silo, own in one.records.items():
        training = one.plan.silo_training(silo, one.release)
        if not isinstance(training, Asked):
            raise TypeError("a sum that is compared must be one of questions")
        off -= asked_vector(training, own.features, own.labels, own.persons)
    level = 1.0 - max(_FALSE_ALARM / count, _SMALLEST)
    variance = noise_variance(one.plan, len(one.records), level)
    furthest = variance * NormalDist().inv_cdf(0.5 + level / 2.0) ** 2
    within = float((off**2).max()) <= furthest
    if not (within and float(off @ off) <= variance * float(chdtri(count, _FALSE_ALARM))):
        raise VerificationFailure(
            f"state.safetensors must hold the sum that silos released in {one.where}; it is further from "
            "that of the records than noise explains."
        )
