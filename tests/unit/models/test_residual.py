from __future__ import annotations

from pathlib import Path
from typing import cast

import numpy as np
import pytest
import torch
from torch import nn

from discreet.errors import ConfigurationError
from discreet.models.public_weights import PublicWeights
from discreet.models.residual import CIFAR100_MEAN, CIFAR100_STDDEV, FrozenResidual


class Block(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.downsample = None
        if before != after:
            shortcut = nn.Conv2d(before, after, 1, stride, bias=False)
            self.downsample = nn.Sequential(shortcut, nn.BatchNorm2d(after))

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        hidden = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(inputs)))))
        return torch.relu(hidden + (inputs if self.downsample is None else self.downsample(inputs)))


class Reference(nn.Module):
    """The same network from torch's own modules, two blocks a stage."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 4, 3, 1, 1, bias=False), nn.BatchNorm2d(4)
        self.layer1 = nn.Sequential(Block(4, 4, 1), Block(4, 4, 1))
        self.layer2 = nn.Sequential(Block(4, 6, 2), Block(6, 6, 1))
        self.layer3 = nn.Sequential(Block(6, 8, 2), Block(8, 8, 1))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        hidden = torch.relu(self.bn1(self.conv1(images)))
        return self.layer3(self.layer2(self.layer1(hidden))).mean(dim=(2, 3))


@pytest.fixture
def reference() -> Reference:
    torch.manual_seed(0)
    model = Reference()
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm2d):
            nn.init.normal_(cast(torch.Tensor, layer.running_mean))
            nn.init.uniform_(cast(torch.Tensor, layer.running_var), 0.5, 2.0)
            nn.init.normal_(layer.weight)
            nn.init.normal_(layer.bias)
    return model.eval()


def test_agrees_with_torch_modules_in_evaluation_mode(reference: Reference, tmp_path: Path) -> None:
    arrays = {name: value.numpy() for name, value in reference.state_dict().items()}
    np.savez(tmp_path / "weights.npz", **arrays)
    images = np.random.default_rng(0).random((5, 3, 16, 16), dtype=np.float32)
    got = FrozenResidual.load(PublicWeights(str(tmp_path / "weights.npz"), None))(images)
    mean, stddev = (torch.tensor(values)[:, None, None] for values in (CIFAR100_MEAN, CIFAR100_STDDEV))
    with torch.no_grad():
        expected = reference((torch.from_numpy(images) - mean) / stddev).numpy()
    assert got.shape == (5, 8)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_no_images_give_no_features(reference: Reference) -> None:
    features = FrozenResidual(dict(reference.state_dict()))(np.zeros((0, 3, 16, 16), np.float32))
    assert features.shape == (0, 8)


def test_grey_images_are_refused(reference: Reference) -> None:
    with pytest.raises(ConfigurationError, match="shape"):
        FrozenResidual(dict(reference.state_dict()))(np.zeros((1, 1, 16, 16), np.float32))


def test_other_files_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(ConfigurationError, match="three stages"):
        FrozenResidual.load(PublicWeights(str(tmp_path / "other.npz"), None))
    with pytest.raises(ConfigurationError, match="Cannot read"):
        FrozenResidual.load(PublicWeights(str(tmp_path / "missing.npz"), None))


def test_a_record_keeps_its_features_in_every_place_and_company(reference: Reference) -> None:
    network = FrozenResidual(dict(reference.state_dict()))
    images = np.random.default_rng(0).random((40, 3, 13, 11), dtype=np.float32)
    for scale, place in ((1.0, 0), (1.0, 31), (1.0, 39), (0.0, 5), (1e-42, 6), (1e20, 7)):
        company = np.float32(scale) * images
        company[place] = images[0]
        np.testing.assert_array_equal(network(company)[place], network(images[:1])[0])
