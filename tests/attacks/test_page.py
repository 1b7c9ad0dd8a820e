"""docs/threat-model.md names every attack on silos, servers, sums and files, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.attacks import on_files, on_servers, on_silos, on_sums, table

PAGE = Path(__file__).parents[2] / "docs" / "threat-model.md"

pytestmark = pytest.mark.skipif(
    not PAGE.exists(), reason="the documentation is not part of this installation"
)


def test_the_page_names_every_attack() -> None:
    listed = PAGE.read_text().split("<!-- attacks: begin -->")[1].split("<!-- attacks: end -->")[0]
    modules = (on_silos, on_servers, on_sums, on_files)
    carried_out = {attack.__name__ for module in modules for attack in module.ATTACKS}
    assert set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", listed)) == carried_out
    assert carried_out <= {attack.__name__ for attack in table.ATTACKS}
