"""One record more in the source is one record more in one silo, and changes nothing else."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import (
    ColumnSilos,
    DirichletSilos,
    Federation,
    IidSilos,
    Partition,
    PublicFacts,
    load_federation,
)

FACTS = PublicFacts(label="ill", ranges={"age": (0, 100)}, categories={"sex": ("f", "m")})
HEADER = "site,age,sex,ill\n"
rows = st.tuples(st.sampled_from("xy"), st.integers(-50, 200), st.sampled_from("fm"), st.integers(0, 1))
# Every site, class and silo occurs before the generated rows, and silos keep training records.
BASE = [(site, 10 * n, "fm"[n % 2], n % 2) for n in range(12) for site in "xy"]


def load(path: Path, table: list[tuple[str, int, str, int]], partition: Partition, seed: int) -> Federation:
    path.write_text(HEADER + "".join(",".join(map(str, row)) + "\n" for row in table))
    return load_federation(
        f"csv:{path}", partition=partition, facts=FACTS, split_seed=seed, test_fraction=0.2
    )


def parts(federation: Federation) -> dict[str, list[bytes]]:
    """Every silo's training and test records as comparable rows."""
    return {
        f"{silo.name}/{name}": [
            features.tobytes() + int(label).to_bytes(1, "big")
            for features, label in zip(part.features, part.labels, strict=True)
        ]
        for silo in federation.silos
        for name, part in (("train", silo.train), ("test", silo.test))
    }


@pytest.mark.parametrize("partition", [ColumnSilos("site"), IidSilos(2), DirichletSilos(2, 100.0)], ids=str)
@given(extra=st.lists(rows, max_size=5), last=rows, seed=st.integers(0, 30))
def test_a_further_record_is_appended_to_one_part(
    tmp_path_factory: pytest.TempPathFactory,
    partition: Partition,
    extra: list[tuple[str, int, str, int]],
    last: tuple[str, int, str, int],
    seed: int,
) -> None:
    path = tmp_path_factory.getbasetemp() / "neighbours.csv"
    before = parts(load(path, BASE + extra, partition, seed))
    after = parts(load(path, [*BASE, *extra, last], partition, seed))
    changed = [name for name in before if before[name] != after[name]]
    assert len(changed) == 1
    assert after[changed[0]][:-1] == before[changed[0]]


def test_replacing_a_record_replaces_it_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    before = parts(load(path, BASE, ColumnSilos("site"), 0))
    changed_row = [*BASE[:5], (BASE[5][0], 99, "m", 1 - BASE[5][3]), *BASE[6:]]
    after = parts(load(path, changed_row, ColumnSilos("site"), 0))
    differing = [
        name
        for name in before
        if np.count_nonzero([one != other for one, other in zip(before[name], after[name], strict=True)])
    ]
    assert len(differing) == 1
