"""What silos do in their own way: the tables ``[silos.NAME]`` applied, and what they do not go with.

docs/theory/silos.md has the proof.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction

from pydantic import ValidationError

from discreet.config import Config
from discreet.config.problems import first_problem
from discreet.config.silos import SiloConfig
from discreet.encoding import common_unit
from discreet.errors import ConfigurationError, HowTo
from discreet.kinds import (
    LocalConfig,
    SamplingConfig,
    SiloSetting,
    SiloTraining,
)
from discreet.kinds.footprint import NoiseSharing
from discreet.plan.releases import RoundRelease
from discreet.plan.training import local_training

_MUCH_MORE = 1.05
"""From this ratio on, the others would notice."""


def sampling_of(config: Config, silo: str) -> SamplingConfig:
    """Returns who enters a round at a silo."""
    own = (config.silos or {}).get(silo)
    return config.training.sampling if own is None or own.sampling is None else own.sampling


def training_of(
    config: Config, common: SiloSetting, silo: str, capacity: int, round_index: int = 0
) -> SiloTraining:
    """Returns the local training of a silo in a round, from 0, at the clipping norm of the first.

    Args:
        config: what was asked for, with nothing left to the plan.
        common: the setting of silos without settings of their own.
        silo: its name.
        capacity: bound on its training records, or persons.
        round_index: the round.

    Raises:
        ConfigurationError: if the kind, the model and the silo's settings do not fit together.
    """
    own = (config.silos or {}).get(silo)
    setting = replace(
        common, capacity=capacity, sampling=sampling_of(config, silo), weight_unit=_weight_unit(config)
    )
    if own is not None and own.clip_norm is not None:
        setting = replace(setting, norm=own.clip_norm)
    try:
        return local_training(local_of(config, silo), setting, round_index)
    except ConfigurationError as error:
        if own is None:
            raise
        raise ConfigurationError(f"'silos.{silo}': {error}", see=error.see) from None


def local_of(config: Config, silo: str) -> LocalConfig:
    """Returns the table ``training.local`` as it is for a silo.

    Raises:
        ConfigurationError: for a setting of the silo's own that the kind does not have.
    """
    own, local = (config.silos or {}).get(silo), config.training.local
    given = {} if own is None else own.model_dump(include={"learning_rate", "steps"}, exclude_none=True)
    if not given:
        return local
    strange = sorted(set(given) - set(type(local).model_fields))
    if strange:
        raise ConfigurationError(
            f"'silos.{silo}.{strange[0]}' must be left out with {local.kind}, which has none."
        )
    stated = local.model_dump(exclude_none=True)
    if "steps" in given:
        stated.pop("records_per_step", None)
    data = {**stated, **given}
    try:
        return type(local).model_validate(data)
    except ValidationError as error:
        raise ConfigurationError(f"'silos.{silo}': {first_problem(error, data)}") from None


def _weight_unit(config: Config) -> Fraction | None:
    """Returns the unit in which the weights of all silos' steps are integers; None where they are alike."""
    everybody = config.training.local.step_weights()
    if not config.silos or everybody is None:
        return None
    own = (local_of(config, silo).step_weights() for silo in config.silos)
    return common_unit([everybody, *(weights for weights in own if weights is not None)])


def sharing_of(trainings: Sequence[SiloTraining], accepted: Collection[str]) -> NoiseSharing:
    """Says how far the noise of several silos may be added up, where they do not all train alike.

    Where every noisy step weighs the same at all silos, it is what the kind says. Elsewhere a silo's noise is
    in the sum with other weights than the record that it is to hide, and a silo's own noise alone counts.

    Raises:
        ConfigurationError: if the aggregate claim was accepted, whose analysis does not cover that.
        UnsupportedAnalysisError: for an accepted assumption that the kind does not have.
    """
    if len({training.step_weights() for training in trainings}) < 2:
        return trainings[0].noise_sharing(accepted)
    if accepted:
        raise ConfigurationError(
            "'privacy.accept_assumptions' must be empty where silos take noisy steps of numbers or rates of "
            f"their own, whose noise is proven for their own messages only; got {sorted(accepted)[0]!r}."
        )
    return NoiseSharing(adds_up=False)


def own_text(config: Config) -> str:
    """Says in one line which silos have which settings of their own: ``north: steps 40; south: steps 5``."""
    unit = config.privacy.unit
    return "; ".join(f"{silo}: {_said(own, unit)}" for silo, own in (config.silos or {}).items())


def decides_text(silos: Sequence[str], own: Sequence[RoundRelease]) -> str | None:
    """Says which single silo the noise is made for, and how much more of it that is than the others need.

    Returns:
        None where silos do not differ, or several need as much, or not their sensitivities alone differ.
    """
    if len({(one.sampling, one.steps) for one in own}) != 1:
        return None
    *_, second, first = sorted(one.l2_sensitivity for one in own)
    if first < _MUCH_MORE * second:
        return None
    silo = silos[[one.l2_sensitivity for one in own].index(first)]
    return f"{silo} decides the noise: {first / second:.2g} times what the others need"


def _said(own: SiloConfig, unit: str) -> str:
    stated = own.model_dump(exclude={"sampling"}, exclude_none=True)
    sampling = [] if own.sampling is None else [f"sampling {own.sampling.describe(f'a {unit}')}"]
    return ", ".join([*(f"{key} {value}" for key, value in stated.items()), *sampling])


def require_alike(own: Sequence[RoundRelease], what: str) -> None:
    """Refuses silos that differ where all are taken for alike.

    Args:
        own: of a plan.
        what: what is asked for, such as "an audit".

    Raises:
        ConfigurationError: if they differ.
    """
    if own:
        raise ConfigurationError(
            f"'silos' must have no settings that a guarantee depends on for {what}, which takes all for "
            "alike. Give all of them those of the silo that you ask about."
        )


def require_provable(config: Config, silos: tuple[str, ...]) -> None:
    """Refuses settings of single silos that the proof does not cover; the message names the key.

    Raises:
        ConfigurationError: naming the key.
    """
    own = config.silos
    if own is None:
        return
    strangers = sorted(set(own) - set(silos))
    if strangers:
        raise ConfigurationError(
            f"'silos.{strangers[0]}' must name a silo of the plan, {', '.join(silos)}; it is none."
        )
    reason = _one_for_all(config)
    if reason is not None:
        raise ConfigurationError(
            f"'silos.{next(iter(own))}' must have no settings but capacity and pace {reason}."
        )
    exchanges = config.training.sampling.exchanges
    for name, one in own.items():
        if one.sampling is not None and one.sampling.exchanges != exchanges:
            raise ConfigurationError(
                f"'silos.{name}.sampling' must be fixed-size just where 'training.sampling' is, for records "
                "are exchanged there, and added or removed elsewhere.",
                see=HowTo.SAMPLING,
            )


def _one_for_all(config: Config) -> str | None:
    """Says why silos may have no settings of their own but their sizes and paces; None if they may."""
    if config.ask is not None:
        return "where questions are asked, which all silos answer alike"
    if config.evaluate is not None:
        return "with 'evaluate': one guarantee is stated for both sides of all silos"
    if config.training.segments is not None:
        return "with 'training.segments', which are planned for silos that are alike"
    if config.privacy.norm_rule is not None:
        return "where the clipping norm follows a quantile, which is one for all silos"
    return None
