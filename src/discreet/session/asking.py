"""Questions by a program: planned from public facts, answered by one secure sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.config import parse_config
from discreet.config.arguments import known_arguments
from discreet.config.data import DataConfig
from discreet.config.evaluated import asked_data, evaluation
from discreet.errors import ConfigurationError
from discreet.kinds.questions import RISKS
from discreet.plan import Plan
from discreet.released import Model
from discreet.session.public import Target, plan_without_data, require_planned_for


@known_arguments
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
    require_planned_for(data, target)
    if not isinstance(questions, list | tuple) or not all(isinstance(one, Mapping) for one in questions):
        raise ConfigurationError(
            'questions must be a list of tables, such as [{"kind": "moments", "of": ["age"]}]; got '
            f"{questions!r}."
        )
    tables = {
        "name": name,
        "ask": [dict(question) for question in questions],
        "data": data.model_dump(exclude_none=True),
        "privacy": target.with_keys(privacy),
        "aggregation": aggregation or {},
    }
    return plan_without_data(parse_config(tables, source="the plan's settings"))


@known_arguments
def plan_evaluation(
    model: Model,
    *,
    capacity: int | Mapping[str, int],
    target: Target,
    source: str | Mapping[str, str] | None = None,
    bins: int | Sequence[float] = RISKS,
    by: str | None = None,
    threshold: float | None = None,
    aggregation: Mapping[str, Any] | None = None,
    privacy: Mapping[str, Any] | None = None,
    name: str = "evaluation",
) -> Plan:
    """Plans one sum that says how good a released model is, on the records that its training held out.

    Guarantee:
        The records that are asked are on the other side of their own public coins: no unit's records are in
        the training and in this sum, so that for both together a unit's ε is the larger of the two and not
        their sum (docs/theory/questions.md; `discreet.composed` works it out).

    Args:
        model: linear, as of `Run.released` or `load_model`.
        capacity: public bound on the held-out records (or persons) of each silo. Do not count them.
        target: what must be guaranteed for the held-out units; its unit must be the training's.
        source: where the records are; left out, as in the training, whose plan knows no folders.
        bins: at which edges, or into how many of equal width, predicted probabilities are cut.
        by: a column of texts, or one that the training cut into bins: every group is measured too.
        threshold: an edge of ``bins``, from which on a record is called the second class; left out, one half.
        aggregation: the config's table ``aggregation``; left out, the training's.
        privacy: further keys of the config's table ``privacy``; ``{"mechanism": "discrete-laplace"}`` halves
            the noise of one evaluation of records.
        name: what to call it in the report.

    Raises:
        ConfigurationError: if the model is not linear, or something does not fit together.
        PrivacyRefusal: if no proven guarantee meets the target.
    """
    trained: Any = model.plan.to_json()
    weights = [parameter.detach().double().tolist() for parameter in model.network.parameters()][-1]
    stated = {"by": by, "threshold": threshold}
    asked = {"bins": bins if isinstance(bins, int) else list(bins)} | {
        key: value for key, value in stated.items() if value is not None
    }
    question, records = evaluation(trained, model.plan.digest(), weights, asked)
    own: dict[str, Any] = {} if source is None else {"source": source}
    silos = (
        dict(capacity) if isinstance(capacity, Mapping) else dict.fromkeys(model.plan.facts.silos, capacity)
    )
    own |= {"person": {"capacity": silos}} if "person" in records else {"record_capacity": silos}
    tables = {
        "name": name,
        "ask": [question],
        "data": asked_data(records, own),
        "privacy": target.with_keys(privacy),
        "aggregation": dict(trained["config"]["aggregation"] if aggregation is None else aggregation),
    }
    return plan_without_data(parse_config(tables, source="the plan's settings"))
