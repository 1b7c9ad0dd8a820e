"""Documents from elsewhere: bounded values or one ValueError, whatever the bytes."""

from __future__ import annotations

import pytest

from discreet.documents import MAX_DEPTH, read_json, read_toml


def nested(depth: int) -> str:
    return "[" * depth + "1" + "]" * depth


def test_what_fits_is_read_as_it_is() -> None:
    assert read_json('{"a": [1, -2, 1.5, true, null, "ä"]}') == {"a": [1, -2, 1.5, True, None, "ä"]}
    assert read_json(str(2**64 - 1)) == 2**64 - 1
    assert read_toml("x = inf") == {"x": float("inf")}


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1, 500, 100_000])
def test_depth_is_bounded_below_what_any_walk_of_the_value_can_take(depth: int) -> None:
    if depth == MAX_DEPTH:
        read_json(nested(depth))
        return
    with pytest.raises(ValueError, match="levels may be nested"):
        read_json(nested(depth))
    with pytest.raises(ValueError, match="levels may be nested"):
        read_toml(f"x = {nested(depth)}")


@pytest.mark.parametrize("number", [str(2**64), str(-(2**63) - 1), "9" * 400, "9" * 5000])
def test_integers_of_more_than_64_bits_are_refused(number: str) -> None:
    for read, text in ((read_json, number), (read_toml, f"x = {number}")):
        with pytest.raises(ValueError, match=r"64 bits|4300 digits"):
            read(text)


@pytest.mark.parametrize("number", ["1e400", "NaN", "-Infinity"])
def test_numbers_must_be_finite_unless_the_caller_can_use_others(number: str) -> None:
    with pytest.raises(ValueError, match="finite"):
        read_json(number)
    read_json(number, finite=False)


def test_text_without_a_utf_8_form_is_refused_in_keys_too() -> None:
    for text in (r'"\ud800"', r'{"\ud800": 1}'):
        with pytest.raises(ValueError, match="surrogates"):
            read_json(text)
