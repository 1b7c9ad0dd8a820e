"""The files of public weights that a config names, by the key that names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from discreet.config.sections import Config

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
    data: dict[str, object] = {}
    scheme, _, path = (config.data.transform or "").partition(":")
    if scheme in FILE_SCHEMES:
        data["transform"] = f"{scheme}:{moved(path)}"
    if config.data.pretrained is not None and config.data.pretrained.file is not None:
        file = moved(config.data.pretrained.file)
        data["pretrained"] = config.data.pretrained.model_copy(update={"file": file})
    model: dict[str, object] = {}
    if config.model.pretrained is not None and config.model.pretrained.file is not None:
        file = moved(config.model.pretrained.file)
        model["pretrained"] = config.model.pretrained.model_copy(update={"file": file})
    if not (data or model):
        return config
    return config.model_copy(
        update={
            "data": config.data.model_copy(update=data),
            "model": config.model.model_copy(update=model),
        }
    )
