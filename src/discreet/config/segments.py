"""The tables ``training.segments``: rounds with settings of their own, promised before the first one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from discreet.kinds import LocalConfig, SamplingConfig
from discreet.kinds.fields import Positive, Section

_LOCAL: TypeAdapter[LocalConfig] = TypeAdapter(LocalConfig)
# Of each pair a table takes exactly one, so stating one drops the other.
_RIVALS = {"steps": "records_per_step", "records_per_step": "steps"}
_COMMON = ("kind", "decay")


class SegmentConfig(Section):
    """Consecutive rounds; what is left out is as the rest of the file says.

    Attributes:
        rounds: how many.
        noise_scale: noise multiplier, relative to that of a segment of 1. The plan finds the one factor at
            which all segments together meet the target.
        clip_norm: in place of ``privacy.clip_norm``.
        sampling: in place of ``training.sampling``.
        local: keys of ``training.local`` with other values, such as ``{ learning_rate = 0.01, steps = 8 }``.
    """

    rounds: Annotated[int, Field(ge=1, le=1_000_000)]
    noise_scale: Annotated[float, Field(ge=1e-3, le=1e3)] = 1.0
    clip_norm: Positive | None = None
    sampling: SamplingConfig | None = None
    local: Mapping[str, Any] | None = None

    def describe(self, unit: str) -> str:
        """Says in one line what these rounds have of their own; ``unit`` is what is sampled."""
        own = [f"noise multiplier times {self.noise_scale:g}"] if self.noise_scale != 1.0 else []
        own += [] if self.clip_norm is None else [f"clipping norm {self.clip_norm:g}"]
        own += [] if self.sampling is None else [self.sampling.describe(unit)]
        for name, value in (self.local or {}).items():
            own.append(" ".join(f"{name.replace('_', ' ')} {value}".split()))
        return ", ".join(own)

    def local_table(self, local: LocalConfig) -> LocalConfig:
        """Returns the table of local training in these rounds.

        Raises:
            ValueError: in one line, if it is no table of that kind.
        """
        if self.local is None:
            return local
        common = next((key for key in _COMMON if key in self.local), None)
        if common is not None:
            raise ValueError(f"'local.{common}' must be the same in all segments, as 'training' states it")
        table = local.model_dump(exclude_none=True)
        for key, value in self.local.items():
            table.pop(_RIVALS.get(key, ""), None)
            table[key] = value
        try:
            return _LOCAL.validate_python(table)
        except ValidationError as error:
            first = error.errors()[0]
            key = next((f".{part}" for part in reversed(first["loc"]) if part in self.local), "")
            raise ValueError(f"'local{key}': {first['msg'].removeprefix('Value error, ')}") from None


MOST_ROUNDS = 100_000
"""Of several segments together, for the same reason."""

Segments = Annotated[tuple[SegmentConfig, ...], Field(min_length=1, max_length=30)]
"""With more, whoever reads a plan computes for more than about ten seconds."""
