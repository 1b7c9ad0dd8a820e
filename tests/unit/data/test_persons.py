"""Persons with several records: read, held out, limited and left out as a whole, by what is theirs alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.config import parse_data
from discreet.config.federation import federation_of
from discreet.data import Federation, Records
from discreet.data.federation import joined
from discreet.data.persons import PersonRule
from discreet.errors import ConfigurationError, DataError

Row = tuple[str, str, str]
SILOS = ("north", "south")


def rows(seed: int, people: int, prefix: str) -> list[Row]:
    """Shuffled visits of people with 1 to 6 of them; who, age, ill."""
    generator = np.random.default_rng(seed)
    found = [
        (f"{prefix}{one}", f"{generator.uniform(20, 90):.3f}", str(generator.integers(2)))
        for one in range(people)
        for _ in range(int(generator.integers(1, 7)))
    ]
    return [found[place] for place in generator.permutation(len(found))]


def load(folder: Path, tables: dict[str, list[Row]], **person: Any) -> Federation:
    folder.mkdir(exist_ok=True)
    for silo, own in tables.items():
        (folder / f"{silo}.csv").write_text(
            "\n".join(["who,age,ill", *(",".join(row) for row in own)]) + "\n", encoding="utf-8"
        )
    stated = {"column": "who", "capacity": 60, "most_records": 4} | person
    source = {silo: f"csv:{folder}/{silo}.csv" for silo in tables}
    data = {"source": source, "label": "ill", "ranges": {"age": [0, 100]}, "person": stated}
    return federation_of(parse_data(data))


def groups(records: Records) -> set[frozenset[tuple[bytes, int]]]:
    """The records of each person, as sets: what persons are, without their numbers."""
    assert records.persons is not None
    return {
        frozenset(
            (records.features[place].tobytes() + bytes([place_in]), int(records.labels[place]))
            for place_in, place in enumerate(np.flatnonzero(records.persons == person))
        )
        for person in np.unique(records.persons)
    }


TABLES = {"north": rows(1, 30, "n"), "south": rows(2, 25, "s")}


def test_a_person_is_in_one_part_with_at_most_the_public_number_of_records(tmp_path: Path) -> None:
    found = load(tmp_path, TABLES)
    for silo in found.silos:
        assert silo.train.persons is not None
        assert silo.test.persons is not None
        assert not set(silo.train.persons.tolist()) & set(silo.test.persons.tolist())
        assert np.bincount(silo.train.persons).max() == 4
        assert len(silo.test) > 0
        people = len(set(silo.train.persons.tolist()) | set(silo.test.persons.tolist()))
        assert people == {"north": 30, "south": 25}[silo.name]
    assert (
        sum("further ones of persons who have more than most_records = 4" in n for n in found.warnings) == 2
    )


@pytest.mark.parametrize("name", ["unknown", "not known", "HELD OUT OR NOT"])
def test_a_name_that_may_stand_for_many_people_is_counted_and_not_shown(tmp_path: Path, name: str) -> None:
    own = [(f"n{place}", "50", "0") for place in range(20)]
    many = [(name, f"{place}", str(place % 2)) for place in range(30)]
    said = "1 of 21 persons have more than most_records = 4 records"
    found = load(tmp_path, {"north": [*own, *many], "south": own})
    (note,) = [note for note in found.warnings if said in note]
    assert note.startswith("silo 'north': ")
    assert "\n" not in note
    assert "HELD" not in note
    as_many = load(tmp_path, {"north": [*own, *many[:4]], "south": own})
    assert not any("persons have more" in note for note in as_many.warnings)
    blank = load(tmp_path, {"north": [*own, *(("", *row[1:]) for row in many)], "south": own})
    assert not any("persons have more" in note for note in blank.warnings)


def test_of_a_person_the_first_records_of_the_source_are_used() -> None:
    persons = np.array([3, 1, 3, 3, 1, 0, 3])
    kept = PersonRule(2).used(persons)
    assert kept.tolist() == [True, True, True, False, True, True, False]


@pytest.mark.parametrize("capacity", [60, 12])
def test_removing_a_person_removes_one_person_of_one_part_or_lets_one_in(
    tmp_path: Path, capacity: int
) -> None:
    whole = load(tmp_path / "all", TABLES, capacity=capacity)
    before = {(s.name, part): groups(getattr(s, part)) for s in whole.silos for part in ("train", "test")}
    for who in sorted({row[0] for row in TABLES["north"]})[:12]:
        fewer = {**TABLES, "north": [row for row in TABLES["north"] if row[0] != who]}
        found = load(tmp_path / "fewer", fewer, capacity=capacity)
        after = {(s.name, part): groups(getattr(s, part)) for s in found.silos for part in ("train", "test")}
        changed = {name for name in before if before[name] != after[name]}
        assert len(changed) <= 1
        for name in changed:
            assert len(before[name] - after[name]) == 1
            # Only where there were too many persons may another take the place.
            assert len(after[name] - before[name]) <= int(capacity == 12 and name[1] == "train")
    if capacity == 12:
        assert [silo.surplus for silo in whole.silos] != [0, 0]
        assert all(len(np.unique(s.train.persons)) == 12 for s in whole.silos)  # type: ignore[arg-type]


def test_one_record_of_a_person_changes_nobody_else(tmp_path: Path) -> None:
    whole = load(tmp_path / "all", TABLES)
    before = groups(whole.silo("north").train)
    for place in range(0, len(TABLES["north"]), 7):
        own = [row for at, row in enumerate(TABLES["north"]) if at != place]
        after = groups(load(tmp_path / "fewer", {**TABLES, "north": own}).silo("north").train)
        assert len(before - after) <= 1
        assert len(after - before) <= 1


def test_a_person_is_held_out_at_all_silos_or_at_none(tmp_path: Path) -> None:
    same = rows(3, 40, "p")
    found = load(tmp_path, {"north": same, "south": same}, most_silos=2)
    north, south = (groups(silo.test) for silo in found.silos)
    assert north == south
    assert not any("more silos" in note for note in found.warnings)
    narrow = load(tmp_path, {"north": same, "south": same})
    assert any("40 persons have records at more silos than most_silos = 1" in n for n in narrow.warnings)


def test_a_record_of_nobody_is_left_out_and_counted(tmp_path: Path) -> None:
    blank = [("", "50", "1"), ("nan", "51", "0"), *TABLES["north"]]
    found = load(tmp_path / "blank", {**TABLES, "north": blank})
    plain = load(tmp_path / "plain", TABLES)
    assert groups(found.silo("north").train) == groups(plain.silo("north").train)
    assert any("2 of" in note and "nobody's" in note for note in found.warnings)
    assert not any("count as one person's" in note for note in found.warnings)


def test_an_iid_partition_deals_persons(tmp_path: Path) -> None:
    load(tmp_path, {"north": TABLES["north"]})
    person = {"column": "who", "capacity": 60, "most_records": 4}
    data = {
        "source": f"csv:{tmp_path}/north.csv",
        "label": "ill",
        "ranges": {"age": [0, 100]},
        "person": person,
        "partition": {"kind": "iid", "silos": 3},
    }
    found = federation_of(parse_data(data))
    held = [set(np.concatenate([s.train.persons, s.test.persons]).tolist()) for s in found.silos]
    assert sum(map(len, held)) == len(set.union(*held)) == 30
    assert {len(own) for own in held} == {10}


def test_pooled_persons_of_different_silos_are_different() -> None:
    part = Records(np.zeros((3, 1), np.float32), np.zeros(3, np.int64), np.array([0, 0, 1]))
    assert joined([part, part]).persons.tolist() == [0, 0, 1, 2, 2, 3]


def test_arrays_say_whose_their_records_are(tmp_path: Path) -> None:
    generator = np.random.default_rng(5)
    np.savez(
        tmp_path / "all.npz",
        x=generator.uniform(size=(30, 4)),
        y=generator.integers(0, 2, 30),
        who=np.repeat(np.arange(10), 3),
        silo=np.repeat(["a", "b"], 15),
        classes=np.array(["0", "1"]),
    )
    person = {"column": "who", "capacity": 20, "most_records": 2}
    found = federation_of(parse_data({"source": f"npz:{tmp_path}/all.npz", "person": person}))
    assert all(np.bincount(s.train.persons).max() <= 2 for s in found.silos if len(s.train))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="no array 'nobody'"):
        federation_of(
            parse_data({"source": f"npz:{tmp_path}/all.npz", "person": person | {"column": "nobody"}})
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"person": "who"}, "must be a table, as in"),
        ({"id": "who"}, "id must be left out where 'person' is given"),
        ({"record_capacity": 9}, "record_capacity must be left out"),
        (
            {"partition": {"kind": "dirichlet", "silos": 2, "alpha": 1.0}},
            "dirichlet partition must be without",
        ),
        ({"person": {"column": "who", "capacity": 5, "most_records": 0}}, "most_records"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(changes: dict[str, Any], message: str) -> None:
    stated = {"column": "who", "capacity": 60, "most_records": 4}
    data = {"source": "csv:x.csv", "label": "ill", "ranges": {"age": [0, 1]}, "person": stated} | changes
    with pytest.raises(ConfigurationError, match=message) as caught:
        parse_data(data)
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize("source", ["heart-disease", "digits"])
def test_a_source_that_does_not_say_whose_its_records_are_is_refused(source: str) -> None:
    person = {"column": "who", "capacity": 60, "most_records": 4}
    with pytest.raises(DataError):
        federation_of(parse_data({"source": source, "person": person}))


def test_a_record_given_to_somebody_else_changes_two_persons_and_no_third(tmp_path: Path) -> None:
    before = groups(load(tmp_path / "all", TABLES).silo("north").train)
    for place, who in ((0, "n3"), (5, ""), (9, "somebody new"), (11, "nan")):
        own = list(TABLES["north"])
        own[place] = (who, *own[place][1:])
        after = groups(load(tmp_path / "moved", {**TABLES, "north": own}).silo("north").train)
        assert len(before - after) <= 2
        assert len(after - before) <= 2


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("12", "12.0", True),
        ("12", "0012", False),
        ("100", "1e2", False),
        ("110101199003077784", "110101199003077785", False),
        ("true", "1", False),
    ],
)
def test_two_names_are_one_person_only_if_a_tool_made_them_so(
    tmp_path: Path, one: str, other: str, same: bool
) -> None:
    """Two people under one name share one contribution; then removing either removes another one too."""
    table = [(one, "50", "1"), (other, "60", "0"), ("somebody", "40", "1")]
    found = load(tmp_path, {"north": table, "south": TABLES["south"]})
    north = next(silo for silo in found.silos if silo.name == "north")
    assert north.train.persons is not None
    assert north.test.persons is not None
    people = len(set(north.train.persons.tolist())) + len(set(north.test.persons.tolist()))
    assert people == (2 if same else 3)
