"""The [model] table: which model is trained, and by which loss."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from discreet.kinds.fields import Positive, Section


class LossConfig(Section):
    """A loss of one's own for a linear head under stable-steps: a function, and its stated constants.

    Attributes:
        function: ``module:name``; see `discreet.kinds.stated_loss.StatedLoss`.
        residual_norm: bound on the L2 norm of the gradient by the logits.
        curvature: the most that the gradient moves for each unit that the logits move.
    """

    function: Annotated[str, Field(pattern=r"^\w+(\.\w+)*:\w+$")]
    residual_norm: Positive
    curvature: Positive


class ModelConfig(Section):
    """Which model: a bundled name or ``module:factory``; ``seed`` fixes its public initial weights.

    ``loss`` takes the place of the loss that belongs to a linear head.

    Attributes:
        name: a bundled name, or ``module:factory``.
        seed: fixes the public initial weights.
        loss: a loss of one's own for a linear head under stable-steps.
    """

    name: str = "logistic"
    seed: Annotated[int, Field(ge=0)] = 0
    loss: LossConfig | None = None

    @property
    def own_code(self) -> tuple[str, ...]:
        """Everything that somebody has to import, as ``module:name``."""
        loss = () if self.loss is None else (self.loss.function,)
        return (*((self.name,) if ":" in self.name else ()), *loss)
