"""Fine-tuning of a frozen network: low-rank updates of chosen linear layers, and whole layers besides.

Hu et al. (2021), "LoRA", arXiv:2106.09685: W + B·A with few rows of A. A is drawn once from the public seed
and stays, as in Sun, Li, Li, Ding (2024), arXiv:2403.12313: the mean of silos' B is then that of their
updates, while a mean of products is no product of means, and noise enters once. B begins at zero, so that the
network begins as it was.
"""

from __future__ import annotations

import copy
import fnmatch
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

import torch
from torch import nn

from discreet.errors import ConfigurationError
from discreet.models.public_weights import PublicWeights, fill


class LowRank(nn.Module):
    """A frozen linear layer with a low-rank update: x ↦ Wx + b + B(Ax); B alone is trained."""

    def __init__(self, layer: nn.Linear, rank: int) -> None:
        super().__init__()
        self.layer = layer
        self.down = nn.Linear(layer.in_features, rank, bias=False, dtype=layer.weight.dtype)
        self.up = nn.Linear(rank, layer.out_features, bias=False, dtype=layer.weight.dtype)
        nn.init.zeros_(self.up.weight)
        self.layer.requires_grad_(False)
        self.down.requires_grad_(False)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Returns what the layer returns, plus its update."""
        updated: torch.Tensor = self.layer(inputs) + self.up(self.down(inputs))
        return updated

    @torch.no_grad()
    def merged(self) -> nn.Linear:
        """Returns one linear layer with the weights W + B·A, multiplied and added in float64."""
        product = self.up.weight.double() @ self.down.weight.double()
        one = copy.deepcopy(self.layer)
        one.weight.copy_(self.layer.weight.double() + product)
        return one


@dataclass(frozen=True, slots=True)
class FineTuning:
    """What of a network is trained; all the rest is frozen.

    Attributes:
        trained: layers that are trained whole, by name or pattern.
        adapted: linear layers with a low-rank update.
        rank: of these updates.
        weights: of the frozen layers: a file's, or the tensors of a released model, of which only what the
            file holds is taken; None leaves those of the factory.
    """

    trained: tuple[str, ...] = ()
    adapted: tuple[str, ...] = ()
    rank: int = 1
    weights: PublicWeights | Mapping[str, torch.Tensor] | None = None

    def apply(self, network: nn.Module) -> None:
        """Loads the public weights, freezes them, and adds the updates, in place.

        Guarantee:
            Every parameter and saved buffer, but for those of ``trained`` layers, has the numbers of the
            file, and no parameter is trained but those layers' and each update's B.

        Raises:
            ConfigurationError: if a name fits no layer, a layer is not linear or no larger than its update's
                rank, the file does not fit, or a trained or adapted layer shares its weights with another
                that is not.
        """
        names = dict(network.named_modules())
        trained = _fitting(self.trained, names, "trained")
        adapted = _fitting(self.adapted, names, "adapters.layers")
        _require_apart(network, trained, adapted)
        kept = {key: tensor for key, tensor in network.state_dict().items() if not _below(key, trained)}
        if isinstance(self.weights, PublicWeights):
            fill(kept, self.weights.tensors(), name=PurePath(self.weights.path).name)
        elif self.weights is not None:
            released = {_in_release(key, adapted): tensor for key, tensor in kept.items()}
            fill(released, self.weights, name="the released model")
        for key, parameter in network.named_parameters():
            parameter.requires_grad_(_below(key, trained))
        for name in adapted:
            layer = names[name]
            if type(layer) is not nn.Linear or _below(name, trained):
                what = "trained whole" if _below(name, trained) else type(layer).__name__
                raise ConfigurationError(
                    f"'model.adapters.layers' must name frozen layers of the type nn.Linear; {name!r} is "
                    f"{what}. Name others."
                )
            narrowest = min(layer.in_features, layer.out_features)
            if self.rank >= narrowest:
                raise ConfigurationError(
                    f"'model.adapters.rank' must be below the narrower side of every adapted layer, "
                    f"{narrowest} of {name!r}; got {self.rank}. Lower it, or name the layer in 'trained'."
                )
            owner, _, leaf = name.rpartition(".")
            setattr(network.get_submodule(owner), leaf, LowRank(layer, self.rank))


def merged(network: nn.Module) -> nn.Module:
    """Returns a copy of a network whose updates are part of its layers, with the factory's own names."""
    whole = copy.deepcopy(network)
    updated = [(name, layer) for name, layer in whole.named_modules() if isinstance(layer, LowRank)]
    for name, layer in updated:
        owner, _, leaf = name.rpartition(".")
        setattr(whole.get_submodule(owner), leaf, layer.merged())
    return whole


def _require_apart(network: nn.Module, trained: Collection[str], adapted: Collection[str]) -> None:
    """Refuses weights that are on both sides of a border: what moved one layer would move the other too."""
    sides: dict[int, set[str]] = {}
    names: dict[int, list[str]] = {}
    tensors = (
        network.named_parameters(remove_duplicate=False),
        network.named_buffers(remove_duplicate=False),
    )
    for key, tensor in (one for both in tensors for one in both):
        side = "trained" if _below(key, trained) else key if _below(key, adapted) else "frozen"
        memory = tensor.untyped_storage().data_ptr()
        sides.setdefault(memory, set()).add(side)
        names.setdefault(memory, []).append(key)
    for memory, found in sides.items():
        if memory and len(found) > 1:
            raise ConfigurationError(
                f"{' and '.join(names[memory])} share their weights, so they must all be trained or all be "
                "frozen, without an adapter; they are not. Name all of them in 'model.trained', or none."
            )


def _in_release(key: str, adapted: Collection[str]) -> str:
    """Returns the name that a tensor of the file has in a released model."""
    owner, _, leaf = key.rpartition(".")
    return f"{owner}.layer.{leaf}" if owner in adapted else key


def _fitting(patterns: Iterable[str], names: Mapping[str, nn.Module], key: str) -> dict[str, None]:
    """Returns the layers that names or patterns fit, each once and in their order; each fits one at least."""
    every: dict[str, None] = {}
    for pattern in dict.fromkeys(patterns):
        fits = re.compile(fnmatch.translate(pattern)).match
        found = [name for name in names if name and fits(name)]
        if not found:
            known = ", ".join([name for name, layer in names.items() if type(layer) is nn.Linear][:20])
            raise ConfigurationError(
                f"'model.{key}' must name layers of the network; {pattern!r} fits none. Linear layers: "
                f"{known or 'none'}."
            )
        every |= dict.fromkeys(found)
    return every


def _below(key: str, layers: Collection[str]) -> bool:
    """Says whether a tensor is of one of the layers, or of a part of one."""
    parts = key.split(".")
    return any(".".join(parts[:count]) in layers for count in range(1, len(parts) + 1))
