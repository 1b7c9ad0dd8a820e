"""Fast clipping against the plain definition: one autograd pass a record, clip, add."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from discreet.data.records import Records
from discreet.errors import ConfigurationError
from discreet.kinds import Automatic, ClippedUpdate, Flat, LocalSgd, PerLayer, Sharded, SingleStep
from discreet.kinds.float_error import MAX_NORM, MIN_NORM
from discreet.learning import local_update
from discreet.learning.clipping import PerRecordFallbackWarning, clipped_gradient_sum
from discreet.learning.clipping.ghost import trainable_layers
from discreet.learning.clipping.person_rows import PersonRows
from discreet.learning.clipping.pieces import Explicit, Lookup
from discreet.learning.clipping.styles import factors
from discreet.learning.losses import record_losses
from discreet.models import LinearHead, flatten, load_flat, trainable
from discreet.randomness import SeededRandom


class Tokens(nn.Module):
    """Embeds integer features, with a padding index, and classifies their mean."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 5, padding_idx=0)
        self.norm = nn.LayerNorm(5)
        self.head = nn.Linear(5, 3)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.table(features.long())).mean(dim=1))


class Scaled(nn.Module):
    """A layer of the user's own, for which there is no rule."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(4))

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return features * self.scale


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.Tanh(), nn.Linear(6, 1))


def _wide() -> nn.Module:
    """Few positions and many weights: the Gram form is cheaper than writing gradients out."""
    return nn.Sequential(nn.Linear(40, 60), nn.Tanh(), nn.Flatten(), nn.Linear(180, 3))


def _conv2d() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, (3, 2), stride=(1, 2), padding=(1, 0)),
        nn.GroupNorm(2, 4),
        nn.ReLU(inplace=True),
        nn.Conv2d(4, 6, 2, dilation=2, groups=2, bias=False),
        nn.InstanceNorm2d(6, affine=True),
        nn.Flatten(),
        LinearHead(6 * 4 * 1, 3),
    )


def _conv1d() -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(2, 4, 3, stride=2, padding=1),
        nn.InstanceNorm1d(4, affine=True),
        nn.Tanh(),
        nn.Conv1d(4, 4, 2, padding="valid", groups=4),
        nn.Flatten(),
        nn.Linear(8, 3),
    )


CASES = {
    "mlp": (_mlp, (12,), 2),
    "sequence with Gram norms": (_wide, (3, 40), 3),
    "conv2d": (_conv2d, (2, 6, 6), 3),
    "conv1d": (_conv1d, (2, 6), 3),
    "embedding": (Tokens, (4,), 3),
}
# For persons only; the records' own tests of them are elsewhere.
OTHERS = {
    "no rule": (lambda: nn.Sequential(nn.Linear(4, 4), Scaled(), nn.Tanh(), nn.Linear(4, 3)), (4,), 3),
    "head": (lambda: LinearHead(5, 3), (5,), 3),
}
STYLES = [Flat(), PerLayer(), Automatic()]


def make(name: str, seed: int = 0) -> tuple[nn.Module, Records]:
    factory, shape, classes = (CASES | OTHERS)[name]
    torch.manual_seed(seed)
    model = factory().double()
    for _, param in trainable(model):
        nn.init.normal_(param, std=0.6)
    rng = np.random.default_rng(seed)
    integers = name == "embedding"
    features = rng.integers(0, 7, (9, *shape)) if integers else rng.normal(0.0, 1.5, (9, *shape))
    return model, Records(features.astype(np.float32), rng.integers(0, classes, 9))


def by_layer(model: nn.Module, records: Records, row: int) -> list[list[np.ndarray]]:
    """One record's own autograd gradient, layer by layer, and parameter by parameter."""
    one = torch.from_numpy(records.features[row : row + 1])
    one = one if isinstance(model, Tokens) else one.double()
    loss = record_losses(model(one), torch.from_numpy(records.labels[row : row + 1])).sum()
    names = [name for name, _ in trainable(model)]
    parts = torch.autograd.grad(loss, [param for _, param in trainable(model)])
    layers: dict[str, list[np.ndarray]] = {}
    for name, part in zip(names, parts, strict=True):
        layers.setdefault(name.rpartition(".")[0], []).append(part.numpy().ravel())
    return list(layers.values())


def mean_and_length(each: list[list[np.ndarray]]) -> tuple[np.ndarray, float]:
    """The mean of gradients by one layer, and how long it counts as: of each part at least a 32nd."""
    means = [np.mean(of_param, axis=0) for of_param in zip(*each, strict=True)]
    terms = [np.mean([np.linalg.norm(one) for one in of_param]) for of_param in zip(*each, strict=True)]
    lengths = [max(np.linalg.norm(mean), term / 32) for mean, term in zip(means, terms, strict=True)]
    return np.concatenate(means), float(np.linalg.norm(lengths))


def by_definition(
    model: nn.Module,
    records: Records,
    style: Automatic | Flat | PerLayer,
    clip_norm: float,
    people: list[list[int]] | None = None,
) -> tuple[np.ndarray, list[Any]]:
    """Clips each record's own gradient, or each person's mean; the factors are recomputed, not imported."""
    total, norms = np.zeros(len(flatten(model))), []
    for rows in people or [[row] for row in range(len(records))]:
        each = [by_layer(model, records, row) for row in rows]
        layers = [mean_and_length(list(of_layer)) for of_layer in zip(*each, strict=True)]
        clipped, whole = [], np.linalg.norm([length for _, length in layers])
        for vector, length in layers:
            match style:
                case Flat():
                    factor = min(1.0, clip_norm / whole)
                case PerLayer():
                    limit = clip_norm / np.sqrt(len(layers))
                    factor = min(1.0, limit / length)
                case Automatic(stability=stability):
                    factor = clip_norm / (whole + stability * clip_norm)
            clipped.append(factor * vector)
        norms.append(whole)
        total += np.concatenate(clipped)
    return total, norms


def doubled(model: nn.Module) -> nn.Module:
    """Feeds float32 records to a float64 model, so that only the rule itself is compared."""
    if not isinstance(model, Tokens):
        model.register_forward_pre_hook(lambda _, inputs: (inputs[0].double(),))
    return model


@pytest.mark.parametrize("style", STYLES, ids=lambda style: type(style).__name__)
@pytest.mark.parametrize("name", CASES)
def test_sum_equals_clipping_one_record_at_a_time(name: str, style: Automatic | Flat | PerLayer) -> None:
    model, records = make(name)
    clip_norm = 0.7
    expected, norms = by_definition(model, records, style, clip_norm)
    assert min(norms) > clip_norm / 10
    got = clipped_gradient_sum(
        doubled(model),
        flatten(model),
        records,
        clip_norm=clip_norm,
        style=style,
        randomness=SeededRandom(0),
    )
    np.testing.assert_allclose(got.vector, expected, rtol=1e-7, atol=1e-9)


PEOPLE = [[0, 1, 2], [3], [4, 5, 6, 7], [8]]
OWNERS = PersonRows(np.array([0, 3, 4, 8, 9]), np.repeat([1 / 3, 1.0, 0.25, 1.0], [3, 1, 4, 1]))


@pytest.mark.parametrize("style", STYLES, ids=lambda style: type(style).__name__)
@pytest.mark.parametrize("name", [*CASES, "no rule", "head"])
def test_sum_equals_clipping_one_person_at_a_time(name: str, style: Automatic | Flat | PerLayer) -> None:
    model, records = make(name)
    expected, norms = by_definition(model, records, style, 0.7, PEOPLE)
    assert min(norms) > 0.07
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerRecordFallbackWarning)
        got = clipped_gradient_sum(
            doubled(model),
            flatten(model),
            records,
            clip_norm=0.7,
            style=style,
            randomness=SeededRandom(0),
            persons=OWNERS,
        )
    # a linear head's logits are float32
    rtol, atol = (1e-5, 1e-6) if name == "head" else (1e-7, 1e-9)
    np.testing.assert_allclose(got.vector, expected, rtol=rtol, atol=atol)
    assert got.within == sum(norm <= 0.7 for norm in norms)


def test_a_person_of_many_words_needs_no_more_room_than_the_table() -> None:
    """The Gram matrix of all positions of a person would have 64 million entries; the table has 35."""
    shares = torch.full((1, 100), 0.01, dtype=torch.float64)
    words = Lookup(torch.randint(0, 7, (100, 80)), torch.randn(100, 80, 5), 7).of_persons(shares)
    assert isinstance(words, Explicit)
    assert words.gradients.shape == (1, 7, 5)
    apart = Lookup(torch.randint(0, 7000, (4, 3)), torch.randn(4, 3, 5), 7000).of_persons(
        torch.ones(2, 2) / 2
    )
    assert isinstance(apart, Lookup)
    assert apart.indices.shape == (2, 6)


def test_clipping_binds_for_some_records_and_not_for_others() -> None:
    """Guards the comparison above against a clipping norm that is never or always reached."""
    model, records = make("mlp")
    _, norms = by_definition(model, records, Flat(), 1.0)
    middle = float(np.median(norms))
    expected, _ = by_definition(model, records, Flat(), middle)
    unclipped, _ = by_definition(model, records, Flat(), 1e9)
    assert np.linalg.norm(expected - unclipped) > 0.1 * np.linalg.norm(unclipped)
    got = clipped_gradient_sum(
        doubled(model),
        flatten(model),
        records,
        clip_norm=middle,
        style=Flat(),
        randomness=SeededRandom(0),
    )
    np.testing.assert_allclose(got.vector, expected, rtol=1e-9, atol=1e-12)


def test_frozen_layers_are_skipped() -> None:
    model: Any
    model, records = make("conv2d")
    model[0].requires_grad_(False)
    model[4].bias.requires_grad_(False)
    assert list(trainable_layers(model)) == ["1", "3", "4", "6"]
    expected, _ = by_definition(model, records, Flat(), 0.5)
    got = clipped_gradient_sum(
        doubled(model), flatten(model), records, clip_norm=0.5, style=Flat(), randomness=SeededRandom(0)
    )
    np.testing.assert_allclose(got.vector, expected, rtol=1e-9, atol=1e-12)


def test_a_layer_without_a_rule_falls_back_and_is_named() -> None:
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 4), Scaled(), nn.Linear(4, 3)).double()
    rng = np.random.default_rng(1)
    records = Records(rng.normal(size=(9, 4)).astype(np.float32), rng.integers(0, 3, 9))
    expected, _ = by_definition(model, records, Flat(), 0.5)
    with pytest.warns(PerRecordFallbackWarning, match=r"1 \(Scaled\)"):
        got = clipped_gradient_sum(
            doubled(model), flatten(model), records, clip_norm=0.5, style=Flat(), randomness=SeededRandom(0)
        )
    np.testing.assert_allclose(got.vector, expected, rtol=1e-9, atol=1e-12)


def test_a_shared_parameter_takes_the_fallback() -> None:
    torch.manual_seed(2)
    first, second = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
    second.weight = first.weight
    model = nn.Sequential(first, nn.Tanh(), second).double()
    rng = np.random.default_rng(1)
    records = Records(rng.normal(size=(5, 3)).astype(np.float32), rng.integers(0, 3, 5))
    expected, _ = by_definition(model, records, Flat(), 0.2)
    with pytest.warns(PerRecordFallbackWarning, match="shares a parameter with 0"):
        got = clipped_gradient_sum(
            doubled(model), flatten(model), records, clip_norm=0.2, style=Flat(), randomness=SeededRandom(0)
        )
    np.testing.assert_allclose(got.vector, expected, rtol=1e-9, atol=1e-12)


def test_an_output_changed_in_place_is_refused() -> None:
    class InPlace(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)

        def forward(self, features: torch.Tensor) -> torch.Tensor:
            return self.second(self.first(features).tanh_())

    records = Records(np.ones((2, 3), np.float32), np.zeros(2, np.int64))
    model = InPlace()
    with pytest.raises(ConfigurationError, match="'first' must not be changed in place"):
        clipped_gradient_sum(
            model, flatten(model), records, clip_norm=1.0, style=Flat(), randomness=SeededRandom(0)
        )


def test_a_layer_that_runs_twice_is_refused() -> None:
    layer = nn.Linear(3, 3)
    model = nn.Sequential(layer, nn.Tanh(), layer)
    records = Records(np.ones((2, 3), np.float32), np.zeros(2, np.int64))
    with pytest.raises(ConfigurationError, match="ran 2 times"):
        clipped_gradient_sum(
            model, flatten(model), records, clip_norm=1.0, style=Flat(), randomness=SeededRandom(0)
        )


def test_chunks_and_float32_agree_with_one_float64_pass() -> None:
    """A batch longer than a chunk, in the precision of ordinary training."""
    torch.manual_seed(3)
    model = nn.Sequential(nn.Conv2d(1, 3, 3), nn.Tanh(), nn.MaxPool2d(2, 1), nn.Flatten(), nn.Linear(27, 4))
    rng = np.random.default_rng(3)
    records = Records(rng.normal(size=(150, 1, 6, 6)).astype(np.float32), rng.integers(0, 4, 150))
    start = flatten(model)
    got = clipped_gradient_sum(model, start, records, clip_norm=0.5, style=Flat(), randomness=SeededRandom(0))
    reference = model.double()
    load_flat(reference, start)
    expected, _ = by_definition(reference, records, Flat(), 0.5)
    assert np.linalg.norm(got.vector - expected) < 1e-4 * 0.5


def test_dropout_takes_its_masks_from_the_random_source() -> None:
    torch.manual_seed(4)
    model = nn.Sequential(nn.Linear(5, 8), nn.Dropout(0.5), nn.Linear(8, 3))
    rng = np.random.default_rng(4)
    records = Records(rng.normal(size=(6, 5)).astype(np.float32), rng.integers(0, 3, 6))

    def run(seed: int) -> np.ndarray:
        source = SeededRandom(seed)
        return clipped_gradient_sum(
            model, flatten(model), records, clip_norm=1.0, style=Flat(), randomness=source
        ).vector

    before = torch.get_rng_state()
    assert np.array_equal(run(1), run(1))
    assert not np.array_equal(run(1), run(2))
    assert torch.equal(torch.get_rng_state(), before)


def test_inputs_may_be_passed_by_keyword() -> None:
    class Keyword(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 2)

        def forward(self, features: torch.Tensor) -> torch.Tensor:
            return self.linear(input=features)

    torch.manual_seed(5)
    model = Keyword()
    records = Records(np.ones((2, 3), np.float32), np.zeros(2, np.int64))
    plain = nn.Sequential(model.linear)
    sums = [
        clipped_gradient_sum(
            which, flatten(which), records, clip_norm=0.1, style=Flat(), randomness=SeededRandom(0)
        ).vector
        for which in (model, plain)
    ]
    assert np.array_equal(sums[0], sums[1])


@pytest.mark.parametrize("norm", [nn.BatchNorm1d(3, affine=False), nn.BatchNorm1d(3)])
def test_layers_that_mix_records_are_refused_wherever_the_model_comes_from(norm: nn.Module) -> None:
    model = nn.Sequential(nn.Linear(3, 3), norm, nn.Linear(3, 2))
    records = Records(np.ones((2, 3), np.float32), np.zeros(2, np.int64))
    kinds = (SingleStep(1.0), ClippedUpdate(1.0, 0.1, 2), Sharded(1.0, 2, LocalSgd(0.1, 2)))
    for kind in kinds:
        # Where whole updates are clipped, only what `build_model` returns is trained: it keeps no counts.
        with pytest.raises(ConfigurationError, match=r"GroupNorm|batch norm"):
            local_update(kind, model, flatten(model), records, SeededRandom(0))


def test_per_layer_needs_a_share_for_every_layer() -> None:
    model, records = make("mlp")
    with pytest.raises(ConfigurationError, match="2 trainable layers"):
        clipped_gradient_sum(
            doubled(model),
            flatten(model),
            records,
            clip_norm=1.0,
            style=PerLayer(shares=(1.0,)),
            randomness=SeededRandom(0),
        )


@pytest.mark.parametrize("share", [2.7e-162, 1e-200, 1e200])
def test_shares_whose_squares_are_no_normal_numbers_are_refused(share: float) -> None:
    with pytest.raises(ValueError, match=r"from 2\^-64 to 2\^64"):
        PerLayer(shares=(share, share))


@pytest.mark.parametrize("shares", [(MIN_NORM, MIN_NORM), (MAX_NORM, MAX_NORM), (MIN_NORM, MAX_NORM)])
def test_layers_that_are_clipped_to_their_shares_are_together_as_long_as_the_norm(
    shares: tuple[float, float],
) -> None:
    limits = factors(PerLayer(shares=shares), torch.full((2, 1), 1e20, dtype=torch.float64), 3.0) * 1e10
    assert float(limits.norm()) == pytest.approx(3.0, rel=1e-12)


def test_supported_layers_do_not_warn() -> None:
    model, records = make("conv2d")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clipped_gradient_sum(
            doubled(model), flatten(model), records, clip_norm=1.0, style=Flat(), randomness=SeededRandom(0)
        )
