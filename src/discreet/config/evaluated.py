"""Questions about a released model: its weights, and the rules by which its training held records out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.documents import read_json
from discreet.errors import ConfigurationError
from discreet.kinds.model_facts import LINEAR
from discreet.privacy.wire import digest

_EVALUATION = "evaluation"
# What an evaluation states of its own; all other rules of records are the training's.
_OWN = ("source", "record_capacity", "partition")


def with_models(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the tables of a file with every ``model`` of an evaluation replaced by what it holds.

    The records to ask are those that the model's training held out, read as it read them.

    Raises:
        ConfigurationError: if a model cannot be read, is not linear, or rules are stated besides.
    """
    asked = tables.get("ask")
    if not isinstance(asked, list | tuple):
        return tables
    found = [_resolved(one) for one in asked]
    data = [records for _, records in found if records is not None]
    if not data:
        return tables
    if any(one != data[0] for one in data) or len(data) < len(found):
        raise ConfigurationError(
            "all questions must be evaluations of models of one training where one is; they are not. "
            "Ask the others by themselves."
        )
    return {**tables, "ask": [question for question, _ in found], "data": _asked(data[0], tables)}


def evaluation(
    plan: Mapping[str, Any], trained_under: str, weights: Any, question: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns a question about a model with its weights, and the table ``data`` that its training had.

    Args:
        plan: the training's, as JSON.
        trained_under: SHA-256 of that plan.
        weights: shape ``(logits, features)``.
        question: further keys, such as ``by``.

    Raises:
        ConfigurationError: if the model is not linear, or records were not held out by coins of their own.
    """
    trained = plan["config"]
    name = trained.get("model", {}).get("name", LINEAR)
    if name != LINEAR:
        raise ConfigurationError(
            f"a model must be {LINEAR!r} to be evaluated by silos, whose scores are then the same on every "
            f"machine; it is {name!r}."
        )
    prepares = {"standardise": "standardises", "centre": "centres", "project": "projects"}
    done = [word for key, word in prepares.items() if trained["data"].get(key) is not None]
    if done:
        raise ConfigurationError(
            f"a model must take records as they are read to be evaluated by silos; it {done[0]} them. "
            "Ask while it trains ([evaluate]), or measure it on rows of your own: discreet evaluate."
        )
    if trained["data"].get("label_range") is not None:
        raise ConfigurationError(
            "a model must tell classes apart to be evaluated by silos; it predicts a number. Measure it on "
            "rows of your own: discreet evaluate."
        )
    if trained["training"].get("sampling", {}).get("kind") == "fixed-size":
        raise ConfigurationError(
            "a training must hold records out by what they are for them to be asked; under fixed-size "
            "sampling it holds out places."
        )
    rows = [[float(weight) for weight in row] for row in weights]
    own = {key: value for key, value in question.items() if key != "model"}
    stated = {"weights": rows, "trained": trained_under, "silos": list(plan["facts"]["silos"])}
    return {"kind": _EVALUATION, **own, **stated}, dict(trained["data"])


def asked_data(trained: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the table ``data`` of an evaluation: the training's rules, on the other side of its coins.

    Raises:
        ConfigurationError: if ``own`` states a rule, or no capacity of held-out records.
    """
    odd = sorted(set(own) - {*_OWN, "person"})
    if odd:
        raise ConfigurationError(
            f"'data.{odd[0]}' must be left out where a model is evaluated: the training's rules hold."
        )
    found = {key: value for key, value in trained.items() if key != "record_capacity"} | dict(own)
    if "person" in trained:
        person = own.get("person", {})
        if not isinstance(person, Mapping) or set(person) != {"capacity"}:
            raise ConfigurationError(
                "'data.person' must state the capacity of held-out persons alone, as in { capacity = 100 }."
            )
        found["person"] = {**trained["person"], **person}
    return {**found, "asked": "held-out"}


def _asked(trained: Mapping[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
    own = tables.get("data", {})
    return asked_data(trained, own if isinstance(own, Mapping) else {})


def _resolved(question: Any) -> tuple[Any, dict[str, Any] | None]:
    if not isinstance(question, Mapping) or question.get("kind") != _EVALUATION or "model" not in question:
        return question, None
    from discreet.models import read_model_file  # torch, which other questions do without

    path = Path(str(question["model"]))
    file = path / "model.safetensors" if path.is_dir() else path
    try:
        read = read_model_file(file.read_bytes(), name=file.name)
        plan = read_json(read.about)["plan"]
        if digest(plan["plan"]) != plan["digest"]:
            raise ConfigurationError(f"{file.name} must hold the plan that it names; it was altered.")
        return evaluation(plan["plan"], plan["digest"], read.tensors["weight"], question)
    except ConfigurationError:
        raise
    except OSError as error:
        raise ConfigurationError(
            f"'model' of an evaluation must be a run's folder or a model file; {file}: {error.strerror}."
        ) from None
    except (KeyError, TypeError, ValueError):
        raise ConfigurationError(
            f"{file.name} must be a model file of a training, with plan and weights; got another file. "
            "Give model.safetensors of a run."
        ) from None
