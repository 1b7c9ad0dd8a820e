"""Each attack on silos, servers, sums and files with an old behaviour planted back: then it must work."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from discreet.engines.flower import engine, members
from discreet.engines.flower.engine import FlowerEngine
from discreet.errors import DataError
from discreet.learning import single_step
from discreet.learning.clipping import clipped_gradient_sum
from discreet.plan import parse_plan
from discreet.rounds import contribute
from discreet.secagg import MemoryJournal
from discreet.secagg.hazmat import keys
from discreet.silo import requests, silo, training
from discreet.silo.anchor import Anchor
from discreet.silo.policy import Account, SignedAllowList
from discreet.silo.records import load_records
from discreet.silo.silo import Admitted, Silo
from discreet.silo.state import SiloState
from discreet.silo.training import SiloTraining
from discreet.verify import manifest, remeasured
from tests.attacks import on_files, on_schedules, on_servers, on_silos, on_sums
from tests.attacks.hospitals import module_of

# `discreet.silo.policy.review` is the function of that module.
reviewing = sys.modules["discreet.silo.policy.review"]

Plant = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def any_model(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reviewing, "permitted", lambda *_: True)


def as_the_config_says(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reviewing, "carried_out_mode", lambda plan: plan.config.aggregation.mode)


def unchecked(name: str) -> Plant:
    return lambda patch: patch.setattr(reviewing, name, lambda *_: ())


def records_decide(patch: pytest.MonkeyPatch) -> None:
    """A silo refuses when it holds too many records, or one of a category that the plan leaves out."""
    honest = load_records

    def load(source: str, plan: Any, name: str, **rest: Any) -> Any:
        lines = Path(source.removeprefix("csv:")).read_text().split()[1:]
        stages = [line.split(",")[2] for line in lines]
        known = set(plan.config.data.categories["stage"]) >= set(stages)
        if len(stages) > plan.capacities[0] or not known:
            raise DataError("planted")
        return honest(source, plan, name, **rest)

    patch.setattr(silo, "load_records", load)


def overflow_is_answered(patch: pytest.MonkeyPatch) -> None:
    """A silo refuses a round once a record's output leaves float32."""
    honest = contribute

    def checked(plan: Any, name: str, number: int, *, parameters: Any, records: Any, **rest: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = records.features.astype(np.float32) @ parameters.astype(np.float32)
        if not np.isfinite(outputs).all():
            raise DataError("planted")
        return honest(plan, name, number, parameters=parameters, records=records, **rest)

    def unguarded(self: Any, start: Any, parameters: bytes) -> bytes:
        purpose = self._purpose(start.terms.round_index, start.terms.attempt, parameters)
        values = self._values(purpose, parameters)
        self._enter()
        self._release = self._ledger.contribute(
            self._plan_digest, start.terms.context.hex(), self._book.today()
        )
        return bytes(self._session.submit(values))

    patch.setattr(training, "LARGEST_WEIGHT", np.inf)
    patch.setattr(training, "contribute", checked)
    patch.setattr(SiloTraining, "_contribute", unguarded)


def rounds_are_free(patch: pytest.MonkeyPatch) -> None:
    honest = Account.require
    first: list[Any] = []

    def require(self: Any, budget: Any, charge: Any, *_: int) -> Any:
        first.append(honest(self, budget, charge, 1))
        return first[0]

    patch.setattr(Account, "require", require)


def words_as_they_are(module: Any) -> Plant:
    return lambda patch: patch.setattr(module, "shown", lambda words, *_: words)


def any_list(patch: pytest.MonkeyPatch) -> None:
    def accept(self: Any, signed: Any) -> Any:
        return signed.verified(bytes.fromhex(self.policy.consortium.public_key))

    patch.setattr(SiloState, "accept_allow_list", accept)


def proposals_end_trainings(patch: pytest.MonkeyPatch) -> None:
    honest = Silo._join

    def end_first(self: Any, proposal: Any) -> Any:
        self._end_training()
        return honest(self, proposal)

    patch.setattr(Silo, "_join", end_first)


def proposals_are_listed_unasked(patch: pytest.MonkeyPatch) -> None:
    honest = Silo._join

    def list_first(self: Any, proposal: Any) -> Any:
        serial = SignedAllowList.parse(proposal.allow_list).serial
        self._admitted = Admitted(parse_plan(proposal.plan).digest(), serial)
        return honest(self, proposal)

    patch.setattr(Silo, "_join", list_first)


def seeds_count_as_secret(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(FlowerEngine, "require_secret_noise", lambda _: None)


def names_speak(patch: pytest.MonkeyPatch) -> None:
    """Who says that silo refuses takes it out, whoever that is."""

    def refuse(self: Any, _: Any, name: str, code: str, reason: str) -> None:
        home = self._nodes.pop(name, 100)
        self.refusals[home] = f"{name}: ({code}) {reason}"

    patch.setattr(members.Members, "refuse", refuse)


def bare_json(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(requests, "read_json", json.loads)


def no_checks_of_draws(patch: pytest.MonkeyPatch) -> None:
    lies = module_of("secagg/test_lying_about_draws.py")
    for check in (lies.no_floor_on_draws, lies.sharers_need_not_have_drawn, lies.no_signed_inputs):
        check(patch)


def any_writing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(keys, "is_canonical", lambda _: True)


def no_journal(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(MemoryJournal, "claim", lambda *_: None)


def no_anchor(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Anchor, "require_part_of", lambda *_: None)


def sources_are_imported(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(remeasured, "_data_in", lambda _, __, plan: plan.config.data)


def any_file(patch: pytest.MonkeyPatch) -> None:
    def read(directory: Any) -> manifest.Manifest:
        document = json.loads((directory / manifest.MANIFEST).read_bytes())
        return manifest.Manifest(document["ledger_head"], document["files"])

    patch.setattr(manifest, "read_manifest", read)


def models_at_once(patch: pytest.MonkeyPatch) -> None:
    """A model that arrives is taken within the batch."""
    interrupted = on_schedules.at_once(clipped_gradient_sum)
    patch.setattr(single_step, "clipped_gradient_sum", interrupted)


@pytest.mark.parametrize(
    ("attack", "plant"),
    [
        (on_silos.code_in_a_silo, any_model),
        (on_silos.number_of_records, records_decide),
        (on_silos.existence_of_a_value, records_decide),
        (on_silos.conjunction_by_overflow, overflow_is_answered),
        (on_silos.label_outside_the_policy, unchecked("_of_label")),
        (on_silos.colluders_beyond_the_shares, unchecked("_of_colluders")),
        (on_silos.sparse_graph_called_malicious, as_the_config_says),
        (on_silos.attempts_beyond_the_budget, rounds_are_free),
        (on_silos.forged_log_lines, words_as_they_are(silo)),
        (on_silos.old_allow_list, any_list),
        (on_silos.proposal_that_ends_a_training, proposals_end_trainings),
        (on_silos.proposals_pushed_out, proposals_are_listed_unasked),
        (on_silos.seeded_silo_among_secret_ones, seeds_count_as_secret),
        (on_servers.refusal_in_another_name, names_speak),
        (on_servers.forged_lines_in_the_servers_log, words_as_they_are(engine)),
        (on_servers.reply_that_ends_the_training, bare_json),
        (on_sums.part_of_a_sparse_sum, no_checks_of_draws),
        (on_sums.key_in_another_writing, any_writing),
        (on_sums.second_life_of_an_epoch, no_journal),
        (on_silos.older_ledger_put_back, no_anchor),
        (on_schedules.interrupt_in_a_batch, models_at_once),
        (on_files.code_named_by_a_run, sources_are_imported),
        (on_files.file_outside_a_run, any_file),
        (on_files.untyped_errors, bare_json),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_with_the_old_behaviour_it_works(
    monkeypatch: pytest.MonkeyPatch, attack: Callable[[], Any], plant: Plant
) -> None:
    plant(monkeypatch)
    assert attack().works


def test_an_attack_on_nothing_is_no_comfort(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silos that refuse every plan leak nothing, and would pass for silos that withstand."""

    def refuse(*_: Any, **__: Any) -> Any:
        raise DataError("planted")

    monkeypatch.setattr(silo, "load_records", refuse)
    assert on_silos.number_of_records().works
