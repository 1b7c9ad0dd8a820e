"""What is known of a training, or of one of its stages, before its noise and its grid."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from discreet.accounting import calibrate, epsilon
from discreet.config import Config
from discreet.encoding import Grid, GridRequest, rounded_sensitivity
from discreet.kinds import Timetable
from discreet.kinds.footprint import Footprint, NoiseSharing, worst
from discreet.mechanisms import NoiseFamily, law_for
from discreet.plan.aggregation import graph_failure_prob
from discreet.plan.facts import FederationFacts
from discreet.plan.failures import rare
from discreet.plan.releases import (
    RoundRelease,
    Thresholds,
    against_server,
    composed,
    event_for,
    most_setups,
    neighboring_of,
    of_several,
    repeated,
)
from discreet.plan.training import silos_of_a_unit
from discreet.privacy.events import (
    Event,
    GaussianNoise,
    Release,
    Repeated,
    RepeatedPoissonSampling,
    Sampling,
)
from discreet.privacy.units import NeighboringRelation


@dataclass(frozen=True, slots=True)
class Shown:
    """What a silo shows of one of its units.

    Attributes:
        l2_sensitivity: of a release, before rounding; real units.
        sampling: how units enter a release.
        releases: in a round.
        rounds: that the silo is in.
    """

    l2_sensitivity: float
    sampling: Sampling
    releases: int
    rounds: int


@dataclass(frozen=True, slots=True)
class Setting:
    """What is known before noise and grid: the request, what the silos put in, and whom to withstand.

    Of all rounds; or of a stage, with ``own_rounds`` of its own and its part of the noise.
    """

    config: Config
    facts: FederationFacts
    footprints: tuple[Footprint, ...]
    sharing: NoiseSharing
    thresholds: Thresholds
    timetable: Timetable | None
    own_rounds: int | None = None
    noise_scale: float = 1.0

    @property
    def worst(self) -> Footprint:
        """A part that is nowhere below any silo's; the silos' own one, where they do not differ."""
        return worst(self.footprints)

    @property
    def of_all(self) -> Shown:
        """What no silo shows more than."""
        return Shown(self.worst.l2_sensitivity, self.worst.sampling, self.worst.releases, self.rounds)

    @property
    def own(self) -> tuple[Shown, ...]:
        """What each silo shows of its units; nothing where none was given settings that matter to that.

        A unit that may be at several silos is protected as if each of these were the worst.
        """
        if self.config.silos is None or self.contributions > 1:
            return ()
        found = tuple(
            Shown(one.l2_sensitivity, one.sampling, one.releases, self.rounds_of(silo))
            for silo, one in zip(self.facts.silos, self.footprints, strict=True)
        )
        alike = len({dataclasses.replace(one, rounds=0) for one in found}) == 1
        return () if alike else found

    @property
    def neighboring(self) -> NeighboringRelation:
        """The relation in which noise is calibrated."""
        return neighboring_of(self.worst.sampling)

    @property
    def dimension(self) -> int:
        """Coordinates of what travels: the weights, and the count of a clipping norm that adapts."""
        return self.facts.dimension + (self.config.privacy.norm_rule is not None)

    @property
    def releases(self) -> int:
        """Releases of the whole training."""
        return self.sums * self.worst.releases

    @property
    def sums(self) -> int:
        """Sums of the whole training."""
        return self.config.training.planned_rounds if self.timetable is None else len(self.timetable.sums)

    @property
    def rounds(self) -> int:
        """Sums that one silo is in, of a stage if there are several."""
        if self.own_rounds is not None:
            return self.own_rounds
        return self.sums if self.timetable is None else self.timetable.most_contributions(self.sums)

    def rounds_of(self, silo: str) -> int:
        """Sums that ``silo`` is in."""
        return self.sums if self.timetable is None else self.timetable.contributions_of(silo)

    @property
    def certain_shares(self) -> int:
        """Shares of noise that protect a unit, whoever drops out and colludes."""
        return self.thresholds.honest_survivors if self.sharing.adds_up else 1

    @property
    def contributions(self) -> int:
        """How many silos' contributions one unit may be in."""
        return silos_of_a_unit(self.config)

    def release(self, grid: Grid, multiplier: float) -> RoundRelease:
        """Returns a round's release with ``multiplier`` · ``noise_scale`` · sensitivity of certain noise."""
        multiplier *= self.noise_scale
        worst = self.worst
        return RoundRelease(
            share=law_for(
                NoiseFamily(self.config.privacy.mechanism),
                variance=(multiplier * grid.l2_sensitivity) ** 2,
                num_silos=self.certain_shares,
            ),
            l2_sensitivity=grid.l2_sensitivity,
            dimension=self.dimension,
            sampling=worst.sampling,
            rounding_failure_prob=grid.rounding_failure_prob,
            guard_failure_prob=worst.guard_failure_prob,
            change=worst.change,
            steps=worst.releases,
            sharing=self.sharing,
            roundings=worst.roundings,
            graph_failure_prob=graph_failure_prob(self.config, self.thresholds.num_silos),
            assumptions=worst.assumptions,
        )

    def release_of(self, one: Shown, grid: Grid, multiplier: float) -> RoundRelease:
        """Returns the same of the units of one sort of silo: less may show of them in the same noise."""
        request = dataclasses.replace(grid_request(self, 1.0, 0.0), l2_sensitivity=one.l2_sensitivity)
        rounded = rounded_sensitivity(request, grid)
        return dataclasses.replace(
            self.release(grid, multiplier),
            l2_sensitivity=rounded.bound,
            rounding_failure_prob=rounded.failure_prob,
            sampling=one.sampling,
            steps=one.releases,
        )

    def event(self, one: Shown | None, grid: Grid, multiplier: float) -> Event:
        """Returns the event of its rounds against the strongest reported adversary; None is any silo."""
        rounds = self.rounds if one is None else one.rounds
        release = self.release(grid, multiplier) if one is None else self.release_of(one, grid, multiplier)
        seen = of_several(release, self.contributions)
        return event_for(seen, honest_silos=self.thresholds.honest_survivors, rounds=rounds)

    def gaussian_event(self, one: Shown | None, multiplier: float) -> Event:
        """Returns the event of its rounds, were noise real and Gaussian."""
        shown = one or self.of_all
        sampling = shown.sampling
        if self.contributions > 1:
            sampling = repeated(sampling, self.contributions)
        noise = GaussianNoise(multiplier * self.noise_scale)
        moved = 1.0 if isinstance(sampling, RepeatedPoissonSampling) else float(self.contributions)
        # The multiplier is that of the longest contribution.
        moved *= shown.l2_sensitivity / self.worst.l2_sensitivity
        noisy = Release(noise, moved, self.dimension, sampling, self.worst.change)
        return Repeated(noisy, shown.rounds * shown.releases)


@dataclass(frozen=True, slots=True)
class Target:
    """The (ε, δ) that a training must meet, for each sort of silo by itself.

    Attributes:
        delta: δ.
        neighboring: between which data.
        sorts: of silos, where they differ; one, None, where they do not.
    """

    delta: float
    neighboring: NeighboringRelation
    sorts: tuple[Shown | None, ...]

    @classmethod
    def of(cls, setting: Setting) -> Target:
        """Returns that of a training; a stage speaks for all."""
        sorts = tuple(dict.fromkeys(setting.own)) or (None,)
        return cls(setting.config.privacy.delta, setting.neighboring, sorts)

    def reached(self, event: EventOf, multiplier: float) -> float:
        """Returns the ε of the sort of silo that has the largest."""
        return max(self._epsilon(event(one, multiplier)) for one in self.sorts)

    def calibrated(self, event: EventOf, target: float, lower: float, upper: float) -> float:
        """Returns the smallest multiplier at which every sort meets ``target``: that of the worst."""
        enough = None
        for one in self.sorts:
            if enough is not None and self._epsilon(event(one, enough)) <= target:
                continue
            enough = calibrate(
                partial(event, one),
                epsilon=target,
                delta=self.delta,
                neighboring=self.neighboring,
                lower=lower,
                upper=upper,
            )
        return upper if enough is None else enough

    def _epsilon(self, event: Event) -> float:
        return epsilon(event, delta=self.delta, neighboring=self.neighboring).epsilon


# From a sort of silo and the multiplier of noise to what a training releases of such a silo's units.
EventOf = Callable[[Shown | None, float], Event]


def whole_event(
    settings: Sequence[Setting],
    grids: Sequence[Grid],
    before: Sequence[Event],
    one: Shown | None,
    multiplier: float,
) -> Event:
    """Returns the whole training's event against the strongest reported adversary, stage by stage."""
    event = composed(
        setting.event(one, grid, multiplier) for setting, grid in zip(settings, grids, strict=True)
    )
    of_keys = settings[0].release(grids[0], multiplier)
    return composed((*before, against_server(event, of_keys, setups=most_setups(settings[0].sums))))


def grid_request(setting: Setting, multiplier: float, min_stddev: float) -> GridRequest:
    """Returns what a grid must hold: the largest of any silo's, with so much noise."""
    return GridRequest(
        l2_sensitivity=setting.worst.l2_sensitivity,
        silo_bound=setting.worst.silo_bound,
        num_silos=len(setting.facts.silos),
        num_honest=setting.certain_shares,
        dimension=setting.dimension,
        rounds=setting.releases,
        noise_multiplier=multiplier * setting.noise_scale,
        min_stddev=min_stddev,
        rounding_beta=rare(setting.config, setting.releases),
        rotated=setting.config.aggregation.rotation,
        noise_first=setting.config.aggregation.noise_first,
    )
