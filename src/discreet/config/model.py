"""The [model] table: which model is trained, and by which loss."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from discreet.config.pretrained import AdaptersConfig, Layers, PretrainedConfig
from discreet.kinds.fields import Positive, Section
from discreet.kinds.model_facts import LINEAR_HEADS


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

    ``loss`` takes the place of the loss that belongs to a linear head. The last three fine-tune a network of
    one's own: all that they do not name stays frozen. ``pretrained`` alone says where a bundled linear head
    begins.

    Attributes:
        name: a bundled name, or ``module:factory``.
        seed: fixes the public initial weights.
        loss: a loss of one's own for a linear head under stable-steps.
        pretrained: public weights, of the frozen layers or of a linear head before the first round: file,
            hash, source and licence.
        trained: layers that are trained whole, from the weights that the factory gives them.
        adapters: low-rank updates of frozen layers.
    """

    name: str = "logistic"
    seed: Annotated[int, Field(ge=0)] = 0
    loss: LossConfig | None = None
    pretrained: PretrainedConfig | None = None
    trained: Layers | None = None
    adapters: AdaptersConfig | None = None

    @model_validator(mode="after")
    def _something_is_trained(self) -> Self:
        stated = [key for key in ("pretrained", "trained", "adapters") if getattr(self, key) is not None]
        if not stated:
            return self
        begins = stated == ["pretrained"] and self.name in LINEAR_HEADS
        if not begins and ":" not in self.name:
            raise ValueError(
                f"{' and '.join(stated)} must be left out unless 'name' is a network of one's own, "
                f"module:factory, or 'pretrained' alone is of {' or '.join(LINEAR_HEADS)}; got {self.name!r}"
            )
        if not begins and stated == ["pretrained"]:
            raise ValueError(
                "'trained' or 'adapters' must name what is trained beside 'pretrained', whose weights stay "
                "frozen; both are missing"
            )
        if self.pretrained is not None and self.pretrained.file is None:
            raise ValueError("'pretrained.file' must name the file of the weights; it is missing")
        return self

    @property
    def begins(self) -> PretrainedConfig | None:
        """The public weights that a linear head begins at; None where it begins at zero."""
        return self.pretrained if self.name in LINEAR_HEADS else None

    @property
    def own_code(self) -> tuple[str, ...]:
        """Everything that somebody has to import, as ``module:name``."""
        loss = () if self.loss is None else (self.loss.function,)
        return (*((self.name,) if ":" in self.name else ()), *loss)
