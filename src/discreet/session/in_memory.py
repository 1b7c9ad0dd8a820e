"""Records of a program, by silo, and what is publicly known of them: what tables and arrays share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from numbers import Integral
from typing import Any

from discreet.config import parse_data
from discreet.config.data import DataConfig
from discreet.data import IN_MEMORY
from discreet.errors import ConfigurationError


class InMemory(ABC):
    """Records of several silos in one process: a simulation of a federation, or a notebook's first try.

    What is stated of them is public knowledge and never worked out from records: whatever is read from
    records is covered by no guarantee.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def by_silo(self) -> Mapping[str, Any]:
        """What each silo holds, by its public name."""

    @abstractmethod
    def stated(self) -> Mapping[str, Any]:
        """Returns what is publicly known, as keys of the config's table ``data``."""

    def public(self, *, capacity: int | Mapping[str, int]) -> DataConfig:
        """Returns what is publicly known, from which a plan is made; no record is read.

        Args:
            capacity: public upper bound on the training records (or persons) of each silo. Do not count them.

        Raises:
            ConfigurationError: if a capacity is missing or not positive, or another fact is none.
        """
        silos = self.by_silo
        named = dict(capacity) if isinstance(capacity, Mapping) else dict.fromkeys(silos, capacity)
        if set(named) != set(silos):
            odd = sorted(set(named) ^ set(silos))
            raise ConfigurationError(
                f"capacity must name every silo once ({', '.join(silos)}); it differs in: {', '.join(odd)}."
            )
        for silo, most in named.items():
            if not _is_count(most):
                raise ConfigurationError(
                    f"capacity must be a whole number from 1, the most records that {silo} may have; got "
                    f"{most!r}. State it from public knowledge."
                )
        stated = dict(self.stated())
        if stated.get("person") is None:
            stated["record_capacity"] = named
        elif not isinstance(stated["person"], Mapping):
            raise ConfigurationError(
                "person must be a mapping, as in {'column': 'patient', 'most_records': 20}; got "
                f"{stated['person']!r}."
            )
        else:
            stated["person"] = {**stated["person"], "capacity": named}
        return parse_data({"source": IN_MEMORY, **stated})


def _is_count(given: object) -> bool:
    return not isinstance(given, bool) and isinstance(given, Integral) and int(given) >= 1


def require_by_silo(name: str, held: object, example: str) -> None:
    """Refuses what is not given by silo.

    Raises:
        ConfigurationError: if ``held`` is no mapping, or a silo's name is no text.
    """
    if not isinstance(held, Mapping):
        one = f" For one table, split it: {name}=dict(list(table.groupby('hospital')))."
        raise ConfigurationError(
            f"{name} must be given by silo, as in {example}; got {type(held).__name__}."
            f"{one if hasattr(held, 'groupby') else ''}"
        )
    if not held:
        raise ConfigurationError(f"{name} must be given by silo, as in {example}; got none.")
    for silo in held:
        if not (isinstance(silo, str) and silo):
            raise ConfigurationError(
                f"the name of a silo must be a text, as in {example}; got {silo!r}. Name it, as in "
                f"{str(silo) or 'north'!r}."
            )
