"""Checking the plan and the models by working them out again from the config inside the plan."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy.typing as npt
from safetensors.numpy import load
from torch import nn

from discreet.arrays import Floats
from discreet.data.record_map import RecordMap
from discreet.errors import DiscreetError
from discreet.kinds.model_facts import names_own_code
from discreet.models import flatten, model_file, read_model_file
from discreet.plan import make_plan
from discreet.plan.public_model import public_model
from discreet.privacy.ledger import Intent
from discreet.rounds import RunRecord, initial_state, parse_origin
from discreet.rounds.engine import RoundOrder
from discreet.rounds.judging import best, evaluated_from
from discreet.rounds.preparing import PreparedBy, announced_map, prepared_from, record_map
from discreet.rounds.state import KEPT, released_from
from discreet.rounds.written import counts_completed, counts_stated, written_state
from discreet.verify.evidence import Evidence, require_same
from discreet.verify.finding import Basis, Finding, VerificationFailure

_NOT_BUILT = "the model is not bundled and was not built (--own-code imports it)"


def check_plan(evidence: Evidence) -> Finding:
    """Makes the plan again from config and public facts; what these say of the model, if it can be built."""
    plan = evidence.run.plan
    try:
        if may_build(evidence):
            built_model(evidence)
        again = make_plan(plan.config, plan.facts)
    except VerificationFailure:
        raise
    except DiscreetError as error:
        raise VerificationFailure(f"plan.json must be a plan that can be made; {error}") from None
    require_same(plan.to_json(), again.to_json(), "plan.json")
    found = f"noise, grid, ring, thresholds, {len(plan.guarantees)} guarantees"
    if not may_build(evidence):
        found += f", from what is stated of the model: {_NOT_BUILT}"
    return Finding("plan.json", Basis.RECOMPUTED, found)


def check_models(evidence: Evidence) -> Finding:
    """Checks that ledger, saved state and released model are about the same weights."""
    saved = saved_parameters(evidence.run)
    _require_counted(evidence.run)
    _require_whole_state(evidence.run)
    _require_best(evidence.run)
    about = _checked_origin(evidence.run)
    if not may_build(evidence):
        return Finding(
            "state.safetensors",
            Basis.CHAINED,
            f"as the ledger names it; {_NOT_BUILT}{_frozen(evidence)}",
        )
    model = built_model(evidence)
    named, basis = _begun(evidence, flatten(model), nothing_completed=saved is None)
    parameters = flatten(model) if saved is None else saved
    if (
        model_file(model, parameters, about, announced_of(evidence.run))
        != evidence.run.directory.model.read_bytes()
    ):
        raise VerificationFailure(
            "model.safetensors must hold the weights of state.safetensors, and what prepares records; it "
            "holds others."
        )
    asked = bool(evidence.run.plan.questions)
    what, numbers = ("released sum, state", "numbers") if asked else ("model, state", "weights")
    return Finding(what, basis, f"{len(parameters):,} {numbers}, {named}{_frozen(evidence)}")


def _begun(evidence: Evidence, built: Floats, *, nothing_completed: bool) -> tuple[str, Basis]:
    """Compares where the ledger begins with the weights of the model built here; says how weights are named.

    Without the file of a head's public weights the built model has the released ones: those that it began at
    where nothing is completed, and others than the first release started from everywhere else.
    """
    compared = evidence.weights is not None or evidence.run.plan.model.begins is None
    known, begun = compared or nothing_completed, "plan's initial" if compared else "released"
    intents = [entry for entry in evidence.run.entries if isinstance(entry, Intent)]
    announced = initial_state(evidence.run.plan, built).announced()
    if known and intents and intents[0].started_from != hashlib.sha256(announced.tobytes()).hexdigest():
        raise VerificationFailure(
            f"the first release of the ledger must start from the {begun} weights; it names others."
        )
    if compared or not nothing_completed:
        return "as the ledger names them", Basis.RECOMPUTED
    if intents:
        return "that the ledger begins at", Basis.CHAINED
    return "which no release of the ledger names", Basis.SEALED


def _frozen(evidence: Evidence) -> str:
    """Says how the public weights of a model were checked: of frozen layers, or where its head began."""
    stated, begins = evidence.run.plan.model.pretrained, evidence.run.plan.model.begins
    if stated is None:
        return ""
    what = "frozen weights" if begins is None else "the weights that training started from"
    if evidence.weights is not None:
        return f"; {what} are those of the file, SHA-256 {stated.sha256[:12]}…"
    return f"; {what} NOT COMPARED with the public file (--weights FILE compares)"


def released_tensors(run: RunRecord) -> Mapping[str, npt.NDArray[Any]] | None:
    """Returns the tensors of a released model with public weights, whose file need not be here; else None."""
    file = run.directory.model
    if run.plan.model.pretrained is None or not file.exists():
        return None
    return read_model_file(file.read_bytes(), name=file.name).tensors


def built_model(evidence: Evidence) -> nn.Module:
    """Builds the plan's model; its public weights are the file's, or, without it, the released model's."""
    if evidence.weights is None:
        return public_model(evidence.run.plan, released_tensors(evidence.run) or {})
    return public_model(evidence.run.plan.with_own_files(lambda _: str(evidence.weights)))


def _checked_origin(run: RunRecord) -> str:
    """Returns what the model file says of itself, once that follows from plan and ledger.

    The version that wrote it is the file's own word: a later one verifies it all the same.
    """
    name = run.directory.model.name
    about = read_model_file(run.directory.model.read_bytes(), name=name).about
    stated = parse_origin(about, name=name)
    require_same(stated.to_json(), replace(run.origin, software=stated.software).to_json(), name)
    return about


def saved_parameters(run: RunRecord) -> Floats | None:
    """Returns the released weights, after the last completed release or the best; None before the first.

    Raises:
        VerificationFailure: if the saved state is not the one that the ledger names.
    """
    completed = run.spending.completed
    if not completed:
        return None
    data = run.directory.state.read_bytes()
    found, last = hashlib.sha256(data).hexdigest(), completed[-1]
    if found != last.led_to:
        raise VerificationFailure(
            f"state.safetensors must be the state that release {last.release} led to, {last.led_to}; "
            f"got {found}."
        )
    return released_from(load(data))


def _require_counted(run: RunRecord) -> None:
    """Checks that the state's evaluations, preparation and rounds are the releases that the ledger completed.

    How much noise they hold, and so how wide their intervals are, depends on how many silos survived; how
    far the server steps, on how many rounds are over.
    """
    completed = run.spending.completed
    if not completed:
        return
    stated = counts_stated(run.directory.load_state().arrays)
    expected = counts_completed(run.plan, completed)
    require_same(stated, expected, "state.safetensors, counts")


def _require_whole_state(run: RunRecord) -> None:
    """Checks that a training goes on from the state: its arrays, and weights that the ledger names.

    The intents behind the last completed release name them; so does that of an evaluation, which moves none.
    """
    completed = run.spending.completed
    if not completed:
        return
    arrays, last, order = run.directory.load_state().arrays, completed[-1].release, run.plan.order
    state = written_state(run.plan, arrays)
    if state is None:
        raise VerificationFailure(
            "state.safetensors must hold the arrays of its training, as they are written, and no others."
        )
    for entry in run.entries:
        if not isinstance(entry, Intent) or entry.release < last + (not order.evaluates(last)):
            continue
        own = state.parameters if order.evaluates(entry.release) else state.announced()
        again = RoundOrder(entry.release, 0, own, prepared=announced_of(run)).context().hex()
        if entry.started_from != again:
            raise VerificationFailure(
                f"state.safetensors must hold the weights that release {entry.release} started from, by the "
                "ledger; it holds others."
            )


def _require_best(run: RunRecord) -> None:
    """Checks that the weights that are kept are those that the best evaluation was about, by the ledger."""
    if not run.spending.completed:
        return
    arrays = run.directory.load_state().arrays
    chosen = best(run.plan, evaluated_from(arrays))
    if (chosen is None) != (KEPT not in arrays):
        raise VerificationFailure(
            "state.safetensors must keep a second model if, and only if, its plan releases the best and an "
            "evaluation tells which."
        )
    if chosen is None:
        return
    release = run.released_after or 0
    order = RoundOrder(release, 0, released_from(arrays), prepared=announced_of(run))
    asked = [one.started_from for one in run.entries if isinstance(one, Intent) and one.release == release]
    if order.context().hex() != asked[-1]:
        raise VerificationFailure(
            f"state.safetensors must keep the model that release {release}, the best evaluation, was about; "
            "it keeps another."
        )


def prepared_of(run: RunRecord) -> PreparedBy | None:
    """Returns what training records were asked before the first round, if they were and a state has it."""
    if run.plan.preparation is None or not run.spending.completed:
        return None
    return prepared_from(run.directory.load_state().arrays)


def announced_of(run: RunRecord) -> Floats | None:
    """Works out again what records are prepared by, from the released sum."""
    found = prepared_of(run)
    return None if found is None else announced_map(run.plan, found)


def saved_map(run: RunRecord) -> RecordMap | None:
    """Returns what prepares records for the model of `saved_parameters`; None where nothing does."""
    return record_map(run.plan, announced_of(run))


def may_build(evidence: Evidence) -> bool:
    """Says whether the model can be built without importing code that the plan names."""
    return evidence.own_code or not names_own_code(evidence.run.plan.model.name)
