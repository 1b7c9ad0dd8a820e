"""How a training was done, line by line, from its plan."""

from __future__ import annotations

import math

from discreet.config.aggregation import AggregationConfig
from discreet.config.data import counted_unit, part_taken
from discreet.kinds import QuantileClipping, room_text, timetable_text
from discreet.plan import Plan
from discreet.plan.counted import parts
from discreet.plan.held_out import evaluation_text
from discreet.plan.prepared import preparation_text
from discreet.plan.uncalibrated import uncalibrated
from discreet.privacy.notation import pair_text
from discreet.privacy.units import NeighboringRelation
from discreet.report.content import Fact
from discreet.report.sampling import sampling_text
from discreet.report.wording import UNITS


def plan_facts(plan: Plan) -> tuple[Fact, ...]:
    """Returns what a reviewer asks for: data, training, sampling, sensitivity, noise, ring, aggregation."""
    return (
        *_training_facts(plan),
        *_noise_facts(plan),
        *_preparation_facts(plan),
        *_evaluation_facts(plan),
        *_aggregation_facts(plan),
    )


def _training_facts(plan: Plan) -> tuple[Fact, ...]:
    capacities = ", ".join(
        f"{silo} {capacity}" for silo, capacity in zip(plan.facts.silos, plan.capacities, strict=True)
    )
    counted = counted_unit(plan.data)
    return (
        Fact("Data", plan.data.source_text, "where the records come from"),
        Fact(
            f"{counted.capitalize()} capacity",
            capacities,
            f"public upper bounds on the {part_taken(plan.data)}{counted}s of each silo; the true numbers "
            "are not in the plan",
        ),
        _model(plan),
        *_public_weights(plan),
        Fact(
            "Contribution" if plan.questions else "Local training",
            plan.training.local.describe(),
            "what a silo computes in one round",
        ),
        *_probabilities(plan),
        *_own_settings(plan),
        *_schedule(plan),
        *_segments(plan),
        Fact(
            "Server",
            plan.training.server.describe(),
            "post-processing of what is released; costs no privacy",
        ),
        Fact("Sampling", sampling_text(plan), "who takes part in a round"),
    )


def _probabilities(plan: Plan) -> tuple[Fact, ...]:
    """Says what is known against the model's probabilities."""
    known = uncalibrated(plan)
    return (Fact("Probabilities", "not calibrated", known),) if known else ()


def _own_settings(plan: Plan) -> tuple[Fact, ...]:
    if not plan.own_settings:
        return ()
    return (Fact("Settings of single silos", plan.own_settings, "in place of everybody's"),)


def _schedule(plan: Plan) -> tuple[Fact, ...]:
    schedule, planned = plan.training.schedule, plan.timetable
    if schedule is None or planned is None:
        return ()
    room = Fact("Dropouts", room_text(planned, plan.thresholds.min_survivors), "what a missing silo costs")
    return (
        Fact("Schedule", schedule.describe(), "public, and known before the first round"),
        Fact("Sums", timetable_text(planned, plan.facts.silos), "who is in how many of them"),
        *([room] if plan.thresholds.summed else []),
    )


def _segments(plan: Plan) -> tuple[Fact, ...]:
    """Says what each segment has of its own, and its noise; the facts of noise are those of the first."""
    return tuple(
        Fact(
            f"Segment {number}",
            f"{text}; noise multiplier {stage.noise_multiplier:.4g}, sensitivity "
            f"{stage.release.l2_sensitivity / stage.grid.scale:.4g} in weights",
            "known before the first round; sensitivity, noise and grid below are of the first",
        )
        for number, (text, stage) in enumerate(plan.segment_plans(), 1)
    )


def _model(plan: Plan) -> Fact:
    numbers = f"{plan.facts.dimension:,}"
    if plan.questions:
        asked = f"{len(plan.questions)}, answered by {numbers} numbers of one sum"
        return Fact("Questions", asked, "what is asked and released")
    tuned = plan.model.trained is not None or plan.model.adapters is not None
    rest = "; the rest of the network is frozen and public" * tuned
    return Fact("Model", f"{plan.model_title}, {numbers} weights{rest}", "what is trained and released")


def _public_weights(plan: Plan) -> tuple[Fact, ...]:
    begins = plan.model.begins is not None
    of_model = "what training starts from" if begins else "frozen layers"
    stated = {"makes features": plan.data.pretrained, of_model: plan.model.pretrained}
    return tuple(
        Fact("Public weights", f"{one.source}, {one.licence}, SHA-256 {one.sha256}", what)
        for what, one in stated.items()
        if one is not None
    )


def _noise_facts(plan: Plan) -> tuple[Fact, ...]:
    release, scale = plan.release, plan.grid.scale
    silo_stddev = math.sqrt(release.share.variance / release.share.num_silos)
    clip = plan.at(1).privacy.clip_norm
    measure = "in weights" if plan.norm_rule is None else "clipping norms"
    measure = "of the longest that a record adds" if plan.questions else measure
    sensitivity = f"{release.l2_sensitivity:.6g} grid units = {release.l2_sensitivity / scale:.4g} {measure}"
    return (
        _clipping(clip, UNITS[plan.unit], asks=bool(plan.questions)),
        Fact(
            "Sensitivity",
            sensitivity,
            f"how far {UNITS[plan.unit]} can move a round's sum, "
            f"{'before' if plan.grid.noise_first else 'after'} rounding{_twice(plan)}",
        ),
        Fact(
            "Noise",
            f"{plan.privacy.mechanism}, standard deviation {silo_stddev:.5g} grid units a silo",
            "integers, drawn at the silo before anything is sent",
        ),
        Fact(
            "Noise multiplier",
            f"{plan.noise_multiplier:.4g}",
            f"noise of the {plan.thresholds.honest_survivors} silos that the target counts, "
            "over the sensitivity",
        ),
    )


def _preparation_facts(plan: Plan) -> tuple[Fact, ...]:
    """Says what training records are asked before the first round, and what that costs by itself."""
    if plan.preparation is None:
        return ()
    alone = plan.spent(1)
    return (
        Fact(
            "Preparation",
            f"{preparation_text(plan)}; {pair_text(alone.epsilon, alone.delta)} by itself, against "
            f"{plan.budget_adversary()[0].describe()}",
            "composed with the rounds in every guarantee; a public map of one record follows from it",
        ),
    )


def _evaluation_facts(plan: Plan) -> tuple[Fact, ...]:
    """Says what held-out records are asked between rounds, and what each side costs by itself."""
    if plan.evaluation is None:
        return ()
    asked, (alone, evaluated) = plan.evaluation, parts(plan, plan.releases)
    counts = f"{asked.facts.dimension:,} counts, noise multiplier {asked.noise_multiplier:.4g}"
    sides = ", ".join(
        f"{name} {pair_text(spent.epsilon, spent.delta)}"
        for name, spent in (
            ("the training", alone[0].spent(alone[1])),
            ("the evaluations", evaluated[0].spent(evaluated[1])),
        )
    )
    return (
        Fact(
            "Evaluations",
            f"{asked.rounds}: {evaluation_text(plan)}; {counts}",
            "one secure sum over held-out records, in a session of its own",
        ),
        Fact(
            "Each side by itself",
            f"{sides}, against {plan.budget_adversary()[0].describe()}",
            "a record is on one side only, so that the larger ε is its guarantee",
        ),
    )


def _twice(plan: Plan) -> str:
    """Says what exchanging a unit does, where that is what the guarantee is about."""
    exchanged = plan.release.neighboring is NeighboringRelation.REPLACE_ONE
    return "; one that takes the place of another, twice as far" if exchanged else ""


def _clipping(clip: float | QuantileClipping | None, unit: str, *, asks: bool) -> Fact:
    match clip:
        case None:
            source = "questions" if asks else "model and its bounded features"
            meaning = f"the sensitivity follows from the {source}"
            return Fact("Clipping", "none", meaning)
        case QuantileClipping():
            value = f"L2 norm at the {clip.quantile:g} quantile of what {unit} contributes"
            meaning = (
                f"it starts at {clip.initial:g} and follows a noisy count, which is one more coordinate of "
                f"the same sum, of weight {clip.weight:g}; longer contributions are shortened"
            )
            return Fact("Clipping", value, meaning)
        case _:
            return Fact("Clipping", f"L2 norm at most {clip:g}", "longer contributions are shortened")


def _aggregation_facts(plan: Plan) -> tuple[Fact, ...]:
    grid, thresholds = plan.grid, plan.thresholds
    secret = (
        Fact(
            "Survivors",
            f"at least {thresholds.min_survivors} of {thresholds.num_silos}",
            "with fewer, nothing is unmasked",
        ),
        Fact(
            "Collusion",
            f"up to {thresholds.max_colluding} with the server",
            f"{thresholds.threshold} shares are needed to unmask",
        ),
    )
    return (
        Fact("Aggregation", _protocol(plan.aggregation), "how the silos' integers are summed"),
        *(secret if thresholds.summed else ()),
        Fact(
            "Ring",
            f"integers modulo 2^{grid.bits}; {grid.scale:g} grid units for 1.0",
            f"a sum wraps around with probability at most {grid.wrap_prob:.1e}; that would harm "
            "the result, not privacy",
        ),
        Fact(
            "Masked vector" if thresholds.summed else "Message",
            f"{plan.bytes_per_vector:,} bytes",
            "what a silo sends in a round, without keys",
        ),
    )


def _protocol(aggregation: AggregationConfig) -> str:
    if aggregation.protocol == "none":
        return "none: every silo's message is seen, with all of the noise that protects it"
    if aggregation.protocol == "ideal":
        return "ideal: an oracle for tests; whoever sums sees every contribution"
    server = "may deviate" if aggregation.mode == "malicious" else "follows the protocol and looks"
    late = ", and discards late answers unread" if aggregation.mode == "one-phase" else ""
    return f"{aggregation.protocol}, {aggregation.mode}: the server {server}{late}, and learns the sum only"
