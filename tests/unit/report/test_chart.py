import math
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.report.chart import Axis, Chart, Line, Linear, Logarithmic, draw, nice_scale

numbers = st.lists(st.floats(-1e6, 1e6).map(lambda x: round(x, 6)), min_size=1, max_size=9)


@given(numbers, st.booleans(), st.booleans())
def test_a_scale_covers_its_values_with_few_even_ticks(
    values: list[float], from_zero: bool, whole: bool
) -> None:
    scale = nice_scale(values, from_zero=from_zero, whole=whole)
    slack = 1e-9 * (1.0 + sum(map(abs, values)))
    assert scale.low <= min(values) + slack
    assert scale.high >= max(values) - slack
    assert 2 <= len(scale.ticks) <= 8
    steps = {round(b - a, 6) for a, b in pairwise(scale.ticks)}
    assert max(steps) - min(steps) <= 1e-5 * (1.0 + max(steps))
    if whole:
        assert all(float(tick).is_integer() for tick in scale.ticks)
    if from_zero:
        assert scale.low <= 0


def test_positions() -> None:
    assert Linear(0.6, 0.8, ()).position(0.65) == pytest.approx(0.25)
    assert Logarithmic(0.001, 1.0, ()).position(0.1) == pytest.approx(2 / 3)


def drawing(points: tuple[tuple[float, float], ...]) -> str:
    return draw(
        Chart(
            title="Loss & more",
            description="from 1 to 2",
            x=Axis("round", Linear(0, 10, (0, 5, 10))),
            y=Axis("loss", Linear(0, 2, (0, 1, 2)), "{:.1f}".format),
            lines=(Line("first", points), Line("second", points)),
        )
    )


def test_points_are_where_they_belong() -> None:
    written = drawing(((0, 0), (10, 2), (5, 1)))
    found = re.search(r'points="([^"]+)"', written)
    assert found is not None
    (x0, y0), (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in found[1].split())
    assert (x2, y2) == pytest.approx(((x0 + x1) / 2, (y0 + y1) / 2))
    assert x0 < x1
    assert y0 > y1, "larger values are higher up"
    box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', written)
    assert box is not None
    assert 0 <= x0 < x1 <= float(box[1])
    assert 0 <= y1 < y0 <= float(box[2])


def test_lines_differ_in_more_than_colour_and_are_described() -> None:
    written = drawing(((0, 0), (10, 2)))
    assert written.count("<circle") == 3
    assert written.count('class="marker-1"') == 3
    assert 'class="line line-0"' in written
    assert 'class="line line-1"' in written
    assert "<title>Loss &amp; more</title><desc>from 1 to 2</desc>" in written
    assert 'role="img" aria-label="Loss &amp; more. from 1 to 2"' in written
    assert ">0.0</text>" in written


def test_many_points_have_no_markers() -> None:
    points = tuple((x / 10, 1 + math.sin(x)) for x in range(100))
    assert drawing(points).count("<circle") == 1, "only the one in the legend"
