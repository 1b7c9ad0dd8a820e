"""The gradients of the records of one chunk, or of its persons, and which of them may enter a sum."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from discreet.kinds.styles import ClippingStyle
from discreet.learning.clipping.pieces import Piece
from discreet.learning.clipping.styles import count_within, factors


@dataclass(frozen=True, slots=True, repr=False)
class RecordGradients:
    """Private: L records or persons, padding included, at one model; nothing here mixes them.

    Attributes:
        outputs: logits, shape ``(L, K)``; of persons those of all of their records.
        losses: shape ``(L,)``.
        labelled: whether the label is one that the outputs know, shape ``(L,)``.
        pieces: the gradients by each trainable parameter, by its name, in `flatten` order.
    """

    outputs: torch.Tensor
    losses: torch.Tensor
    labelled: torch.Tensor
    pieces: Mapping[str, Piece]

    def of_persons(self, shares: torch.Tensor) -> RecordGradients:
        """Returns the persons' gradients: of each the weighted sum over as many rows as ``shares`` says.

        Args:
            shares: what each row counts, person after person, shape ``(persons, rows of each)``.
        """
        count, rows = shares.shape
        return RecordGradients(
            self.outputs.reshape(count, -1),
            (self.losses.double().view(count, rows) * shares).sum(dim=1),
            self.labelled.view(count, rows).all(dim=1),
            {name: piece.of_persons(shares) for name, piece in self.pieces.items()},
        )

    def norms_squared(self) -> torch.Tensor:
        """Squared norms layer by layer, never too small, shape ``(layers, L)``, float64."""
        by_layer: dict[str, torch.Tensor] = {}
        for name, piece in self.pieces.items():
            layer, squared = _layer_of(name), piece.norms_squared()
            by_layer[layer] = by_layer[layer] + squared if layer in by_layer else squared
        return torch.stack(list(by_layer.values()))

    def clipped_sum(
        self, records: int, style: ClippingStyle, clip_norm: float
    ) -> tuple[torch.Tensor, float, int]:
        """Returns the sum of clipped gradients, flat float64, the summed loss, and `ClippedSum.within`.

        Padding is left out, and so is a record whose logits, loss or norm are not finite, or whose label is
        not one of the model's classes. Each is judged by itself, and selected before anything is summed.

        Args:
            records: how many of the L are records or persons; the rest is padding.
            style: how gradients are brought into the ball.
            clip_norm: largest L2 norm of one record's contribution.
        """
        norms = self.norms_squared()
        scales, losses = factors(style, norms, clip_norm), self.losses.double()
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
