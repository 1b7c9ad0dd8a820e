"""Files of arrays that a model is to answer: what fits no record is one short line."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.data.npz_source import rows_of_npz
from discreet.errors import DataError


def header(shape: tuple[int, ...], kind: str = "<f4") -> bytes:
    """An array of which only the beginning is there."""
    written = io.BytesIO()
    said: dict[str, Any] = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(written, said)
    return written.getvalue()


ONE = header((1, 4)) + bytes(16)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        (
            [("x.npy", header((0, 8, 8)))],
            r"'x' must hold a record, and records a number; got .*\(0, 8, 8\)",
        ),
        ([("x.npy", header((1 << 40, 0)))], r"'x' must hold a record, .* got shape \(1099511627776, 0\)"),
        ([("x.npy", header((1 << 58,), "|u1"))], "must fit into memory"),
        ([("x.npy", ONE), ("x.npy", ONE)], "must hold each array once; two have one name"),
        ([("x.npy", ONE), ("x", ONE)], "must hold each array once; two have one name"),
        ([(f"{'k' * 200}{n}\x1b[31m.npy", ONE) for n in range(99)], "no array 'x'.*, and 79 more"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_fits_no_record_is_one_short_line(
    members: list[tuple[str, bytes]], message: str, tmp_path: Path
) -> None:
    with zipfile.ZipFile(tmp_path / "rows.npz", "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    with pytest.raises(DataError, match=message) as refused:
        rows_of_npz(tmp_path / "rows.npz", labelled=False, named_by=None)
    assert len(str(refused.value)) < 2500
    assert str(refused.value).isprintable()
