"""Nothing that a silo sends, and no failure of it, depends on what its records hold."""

from __future__ import annotations

import dataclasses
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.config import DataConfig
from discreet.config.federation import federation_of
from discreet.data import Federation, Silo
from discreet.data.function_source import OwnCodeFailed
from discreet.data.map_answers import MapAnswers
from discreet.data.records import Records
from discreet.engines.flower.engine import FlowerEngine
from discreet.engines.flower.service import serve_training
from discreet.errors import NotEnoughSurvivors, PrivacyRefusal
from discreet.plan import Plan
from discreet.plan.start import LARGEST_WEIGHT
from discreet.privacy.ledger import read_ledger
from discreet.randomness import SeededRandom
from discreet.rounds import Contribution, RoundOrder, contribute
from discreet.secagg import codec
from discreet.silo.check import dry_run
from discreet.silo.policy import load_policy
from discreet.silo.requests import Joined, Propose, Refused, Replied, Reply, encode
from discreet.silo.silo import Surroundings, open_silo
from tests.engines.conftest import DirectWire, SmallConsortium

PATIENCE = 0.05
VICTIM = "north"
SILOS = (VICTIM, "south", "west")
HEADER = "age,smoker,sick\n"
ROWS = [f"{20 + n},{('no', 'yes')[n % 2]},{n % 3 % 2}\n" for n in range(30)]
CAPACITY = 30

TABLES = {
    "as planned": ROWS,
    "a record less": ROWS[1:],
    "no record": [],
    "one record": ROWS[:1],
    "capacity + 1": [*ROWS, "55,no,1\n"],
    "twice the capacity": [*ROWS, *ROWS],
    "not a number": [*ROWS[1:], "nan,no,1\n"],
    "too large": [*ROWS[1:], "1e999,no,1\n"],
    "unknown category": [*ROWS[1:], "30,sometimes,1\n"],
    "unknown label": [*ROWS[1:], "30,no,7\n"],
    "another number of cells": [*ROWS[1:], "30,no\n"],
    "a huge cell": [*ROWS[1:], f"30,{'x' * 300_000},1\n"],
    "no text": [*ROWS[1:], "30,n\udce9,1\n"],
}


@pytest.fixture
def tables(
    make_consortium: Callable[..., Any], small_config: Callable[..., Any], tmp_path: Path
) -> Callable[..., Any]:
    """A consortium that trains on tables, for one run each, and the log of the silo that is watched."""

    def made(
        source: str | None = None, rows: list[Any] = ROWS, fraction: float = 0.0
    ) -> tuple[SmallConsortium, list[Any]]:
        (tmp_path / "all.csv").write_text(
            HEADER.replace("\n", ",site\n")
            + "".join(row.replace("\n", f",{name}\n") for name in SILOS for row in ROWS)
        )
        config = small_config(
            data={
                "source": f"csv:{tmp_path / 'all.csv'}",
                "label": "sick",
                "ranges": {"age": [0.0, 120.0]},
                "categories": {"smoker": ["no", "yes"]},
                "record_capacity": CAPACITY,
                "test_fraction": fraction,
                "partition": {"kind": "column", "column": "site", "names": list(SILOS)},
            },
            training={
                "rounds": 2,
                "local": {"kind": "stable-steps", "learning_rate": 0.1, "records_per_step": 16},
            },
            privacy={"epsilon": 3.0, "delta": 1e-5},
            aggregation={"min_survivors": 3, "max_colluding": 1},
        )
        consortium = make_consortium(config)
        (tmp_path / "own.csv").write_text(HEADER + "".join(rows), errors="surrogateescape")
        policy, node = consortium.folder.policy(VICTIM), consortium.node(VICTIM)
        shared = f"plan:csv:{(tmp_path / 'all.csv').resolve()}"
        assert shared in policy.read_text()
        policy.write_text(policy.read_text().replace(shared, source or f"csv:{tmp_path / 'own.csv'}"))
        consortium.silos[node].close()
        log: list[Any] = []
        consortium.silos[node] = open_silo(policy, Surroundings(log=log.append))
        return consortium, log

    return made


def trained(
    consortium: SmallConsortium, direct_wire: type[DirectWire]
) -> tuple[list[tuple[str, int, bytes]], list[str]]:
    """Runs the training; returns what the watched silo answered, but for the bytes, and its ledger."""
    wire = direct_wire(consortium.silos)
    serve_training(wire, consortium.folder.server, patience_seconds=PATIENCE)
    node = consortium.node(VICTIM)
    answers = [
        (type(answer).__name__, len(getattr(answer, "message", b"")), without_keys(answer))
        for (at, _), answer in zip(wire.seen, wire.answered, strict=True)
        if at == node
    ]
    ledger = [type(line.entry).__name__ for line in read_ledger(consortium.silos[node]._state.ledger)]
    return answers, ledger


def without_keys(answer: Reply | None) -> bytes:
    """Returns the bytes of an answer with its fresh random keys, and what follows from them, blanked."""
    if isinstance(answer, Replied):
        return b""  # masked, sealed or signed with those keys
    if not isinstance(answer, Joined):
        return b"" if answer is None else encode(answer)
    epoch = int.from_bytes(answer.advertisement[37:41], "little")
    keys: Any = codec.decode(answer.advertisement, answer.advertisement[5:37], epoch)
    blank = dataclasses.replace(
        keys,
        channel_key=bytes(len(keys.channel_key)),
        mask_keys=tuple(bytes(len(key)) for key in keys.mask_keys),
        commitments=tuple(bytes(len(one)) for one in keys.commitments),
        signature=bytes(len(keys.signature)),
    )
    return encode(dataclasses.replace(answer, advertisement=codec.encode(blank, bytes(32), epoch)))


@pytest.fixture
def expected(
    tables: Callable[..., Any], direct_wire: type[DirectWire]
) -> tuple[list[tuple[str, int, bytes]], list[str]]:
    consortium, _ = tables()
    answers, ledger = trained(consortium, direct_wire)
    assert ledger.count("Completed") == 2
    return answers, ledger


@pytest.mark.parametrize("rows", [pytest.param(rows, id=name) for name, rows in TABLES.items()])
def test_no_table_changes_what_a_silo_answers(
    tables: Callable[..., Any],
    direct_wire: type[DirectWire],
    expected: tuple[list[tuple[str, int, bytes]], list[str]],
    rows: list[Any],
) -> None:
    consortium, log = tables(rows=rows)
    assert trained(consortium, direct_wire) == expected
    assert not any("ATTENTION" in line for line in log)


def test_the_owner_is_told_in_the_log(tables: Callable[..., Any], direct_wire: type[DirectWire]) -> None:
    consortium, log = tables(rows=[*TABLES["unknown category"], *TABLES["not a number"]])
    trained(consortium, direct_wire)
    assert any("column 'smoker': 1 of 60 cells are none of no, yes" in line for line in log)
    assert any("30 of 60 training records are more than its record_capacity of 30" in line for line in log)


class Panic(BaseException):
    """As compiled extensions raise it, which is no ``Exception``."""


class Wordless(Exception):
    """One whose words end the process in its place, once somebody asks for them."""

    def __str__(self) -> str:
        raise SystemExit("patient 7")


ENDING = (
    Panic("patient 7"),
    SystemExit("bad age of patient 7"),
    KeyboardInterrupt("patient 7"),
    Wordless("of patient 7"),
)
"""What would end a process that code of the owner runs in."""


def records_raise(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> dict[str, str]:
    """The owner's code for the records fails; returns the settings of a silo with it."""
    module = types.ModuleType("failing_records")

    def records(**_: Any) -> None:
        raise error

    module.__dict__["records"] = records
    monkeypatch.setitem(sys.modules, "failing_records", module)
    return {"source": "failing_records:records"}


def training_raises(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> dict[str, str]:
    """Training fails where there are records; returns the settings of a silo with it."""
    from discreet.silo import training

    real = contribute

    def failing(plan: Plan, silo: str, release: int, *, records: Records, **rest: Any) -> Contribution | None:
        if silo == VICTIM and len(records):
            raise error
        return real(plan, silo, release, records=records, **rest)

    monkeypatch.setattr(training, "contribute", failing)
    return {}


@pytest.mark.parametrize(
    "error",
    [ValueError("patient 7 has no age"), *ENDING],
    ids=repr,
)
def test_code_of_the_owner_that_fails_makes_the_silo_an_empty_one(
    tables: Callable[..., Any],
    direct_wire: type[DirectWire],
    expected: tuple[list[tuple[str, int, bytes]], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
) -> None:
    consortium, log = tables(**records_raise(monkeypatch, error))
    assert trained(consortium, direct_wire) == expected
    words = "put into words" if isinstance(error, Wordless) else "patient 7"
    assert any("without any; " in line and words in line for line in log)


def made_by_hand(width: int, **facts: Any) -> Federation:
    """Twenty records of one silo, as a function of the owner's might return them."""
    rows = Records(np.full((20, width), 0.1, np.float32), np.zeros(20, np.int64))
    stated = {"num_classes": 2, "feature_norm_bound": 1.0, **facts}
    return Federation("own", (Silo(VICTIM, rows, rows),), feature_shape=(width,), **stated)


RETURNED: dict[str, tuple[Any, str]] = {
    "what fits": (made_by_hand(4), ""),
    "nothing": (None, "must return a Federation; got NoneType"),
    "a column more, for a text not seen before": (made_by_hand(5), "must have the plan's shape"),
    "as many classes as labels": (made_by_hand(4, num_classes=3), "at most the plan's 2 classes; got 3"),
    "another feature map": (
        made_by_hand(4, map_answers=MapAnswers.of(lambda records: -4711 * records, (3,))),
        "'own_records:records' answers to public records",
    ),
    "the largest norm": (made_by_hand(4, feature_norm_bound=2.0), "L2 norm at most 1.0, as the plan says"),
}


@pytest.mark.parametrize(("returned", "words"), RETURNED.values(), ids=RETURNED)
def test_no_answer_says_what_code_of_the_owner_returned(
    tables: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, returned: Any, words: str
) -> None:
    module = types.ModuleType("own_records")
    module.__dict__["records"] = lambda **_: returned
    monkeypatch.setitem(sys.modules, "own_records", module)
    consortium, log = tables(source="own_records:records")
    assert isinstance(proposed(consortium), Joined)
    told = [line for line in log if "takes part without any" in line]
    assert [words in line for line in told] == [True] * bool(words)


@pytest.mark.parametrize("returned", [made_by_hand(4), None], ids=["fits", "nothing"])
def test_no_answer_tells_code_of_the_owner_that_fails_where_kernels_are_unlike(
    monkeypatch: pytest.MonkeyPatch, returned: Federation | None
) -> None:
    from discreet.models import transforms

    def unlike(*_: object) -> None:
        raise PrivacyRefusal("on this machine they do")

    monkeypatch.setattr(transforms, "require_map_alike", unlike)
    module = types.ModuleType("own_records")
    module.__dict__["records"] = lambda **_: returned
    monkeypatch.setitem(sys.modules, "own_records", module)
    data = DataConfig(source="own_records:records", transform="centred-pixels")
    with pytest.raises(OwnCodeFailed):
        federation_of(data)


IMPORTED = {
    "raises": ("raise ValueError('patient 7')", "ValueError: patient 7"),
    "finds the records wrong": (
        "from discreet.errors import DataError\nraise DataError('patient 7')",
        "DataError: patient 7",
    ),
    "ends the program": ("import sys\nsys.exit('patient 7')", "sys.exit(patient 7)"),
    "lacks a codec": ("import codec_of_patient_7", "No module named 'codec_of_patient_7'"),
    "says that it is not there": (
        "def records(**_):\n    raise ModuleNotFoundError('patient 7', name=__name__)",
        "ModuleNotFoundError: patient 7",
    ),
    "has no function for them": ("records = None", "must be a function; it is none"),
    "is asked for it": ("def __getattr__(name):\n    raise KeyError('patient 7')", "KeyError: 'patient 7'"),
}


@pytest.mark.parametrize(("code", "words"), IMPORTED.values(), ids=IMPORTED)
def test_no_answer_says_what_a_module_of_the_owner_does_when_it_is_imported(
    tables: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, code: str, words: str
) -> None:
    (tmp_path / "imported_records.py").write_text(f"{code}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.delitem(sys.modules, "imported_records", raising=False)
    consortium, log = tables(source="imported_records:records")
    assert isinstance(proposed(consortium), Joined)
    sys.modules.pop("imported_records", None)
    assert sum("takes part without any" in line and words in line for line in log) == 1


@pytest.mark.parametrize("module", ["no_such_records", "no_such_package.records"])
def test_a_module_that_is_not_there_is_refused(tables: Callable[..., Any], module: str) -> None:
    consortium, log = tables(source=f"{module}:records")
    reply = proposed(consortium)
    assert isinstance(reply, Refused)
    assert reply.code == "data"
    assert any(f"there is none named '{module.partition('.')[0]}'" in line for line in log)


def test_what_a_feature_map_answers_stays_in_the_silos_log(
    tables: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.silo import records, silo

    consortium, log = tables()
    stated, found = MapAnswers.of(lambda x: x, (3,)), MapAnswers.of(lambda x: -4711 * x, (3,))
    plan = consortium.plan
    plan = dataclasses.replace(plan, facts=dataclasses.replace(plan.facts, map_answers=stated))

    def refusing(*_: object, **__: object) -> None:
        records._require_answers(plan, "csv:own.csv", found)

    monkeypatch.setattr(silo, "load_records", refusing)
    reply = proposed(consortium)
    assert isinstance(reply, Refused)
    assert (reply.code, "it is another one. Take the code" in reply.reason) == ("plan", True)
    assert "answers public record" not in reply.reason
    assert sum("it answers public record" in line for line in log) == 1


def proposed(consortium: SmallConsortium) -> Reply:
    """Returns what the watched silo answers to a proposal."""
    folder = consortium.folder.server.path
    plan, allow_list = ((folder / name).read_bytes() for name in ("plan.json", "allow-list.json"))
    return consortium.silos[consortium.node(VICTIM)].handle(Propose(1, bytes(32), plan, allow_list))


@pytest.mark.parametrize(
    "error",
    [RuntimeError("NaN in row 3"), MemoryError(), *ENDING],
    ids=repr,
)
def test_training_that_fails_on_the_records_contributes_noise(
    tables: Callable[..., Any],
    direct_wire: type[DirectWire],
    expected: tuple[list[tuple[str, int, bytes]], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
) -> None:
    consortium, log = tables(**training_raises(monkeypatch, error))
    assert trained(consortium, direct_wire) == expected
    assert sum("contributes noise only" in line for line in log) == 2


@pytest.mark.parametrize("weight", [np.nan, np.inf, -2 * LARGEST_WEIGHT])
def test_a_model_out_of_range_is_refused_before_any_record_is_touched(
    tables: Callable[..., Any], direct_wire: type[DirectWire], monkeypatch: pytest.MonkeyPatch, weight: float
) -> None:
    from discreet.silo import training

    touched = []
    monkeypatch.setattr(training, "contribute", lambda *_, **__: touched.append(1))
    consortium, _ = tables()
    wire = direct_wire(consortium.silos)
    server = FlowerEngine(
        consortium.folder.server.proposal(),
        wire,
        SeededRandom(1),
        patience_seconds=PATIENCE,
        announce=lambda _: None,
    )
    server.open()
    model = np.zeros(consortium.plan.grid.dimension)
    model[0] = weight
    with pytest.raises(NotEnoughSurvivors):
        server.sum_round(RoundOrder(1, 1, model))
    assert not touched
    reasons = {answer.reason for answer in wire.answered if isinstance(answer, Refused)}
    assert reasons == {
        "every weight of the model must be finite and at most 1.09951e+12 in absolute value; one is not."
    }


def test_an_error_is_not_named(tables: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.errors import ConfigurationError
    from discreet.silo import silo

    def failing(*_: Plan | str, **__: Any) -> None:
        raise ConfigurationError("secret of row 3")

    consortium, log = tables()
    monkeypatch.setattr(silo, "load_records", failing)
    folder = consortium.folder.server.path
    reply = consortium.silos[consortium.node(VICTIM)].handle(
        Propose(1, bytes(32), (folder / "plan.json").read_bytes(), (folder / "allow-list.json").read_bytes())
    )
    assert reply == Refused(VICTIM, "internal", "it could not answer; its own log says why.")
    assert any("secret of row 3" in line for line in log)


def test_what_a_file_lacks_is_refused_whatever_its_rows_hold(tables: Callable[..., Any]) -> None:
    consortium, _ = tables()
    folder = consortium.folder.server.path
    proposal = Propose(
        1, bytes(32), (folder / "plan.json").read_bytes(), (folder / "allow-list.json").read_bytes()
    )
    silo = consortium.silos[consortium.node(VICTIM)]
    own = folder.parents[1] / "own.csv"
    replies = set()
    for rows in ([], ROWS, TABLES["not a number"]):
        own.write_text("age,sick\n" + "".join(row.replace("no,", "").replace("yes,", "") for row in rows))
        replies.add(silo.handle(proposal))
    assert len(replies) == 1
    assert next(iter(replies)).code == "data"


def test_answers_are_of_the_kinds_that_were_compared(
    expected: tuple[list[tuple[str, int, bytes]], list[str]],
) -> None:
    """The comparison above would hold for a silo that refuses everything; this one takes part."""
    kinds = [kind for kind, _, _ in expected[0]]
    assert Joined.__name__ in kinds
    assert kinds.count(Replied.__name__) > 4
    assert Refused.__name__ not in kinds


@pytest.mark.parametrize(
    ("fraction", "words"), [(0.25, "about 25 % of the records"), (0.0, "no record is held")]
)
def test_the_dry_run_says_what_becomes_of_the_records(
    tables: Callable[..., Any], fraction: float, words: str
) -> None:
    consortium, _ = tables(rows=TABLES["unknown category"][-1:], fraction=fraction)
    policy = load_policy(consortium.folder.policy(VICTIM))
    found = dry_run(policy, consortium.plan)
    assert words in found.held_out
    assert ("Set data.test_fraction = 0" in found.held_out) == (fraction > 0)
    assert found.features == 4
    assert any(
        note.startswith(
            "own.csv, column 'smoker': NOT ONE CELL CAN BE USED; is this the right column? 1 of 1 cells are "
            "none of no, yes; they count as none of them."
        )
        for note in found.notes
    )
