"""Public weights that somebody else trained: where they come from, and what they leave to train."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from discreet.kinds.fields import Section, one_line

_Line = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(one_line)]
Layers = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(min_length=1, max_length=1000)]
"""Names of layers as torch has them; ``*`` in a name stands for any text."""

_MOST_RANK = 1024


class PretrainedConfig(Section):
    """A file of weights, its hash, and its provenance; that it was made from public data is assumed.

    Attributes:
        file: a safetensors file, whose names are those of the network; its folder is not part of the agreed
            plan, and it may hold environment variables. Left out where ``data.transform`` names the file.
        sha256: of the file, 64 hexadecimal digits, as ``sha256sum`` prints it. Another file is refused.
        source: where the file comes from, such as its address.
        licence: under which it may be used.
    """

    file: Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(one_line)] | None = None
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    source: _Line
    licence: _Line


class AdaptersConfig(Section):
    """Low-rank updates of frozen linear layers: W + B·A; B is trained, and A drawn with the model's seed.

    Attributes:
        layers: which linear layers have one.
        rank: rows of A; B has ``rank`` numbers for each output of a layer.
    """

    layers: Layers
    rank: Annotated[int, Field(ge=1, le=_MOST_RANK)]
