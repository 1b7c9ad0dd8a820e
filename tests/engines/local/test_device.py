"""The device is a speed setting: asked for by name, refused in one line, followed by everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

from discreet.engines.local import comparison, run
from discreet.engines.local.comparison import compare
from discreet.engines.local.device import torch_device
from discreet.engines.local.measure import measure
from discreet.errors import ConfigurationError
from discreet.models import flatten
from discreet.randomness import SeededRandom
from discreet.rounds import contribute
from tests.engines.local.small_digits import KINDS, announced, prepared


def test_cuda_is_given_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert torch_device("cuda") == torch.device("cuda")
    assert torch_device("cpu") == torch.device("cpu")


def test_cuda_is_refused_where_it_is_not_before_any_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigurationError, match=r'no CUDA device here.*speed\.device = "cpu"'):
        prepared("clipped", speed={"device": "cuda"}, data={"source": "module:that_does_not_exist"})


def test_the_plan_does_not_depend_on_speed() -> None:
    slow, fast = (prepared("linear", speed={"workers": workers}).plan for workers in (1, 7))
    assert slow.config.speed != fast.config.speed
    assert slow.digest() == fast.digest()
    assert "speed" not in cast(Any, slow.to_json())["config"]


@pytest.mark.parametrize("kind", KINDS)
def test_training_and_measuring_make_no_tensor_elsewhere(kind: str) -> None:
    """Under a default device of "meta" a tensor that forgets its device holds no numbers at all."""
    made = prepared(kind)
    name = made.plan.facts.silos[0]

    def results() -> tuple[bytes, dict[str, float]]:
        found = contribute(
            made.plan, name, 1, model=made.model, parameters=announced(made),
            records=made.federation.silo(name).train, randomness=SeededRandom(1),
        )  # fmt: skip
        return found.values.tobytes(), measure(made.model, made.federation, parameters)

    parameters = flatten(made.model)
    expected = results()
    with torch.device("meta"):
        found = results()
    assert found == expected


def test_the_comparison_follows_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "_STEPS", 3)
    made = prepared("linear")
    expected = compare(made.model, made.federation, flatten(made.model))
    made = prepared("linear")
    with torch.device("meta"):
        found = compare(made.model, made.federation, flatten(made.model))
    assert np.isfinite(expected.pooled["loss"])
    assert found == expected


def test_a_comparison_begins_where_the_training_began(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(comparison, "_STEPS", 3)
    config = prepared("linear").config
    compared = config.model_copy(update={"run": config.run.model_copy(update={"compare": True})})
    found = run(compared, tmp_path / "run")
    fresh = prepared("linear")
    assert found.comparison == compare(fresh.model, fresh.federation, flatten(fresh.model))
