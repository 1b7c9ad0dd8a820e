"""The files of public weights that a config names, by the key that names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from discreet.config.data import DataConfig
from discreet.config.model import ModelConfig
from discreet.config.sections import Config

_Table = TypeVar("_Table", DataConfig, ModelConfig)

FILE_SCHEMES = ("residual", "onnx")
"""The schemes of ``data.transform`` behind which there is the path of a file."""


def weight_files(config: Config) -> Mapping[str, str]:
    """Returns the paths of public weights by the keys of the config that name them."""
    scheme, _, path = (config.data.transform or "").partition(":")
    stated = {
        "data.pretrained.file": config.data.pretrained,
        "model.pretrained.file": config.model.pretrained,
    }
    named = {key: one.file for key, one in stated.items() if one is not None and one.file is not None}
    return {**({"data.transform": path} if scheme in FILE_SCHEMES else {}), **named}


def with_weight_files(config: Config, moved: Callable[[str], str]) -> Config:
    """Returns the config with every such path replaced by what ``moved`` makes of it."""
    data, model = _moved(config.data, moved), _moved(config.model, moved)
    scheme, _, path = (data.transform or "").partition(":")
    if scheme in FILE_SCHEMES:
        data = data.model_copy(update={"transform": f"{scheme}:{moved(path)}"})
    return config.model_copy(update={"data": data, "model": model})


def _moved(table: _Table, moved: Callable[[str], str]) -> _Table:
    stated = table.pretrained
    if stated is None or stated.file is None:
        return table
    return table.model_copy(update={"pretrained": stated.model_copy(update={"file": moved(stated.file)})})
