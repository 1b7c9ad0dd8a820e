"""A head made from public texts gives a record the class whose texts it is nearest to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from discreet.errors import ConfigurationError
from discreet.models import head_of_texts


def drawn(seed: int, classes: int) -> tuple[list[Any], Any]:
    rng = np.random.default_rng(seed)
    texts = [rng.normal(size=(rng.integers(1, 4), 6)) for _ in range(classes)]
    return texts, rng.normal(size=(20, 6))


@given(st.integers(0, 2**32), st.integers(2, 6), st.floats(0.5, 50.0))
def test_the_nearest_class_is_the_likeliest_and_logits_are_scaled_cosines(
    seed: int, classes: int, scale: float
) -> None:
    texts, records = drawn(seed, classes)
    unit = [one / np.linalg.norm(one, axis=1, keepdims=True) for one in texts]
    means = np.array([one.mean(axis=0) / np.linalg.norm(one.mean(axis=0)) for one in unit])
    cosines = records @ means.T / np.linalg.norm(records, axis=1, keepdims=True)
    head = head_of_texts(texts, scale=scale)
    assert head.dtype == np.float32
    assert head.shape == (1 if classes == 2 else classes, 7)
    logits = np.pad(records, ((0, 0), (0, 1)), constant_values=1.0) @ head.T.astype(np.float64)
    logits /= np.linalg.norm(records, axis=1, keepdims=True)
    if classes == 2:
        logits = np.hstack([np.zeros_like(logits), logits])
    differences = logits - logits[:, :1]
    np.testing.assert_allclose(differences, scale * (cosines - cosines[:, :1]), atol=1e-4 * scale)


def test_no_length_of_a_text_counts() -> None:
    texts, _ = drawn(1, 3)
    longer = [one * np.arange(1, len(one) + 1)[:, None] for one in texts]
    np.testing.assert_allclose(head_of_texts(longer), head_of_texts(texts), atol=1e-5)


@pytest.mark.parametrize(
    ("classes", "scale", "message"),
    [
        *(
            ([[[1.0, 0.0]], [[0.0, 1.0]]], scale, "'scale' must be a number from 2\\^-40 to 2\\^40; got ")
            for scale in (0.0, float("nan"), -1.0, 1e39, 1e-39, 10**400, "20", 2j, None, np.ones(2))
        ),
        (np.eye(2)[:, None], True, r"'scale' must be a number from 2\^-40 to 2\^40; got True"),
        ([np.ones((1, 2))], 1.0, "at least 2 classes; got 1."),
        ([np.ones((1, 2)), np.ones((1, 3))], 1.0, r"class 1 has \(1, 3\)"),
        ([np.ones(2), np.ones(2)], 1.0, r"class 0 has \(2,\)"),
        ([np.ones((0, 2)), np.ones((1, 2))], 1.0, r"class 0 has \(0, 2\)"),
        (
            [np.ones((1, 2)), [[1, 2], [0, 0]]],
            1.0,
            "^class 1, text 1: its vector must be finite and not all zero",
        ),
        ([np.ones((1, 2)), [[1.0, 0.0], [-1.0, 0.0]]], 1.0, "^class 1, mean of texts: its vector must"),
        ([np.full((1, 2), np.inf), np.ones((1, 2))], 1.0, "^class 0, text 0: its vector must be finite"),
        ([[[0, 3]], [[1, 2], [2, 4]], [[3, 6]]], 1.0, "class 1 and class 2 have one mean"),
        *((held, 1.0, "a list that has, for each class") for held in (None, 5, "ab", {0: 1}, np.array(3.0))),
        ((one for one in np.ones((2, 1, 2))), 1.0, "got generator"),
        *(
            ([np.ones((1, 2)), one], 1.0, "as your encoder makes them, not texts; got .* for class 1")
            for one in (
                ["a flu", "a cold"],
                [["1", "2"]],
                None,
                [[1, 2], [3]],
                np.array([[1j, 2.0]]),
                csr_matrix([[1.0, 2.0]]),
                torch.ones((1, 2), requires_grad=True),
            )
        ),
    ],
)
def test_what_makes_no_head_is_refused(classes: Any, scale: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        head_of_texts(classes, scale=scale)
    assert "\n" not in str(caught.value)
