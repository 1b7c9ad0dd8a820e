"""Less noise in the last epoch, σ/√(E+1): what it costs, and whether it helps at the same (ε, δ)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from discreet.accounting import calibrate, epsilon
from discreet.accounting.gdp import gaussian_epsilon
from discreet.config import Config, load_config
from discreet.privacy.events import Composed
from discreet.privacy.units import NeighboringRelation
from participation import Segment, known_participation
from reproducing import Cell, Computed, Context, Deferred, Scale, accuracy, changed, score

RECORDS, BATCH, DELTA = 6000, 100, 1e-5
SETTINGS = ((10, 2.0), (50, 4.0))
# Of the trained rows: five epochs of ten rounds, a tenth of the records in each.
EPOCHS, EPOCH = 5, 10


def cells(context: Context) -> Iterator[Cell | Deferred]:
    """The exact costs; then trainings on the bundled digits, under one seed or three."""
    for epochs, sigma in SETTINGS:
        yield from costs(epochs, sigma)
    if context.scale is Scale.SMALL:
        for noise in LATE:
            yield trained(context, "single-step", noise)
        return
    for kind, noise in product(KINDS, NOISES):
        yield Deferred(named(kind, noise), partial(trained, context, kind, noise))


# --- exact costs ------------------------------------------------------------------------------------------


def costs(epochs: int, sigma: float) -> Iterator[Computed]:
    """What the chapter says of the cut, what it costs those who are told who is in a batch, and those not."""
    where = f"E = {epochs}, σ = {sigma:g}"
    constant, cut = [rounds(epochs, sigma)], cut_late(epochs, sigma)
    claim = gaussian_epsilon(math.sqrt(2.0 * epochs) / sigma, DELTA)
    yield Computed(f"{where}: ε, constant, A1", ours=told(constant))
    yield Computed(f"{where}: ε, late cut, A1 beside G(√(2E)/σ)", reproduced=claim, ours=told(cut))
    yield Computed(f"{where}: ε, constant, A0", ours=hidden(constant))
    yield Computed(f"{where}: ε, late cut, A0", ours=hidden(cut))
    same = calibrate(
        lambda level: Composed(tuple(one.event for one in cut_late(epochs, level))),
        epsilon=hidden(constant),
        delta=DELTA,
        neighboring=NeighboringRelation.REPLACE_ONE,
        lower=sigma,
        upper=10.0 * sigma,
    )
    more, less = same / sigma, math.sqrt(epochs + 1) * sigma / same
    note = f"early epochs {more:.3f} times as noisy as at the constant σ, the last {less:.3f} times less"
    yield Computed(f"{where}: σ of a late cut that costs A0 the same", ours=same, note=note)


def told(segments: list[Segment]) -> float:
    """ε to whoever knows how often a record took part in each segment."""
    return known_participation(segments).epsilon(DELTA)


def hidden(segments: list[Segment]) -> float:
    """ε to whoever does not, by the tight accountant."""
    event = Composed(tuple(one.event for one in segments))
    return epsilon(event, delta=DELTA, neighboring=NeighboringRelation.REPLACE_ONE).epsilon


def rounds(epochs: int, sigma: float) -> Segment:
    """So many epochs of fixed-size batches."""
    return Segment(epochs * RECORDS // BATCH, sigma, BATCH, RECORDS)


def cut_late(epochs: int, sigma: float) -> list[Segment]:
    """E epochs, the last at σ/√(E+1)."""
    return [rounds(epochs - 1, sigma), rounds(1, sigma / math.sqrt(epochs + 1))]


# --- trainings at the same (ε, δ) -------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """A kind of local training: what the config file says otherwise, and the rates that are tried."""

    changes: dict[str, Any]
    rates: tuple[float, ...]


# In stable-steps every record takes part in every round, so that nothing is gained by chance.
STABLE = {"training.sampling": {"kind": "none"}, "privacy.clip_norm": None}
KINDS = {"single-step": Kind({}, (4.0, 8.0, 16.0)), "stable-steps": Kind(STABLE, (0.01, 0.03, 0.06))}
NOISES: dict[str, tuple[float, ...]] = {
    "constant": (1.0,) * EPOCHS,
    "last epoch σ/√(E+1)": (*(1.0,) * (EPOCHS - 1), 1.0 / math.sqrt(EPOCHS + 1)),
    "falling from σ to σ/2": tuple(1.0 - 0.5 * epoch / (EPOCHS - 1) for epoch in range(EPOCHS)),
    "first epoch σ/√(E+1)": (1.0 / math.sqrt(EPOCHS + 1), *(1.0,) * (EPOCHS - 1)),
}
LATE = tuple(NOISES)[:3]


def named(kind: str, noise: str) -> str:
    """What a row is called."""
    return f"digits, {kind}, {noise}"


def trained(context: Context, kind: str, noise: str) -> Computed:
    """Trains at the noise that the plan finds: the mean over three seeds at the best rate of a fourth.

    At small scale one seed at the middle rate.
    """
    segments = [{"rounds": EPOCH, "noise_scale": scale} for scale in NOISES[noise]]
    name, rates = named(kind, noise), KINDS[kind].rates
    config = changed(
        load_config(context.folder / "digits.toml"), KINDS[kind].changes | {"training.segments": segments}
    )
    if context.scale is Scale.SMALL:
        return Computed(name, ours=accuracy(at_rate(config, kind, rates[1])))
    found = {rate: accuracy(changed(at_rate(config, kind, rate), {"run.seed": 4})) for rate in rates}
    best = max(found, key=lambda rate: found[rate])
    result = score(changed(at_rate(config, kind, best), {"run.seed": seed}) for seed in (1, 2, 3))
    return Computed(name, ours=result.mean, note=f"{result.note}; rate {best:g}")


def at_rate(config: Config, kind: str, rate: float) -> Config:
    """The config at a learning rate: of the server in single-step, of local steps elsewhere."""
    if kind == "single-step":
        return changed(config, {"training.server": {"kind": "averaging", "learning_rate": rate}})
    local = {"kind": kind, "learning_rate": rate, "steps": "each", "residual_cap": 0.35}
    return changed(config, {"training.local": local})
