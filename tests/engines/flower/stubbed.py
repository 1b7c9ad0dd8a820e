"""Real servers, silos, ledgers and masks on small vectors, for thousands of trainings without training."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from discreet.engines.flower import service, wire
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.engines.flower.wire import NodeId
from discreet.kinds import BufferedConfig
from discreet.plan import Plan, parse_plan
from discreet.plan import plan as planned
from discreet.plan.public_model import public_model
from discreet.randomness import SeededRandom
from discreet.silo import silo as silos
from discreet.silo.policy import Charge, budget
from discreet.silo.policy.review import Approval
from discreet.silo.records import nothing
from discreet.silo.silo import open_silo
from discreet.silo.training import SiloTraining
from tests.engines.conftest import SmallConsortium, small_config


@dataclass(frozen=True)
class Template:
    """A consortium to be copied: keys, policies and a plan without a schedule."""

    folder: Path
    plan: Plan

    def made(self, path: Path, schedule: Mapping[str, Any], contributions: int) -> SmallConsortium:
        """Opens a copy in ``path`` with another schedule; noise and guarantees stay, which nobody looks at.

        Raises:
            ConfigurationError: if the schedule lets a silo never contribute.
        """
        stated = BufferedConfig.model_validate({"kind": "buffered", **schedule})
        training = self.plan.training.model_copy(update={"schedule": stated, "rounds": contributions})
        plan = replace(self.plan, config=self.plan.config.model_copy(update={"training": training}))
        assert plan.timetable is not None
        shutil.copytree(self.folder, path)
        folder = ConsortiumFolder(path)
        folder.server.plan.write_bytes(plan.document())
        opened = {100 + place: open_silo(folder.policy(name)) for place, name in enumerate(plan.facts.silos)}
        return SmallConsortium(folder, plan, dict[NodeId, Any](opened))


def templates(path: Path) -> list[Template]:
    """Four silos under a server that may lie, and six under one that only looks; three must survive."""
    six = {
        "data": {
            "source": "heart-disease", "record_capacity": 150, "partition": {"kind": "iid", "silos": 6}
        },
        "aggregation": {"mode": "semi-honest"},
    }  # fmt: skip
    found = []
    for number, changes in enumerate(({}, six)):
        folder = path / f"template-{number}"
        found.append(Template(folder, rehearse(small_config(**changes), folder)))
    return found


def values(self: SiloTraining, purpose: Any, parameters: bytes, **_: Any) -> npt.NDArray[np.int64]:
    """Returns numbers that only this silo sends in this attempt, in place of what training gives."""
    plan, name = self._approval.plan, self._policy.silo
    source = SeededRandom(parameters[:8].ljust(32, b"\0")).derive(name, purpose.release, purpose.attempt)
    return source.uniform(plan.grid.dimension).astype(np.int64) + purpose.release


@contextmanager
def stubbed() -> Iterator[None]:
    """Replaces training, the review of plans and waiting; what counts, charges and masks stays as it is."""
    read = cache(parse_plan)
    model = cache(lambda plan: public_model(parse_plan(plan)))

    def approve(charge: Charge, *_: object) -> Approval:
        return Approval(charge, model(documents[charge.plan.digest()]))

    documents: dict[str, bytes] = {}
    digests: dict[int, tuple[Plan, str]] = {}
    real_digest = Plan.digest

    def digest(plan: Plan) -> str:
        if id(plan) not in digests:
            digests[id(plan)] = plan, real_digest(plan)  # kept, so that no other gets its place
        return digests[id(plan)][1]

    real_document = Plan.document

    def written(plan: Plan) -> bytes:
        if digest(plan) not in documents:
            documents[digest(plan)] = real_document(plan)
        return documents[digest(plan)]

    def reading(document: bytes) -> Plan:
        plan = read(document)
        documents[plan.digest()] = document
        return plan

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plan, "digest", digest)
        patch.setattr(Plan, "document", written)
        patch.setattr(Plan, "file", written)
        for module in (budget, planned):
            patch.setattr(module, "against", lambda plan, *_, **__: plan.guarantees[0])
        patch.setattr(silos, "read_plan", reading)
        patch.setattr(silos, "priced", lambda plan, policy, _: Charge.under(plan, policy))
        patch.setattr(silos, "afforded", approve)
        patch.setattr(service, "public_model", lambda plan: model(written(plan)))
        patch.setattr(silos, "load_records", lambda _, plan, *__, **___: nothing(plan))
        patch.setattr(silos, "require_rows_alike_for", lambda *_: None)
        patch.setattr(SiloTraining, "_values", values)
        patch.setattr(wire, "_POLL_SECONDS", 0.0)
        patch.setattr(os, "fsync", lambda _: None)
        yield
