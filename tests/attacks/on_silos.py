"""Attacks of a coordinator that lies to the silos: code, records, budget, log and keys of a data owner."""

from __future__ import annotations

import copy
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import DiscreetError, LedgerError
from discreet.plan import Plan
from discreet.plan.start import LARGEST_WEIGHT
from discreet.privacy.wire import digest
from discreet.silo.check import dry_run
from discreet.silo.policy import load_policy, read_plan
from discreet.silo.requests import Deliver, Joined, Propose, Refused, Reply
from discreet.silo.silo import open_silo
from tests.attacks.hospitals import NAMES, STAGES, hospitals, plan_of, survivors, table
from tests.attacks.outcome import Outcome
from tests.support.honest_plans import plan_again

# --- code ---------------------------------------------------------------------------------------------------

_FACTORY = """
from pathlib import Path
Path({marker!r}).touch()
def make(*_):
    raise RuntimeError
"""


@contextmanager
def importable() -> Iterator[Path]:
    """Yields a marker that exists once the module ``evil_factory`` is imported, or a shell ran."""
    with tempfile.TemporaryDirectory() as folder:
        marker = Path(folder) / "executed"
        (Path(folder) / "evil_factory.py").write_text(_FACTORY.format(marker=str(marker)))
        sys.path.insert(0, folder)
        try:
            yield marker
        finally:
            sys.path.remove(folder)
            sys.modules.pop("evil_factory", None)


def forged(plan: Plan, change: Callable[[dict[str, Any]], None]) -> bytes:
    """Returns a plan's document with a change, under the digest that fits it."""
    document: Any = copy.deepcopy(plan.to_json())
    change(document)
    return json.dumps({"digest": digest(document), "plan": document}).encode()


def by_digest(name: str, text: str) -> str:
    """Lets hospital ``a`` allow a model by the digest of its weights alone."""
    pin = f'models = ["sha256:{plan_of().facts.model_digest}"]'
    return text.replace('models = ["logistic"]', pin) if name == "a" else text


def _command_for(shell: Path) -> Callable[[dict[str, Any]], None]:
    def change(plan: dict[str, Any]) -> None:
        plan["config"]["model"]["name"] = "subprocess:Popen"
        plan["facts"]["feature_shape"] = ["/bin/sh", "-c", f"touch {shell}"]

    return change


def _factory(plan: dict[str, Any]) -> None:
    plan["config"]["model"]["name"] = "evil_factory:make"
    plan_again(plan)


def code_in_a_silo() -> Outcome:
    """A plan names a command, or a module, in place of a model whose digest the policy allows."""
    with importable() as marker, hospitals(policy=by_digest) as world:
        for change in (_command_for(marker), _factory):
            document = forged(world.plan, change)
            world.propose(document)
            with suppress(DiscreetError):
                dry_run(load_policy(world.folder / "a" / "policy.toml"), read_plan(document))
        ran = marker.exists()
    return Outcome(
        "S1: a command in place of a model",
        "ran as the silo, also in discreet check",
        "a command ran" if ran else "refused; nothing ran",
        ran,
    )


# --- records ------------------------------------------------------------------------------------------------


def answer(reply: Reply) -> tuple[str, str, str]:
    """Returns what a coordinator sees of a reply apart from keys and masks."""
    return type(reply).__name__, getattr(reply, "code", ""), getattr(reply, "reason", "")


def _asked(plan: Plan, records: str) -> tuple[str, str, str]:
    with hospitals(plan, tables={"a": records}) as world:
        return answer(world.propose())


def _compared(
    attack: str, before: str, plans: Iterator[tuple[str, Plan]], tables: tuple[str, str]
) -> Outcome:
    """Asks hospitals with two tables the same; any difference in the answers is an uncharged oracle."""
    first, second = tables
    seen = [(what, _asked(plan, first), _asked(plan, second)) for what, plan in plans]
    different = [what for what, one, other in seen if one != other]
    joined = all(one[0] == Joined.__name__ for _, one, _ in seen)
    now = f"answers differ at {', '.join(different)}" if different else f"{len(seen)} plans, same answers"
    return Outcome(
        attack, before, now if joined or different else "no plan is joined", not joined or bool(different)
    )


def number_of_records() -> Outcome:
    """Capacities around the number of records of the two tables."""
    capacities = (
        (f"capacity {bound}", plan_of(data={"record_capacity": dict.fromkeys(NAMES, bound)}))
        for bound in (1, 58, 59, 60, 61)
    )
    tables = (table(count=60), table(count=59))
    return _compared(
        "S3: number of records, by capacities refused", "234 of 234, by 14 plans", capacities, tables
    )


def existence_of_a_value() -> Outcome:
    """A category, or a class, is left out of the plan, and one record has it."""
    stages = {"sex": ["f", "m"], "stage": ["I", "II", "III"]}
    plans = iter([("stage IV", plan_of(data={"categories": stages}))])
    return _compared(
        "S3: does any record hold a value, by categories refused",
        "yes or no, free of charge",
        plans,
        (table(last_stage="IV"), table(last_stage="I")),
    )


def conjunction_by_overflow() -> Outcome:
    """Weights at which only a record that is both m and of stage IV leaves float32; one hospital has one."""
    different = []
    for size in (3.4e38, LARGEST_WEIGHT, 1e20):
        with hospitals(tables={name: table(last_stage="I") for name in NAMES[1:]}) as world:
            # One weight each for age, two sexes, four stages and a constant.
            weights = np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0]) * size
            wire = world.wire()
            engine = world.engine(wire)
            engine.open()
            survivors(engine, world.order(1, weights))
            replies = zip(wire.seen, wire.answered, strict=True)
            shown = {node: answer(reply) for (node, request), reply in replies if _invites(request)}
            if len(set(shown.values())) != 1:
                different.append(f"{size:.3g}")
    now = f"answers differ at {different[0]}" if different else "same answers at three sizes"
    return Outcome(
        "S3: a conjunction, by overflow of float32", "refused by the one silo", now, bool(different)
    )


def _invites(request: object) -> bool:
    return isinstance(request, Deliver) and bool(request.parameters)


def label_outside_the_policy() -> Outcome:
    """The policy names its columns and what may be predicted; the plan predicts something else."""
    records = table().replace("outcome", "hiv")
    with hospitals(plan_of(data={"label": "hiv"}), tables={"a": records}) as world:
        reply = world.propose()
    return _refused("S8: a label that no policy names", "joined", reply)


def _refused(attack: str, before: str, reply: Reply) -> Outcome:
    works = not isinstance(reply, Refused)
    return Outcome(attack, before, "joined" if works else f"refused: {answer(reply)[2][:48]}…", works)


# --- assumptions and budget ---------------------------------------------------------------------------------


def colluders_beyond_the_shares() -> Outcome:
    """The owner assumes two colluders; the shares of the plan withstand none."""
    plan = plan_of(aggregation={"min_survivors": 4, "max_colluding": 0})
    assumed = lambda _, text: text.replace("max_colluding = 1", "max_colluding = 2")  # noqa: E731
    with hospitals(plan, policy=assumed) as world:
        reply = world.propose()
    return _refused("S5: shares below the owner's max_colluding", "joined; a single input opened", reply)


def sparse_graph_called_malicious() -> Outcome:
    """Above 50 silos ``bell`` trusts the server with the list of keys; the policy allows no such trust."""
    names = [*NAMES, *(f"s{number:02d}" for number in range(56))]
    plan = plan_of(
        names=names,
        aggregation={"protocol": "bell", "mode": "malicious", "min_survivors": 55, "max_colluding": 1},
    )
    bell = lambda _, text: text.replace("[require]", '[require]\nprotocols = ["bell"]')  # noqa: E731
    with hospitals(plan, policy=bell) as world:
        reply = world.propose()
    return _refused("S7: a sparse graph where only 'malicious' is allowed", "joined, as PROVEN", reply)


def attempts_beyond_the_budget() -> Outcome:
    """The same round again and again under new attempts, each of which is a release."""
    with hospitals(budget=1.5) as world:
        engine = world.engine()
        engine.open()
        done = 0
        while done < 12 and survivors(engine, world.order(done + 1)):
            done += 1
        cost = world.plan.spent(done).epsilon
    return Outcome(
        "S11: attempts beyond the budget",
        "stopped, but no test said so",
        f"ε = {cost:.3f} of 1.5 after {done} attempts",
        cost > 1.5 or not done,
    )


def older_ledger_put_back() -> Outcome:
    """A backup of the state folder, from before a round, is put back, so that its cost is forgotten."""
    with hospitals() as world:
        engine = world.engine()
        engine.open()
        first = survivors(engine, world.order(1))
        home = world.folder / "a"
        shutil.copytree(home / "state", home / "backup")
        second = survivors(engine, world.order(2))
        world.silos[100].close()
        shutil.rmtree(home / "state")
        shutil.copytree(home / "backup", home / "state")
        try:
            open_silo(home / "policy.toml").close()
            said = "the silo starts"
        except LedgerError:
            said = "the silo does not start"
    works = said == "the silo starts" or not (first and second)
    return Outcome("S11: an older ledger put back", "a budget without a trace of what was spent", said, works)


# --- log, keys and order ------------------------------------------------------------------------------------


def forged_log_lines() -> Outcome:
    """A plan's words end a line of the owner's log and begin another: in a refusal, in a note on records."""
    words = "x\n2026-01-01 joined plan 0000: ε = 0.01"

    def label(plan: dict[str, Any]) -> None:
        plan["config"]["data"]["label"] = words

    categories = {"sex": ["f", words], "stage": list(STAGES)}
    with hospitals(plan_of(data={"categories": categories})) as world:
        told = [answer(world.propose(plan))[2] for plan in (forged(world.plan, label), None)]
        lines = [*world.logs["a"], *told]
    found = [line for line in lines if not line.isprintable()]
    now = f"{len(found)} of {len(lines)} lines forged" if found else f"{len(lines)} lines, each one line"
    return Outcome("S11: forged lines in the owner's log", "a line of the attacker's words", now, bool(found))


def old_allow_list() -> Outcome:
    """A list that the consortium replaced, with a key that it withdrew, is sent again."""
    with hospitals() as world:
        newest = world.propose(serial=2)
        assert isinstance(newest, Joined)
        reply = world.propose(serial=1, epoch=2)
    return _refused("S11: a replaced allow-list", "refused", reply)


def proposal_that_ends_a_training() -> Outcome:
    """A proposal that no policy allows arrives in the middle of a training."""
    with hospitals() as world:
        engine = world.engine()
        engine.open()
        before = survivors(engine, world.order(1))
        late = world.proposal()
        forbidden = forged(world.plan, lambda plan: plan["config"]["model"].update(name="mlp"))
        short = Propose(2, bytes(31), late.plan, late.allow_list)
        for proposal in (world.proposal(b"no plan"), world.proposal(forbidden), short):
            world.silos[100].handle(proposal)
        after = survivors(engine, world.order(2))
    lost = set(before) - set(after)
    return Outcome(
        "S11: a refused proposal in the middle of a training",
        "ended it",
        "ended it" if lost else "it goes on",
        bool(lost) or not before,
    )


def proposals_pushed_out() -> Outcome:
    """Plans that anybody can write, under a list that nobody signed, after one that a silo joined."""
    with hospitals() as world:
        joined = world.propose()
        assert isinstance(joined, Joined)
        listed = world.folder / "a" / "state" / "proposals.jsonl"
        before = listed.read_bytes()
        unsigned = world.signed(1).replace(b'"serial":1', b'"serial":2')
        replies = [world.silos[100].handle(replace(world.proposal(), allow_list=unsigned)) for _ in range(20)]
        written = listed.read_bytes().removeprefix(before).count(b"\n")
    works = written > 0 or {answer(reply)[1] for reply in replies} != {"identity"}
    return Outcome(
        "S11: proposals that push others out of the owner's list",
        "2,000 of them left no other",
        f"{written} of {len(replies)} written",
        works,
    )


def model_that_spoils_later_rounds() -> Outcome:
    """One round starts from weights that are NaN or overflow, the next from sane ones."""
    with hospitals() as world:
        engine = world.engine()
        engine.open()
        first = survivors(engine, world.order(1))
        for attempt, value in enumerate((np.nan, 3e38, LARGEST_WEIGHT), start=2):
            survivors(engine, world.order(attempt, np.full(world.plan.grid.dimension, value)))
        # Two rounds: those that refused are greeted in one and make new keys for the other.
        survivors(engine, world.order(8))
        after = survivors(engine, world.order(9))
    lost = set(first) - set(after)
    now = f"{', '.join(sorted(lost))} lost for good" if lost else "every later round is right"
    return Outcome(
        "S11: a model of NaN in one round", "every later round refused", now, bool(lost) or not first
    )


def seeded_silo_among_secret_ones() -> Outcome:
    """A silo whose noise a seed removes joins a run whose ledger calls the noise secret."""
    seeded = lambda name, text: text + "\n[simulation]\nseed = 3\n" if name == "a" else text  # noqa: E731
    with hospitals(policy=seeded) as world:
        engine = world.engine()
        engine.require_secret_noise()
        engine.open()
        took_part = survivors(engine, world.order(1))
    works = "a" in took_part or not took_part
    now = "its noise counts as secret" if works else "left out; the others go on"
    return Outcome(
        "S11: a rehearsing silo in a run with secret noise", "its noise counted as secret", now, works
    )


ATTACKS = (
    code_in_a_silo,
    number_of_records,
    existence_of_a_value,
    conjunction_by_overflow,
    label_outside_the_policy,
    colluders_beyond_the_shares,
    sparse_graph_called_malicious,
    attempts_beyond_the_budget,
    older_ledger_put_back,
    forged_log_lines,
    old_allow_list,
    proposal_that_ends_a_training,
    proposals_pushed_out,
    model_that_spoils_later_rounds,
    seeded_silo_among_secret_ones,
)
