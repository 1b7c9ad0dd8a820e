"""The gradients of the records of one chunk, and which of them may enter a sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from discreet.kinds.styles import ClippingStyle
from discreet.learning.clipping.pieces import Piece
from discreet.learning.clipping.styles import count_within, factors


@dataclass(frozen=True, slots=True, repr=False)
class RecordGradients:
    """Private: L records, padding included, at one model; nothing here mixes records.

    Attributes:
        outputs: logits, shape ``(L, K)``.
        losses: shape ``(L,)``.
        labelled: whether the label is one that the outputs know, shape ``(L,)``.
        pieces: the gradients by each trainable parameter, by its name, in `flatten` order.
    """

    outputs: torch.Tensor
    losses: torch.Tensor
    labelled: torch.Tensor
    pieces: Mapping[str, Piece]

    def norms_squared(self) -> torch.Tensor:
        """Squared norms layer by layer, never too small, shape ``(layers, L)``, float64."""
        by_layer: dict[str, torch.Tensor] = {}
        for name, piece in self.pieces.items():
            layer, squared = _layer_of(name), piece.norms_squared()
            by_layer[layer] = by_layer[layer] + squared if layer in by_layer else squared
        return torch.stack(list(by_layer.values()))

    def clipped_sum(
        self, records: int, style: ClippingStyle, clip_norm: float, shares: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, float, int]:
        """Returns the sum of clipped gradients, flat float64, the summed loss, and `ClippedSum.within`.

        Padding is left out, and so is a record whose logits, loss or norm are not finite, or whose label is
        not one of the model's classes. Each is judged by itself, and selected before anything is summed.

        Args:
            records: how many of the rows are records; the rest is padding.
            style: how gradients are brought into the ball.
            clip_norm: largest L2 norm of one record's contribution.
            shares: what each of the L records counts, shape ``(L,)``, in [0, 1]; None for 1.
        """
        norms = self.norms_squared()
        scales, losses = factors(style, norms, clip_norm), self.losses.double()
        if shares is not None:
            scales, losses = scales * shares, losses * shares
        usable = self.labelled & self.losses.isfinite() & self.outputs.isfinite().all(dim=1)
        kept = selected(usable & norms.isfinite().all(dim=0), records)
        places = {layer: place for place, layer in enumerate(dict.fromkeys(map(_layer_of, self.pieces)))}
        sums = [
            piece.of(kept).weighted_sum(scales[places[_layer_of(name)]][kept])
            for name, piece in self.pieces.items()
        ]
        return (
            torch.cat(sums),
            float(losses[kept].sum()),
            count_within(norms[:, kept], clip_norm),
        )


def selected(usable: torch.Tensor, records: int) -> slice | torch.Tensor:
    """Returns which of the first ``records`` rows are ``usable``: a slice if all are, else their places."""
    of_records = usable[:records]
    return slice(0, records) if bool(of_records.all()) else of_records.nonzero()[:, 0]


def _layer_of(parameter: str) -> str:
    return parameter.rpartition(".")[0]
