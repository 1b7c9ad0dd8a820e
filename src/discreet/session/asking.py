"""Questions by a program: planned from public facts, answered by one secure sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.config import parse_config
from discreet.config.data import DataConfig
from discreet.plan import Plan
from discreet.session.public import Target, plan_without_data


def plan_questions(
    data: DataConfig,
    questions: Sequence[Mapping[str, Any]],
    *,
    target: Target,
    aggregation: Mapping[str, Any] | None = None,
    privacy: Mapping[str, Any] | None = None,
    name: str = "questions",
) -> Plan:
    """Works out noise, grid and every guarantee of one sum that answers all questions; no record is opened.

    `discreet.train` carries the plan out, and `Run.answers` has what it says.

    Args:
        data: what is publicly known of the records, as of `Frames.public` without a label.
        questions: tables ``[[ask]]`` of a config, such as ``{"kind": "quantiles", "of": "age"}``.
        target: what must be guaranteed, for all answers together.
        aggregation: the config's table ``aggregation``.
        privacy: further keys of the config's table ``privacy``.
        name: what to call them in the report.

    Raises:
        ConfigurationError: if something does not fit together; the message names the key.
        PrivacyRefusal: if no proven guarantee meets the target.

    Example:
        >>> from discreet import Frames
        >>> tables = {"north": {"age": [51]}, "south": {"age": [47]}, "east": {"age": [62]}}
        >>> people = Frames(tables, ranges={"age": (20, 90)}).public(capacity=500)
        >>> plan_questions(people, [{"kind": "moments", "of": ["age"]}], target=Target(1.0)).rounds
        1
    """
    tables = {
        "name": name,
        "ask": [dict(question) for question in questions],
        "data": data.model_dump(exclude_none=True),
        "privacy": {**target.stated(), **(privacy or {})},
        "aggregation": dict(aggregation or {}),
    }
    return plan_without_data(parse_config(tables, source="the plan's settings"))
