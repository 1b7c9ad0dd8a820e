"""Reading a config: TOML or mappings in, a validated `Config` or one clear line out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from discreet.config.data import DataConfig
from discreet.config.evaluated import with_models
from discreet.config.federation import with_named_columns
from discreet.config.problems import first_problem
from discreet.config.sections import Config
from discreet.documents import read_toml
from discreet.errors import ConfigurationError


def parse_config(data: Mapping[str, Any], *, source: str = "the config") -> Config:
    """Validates a config given as nested mappings.

    Raises:
        ConfigurationError: one line for the first thing that is wrong, with the key's full name.
    """
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        raise ConfigurationError(f"{source}: {first_problem(error, data)}") from None


def parse_data(facts: Mapping[str, Any]) -> DataConfig:
    """Validates the table of what is publicly known of records, given by a program.

    Raises:
        ConfigurationError: one line for the first thing that is wrong.
    """
    try:
        return DataConfig.model_validate(facts)
    except ValidationError as error:
        raise ConfigurationError(f"the public facts: {first_problem(error, facts)}") from None


def load_config(path: str | Path) -> Config:
    """Reads and validates a TOML file; patterns of columns are looked up in the headers of its tables.

    Raises:
        ConfigurationError: if the file is missing, not TOML, or not a valid config.
    """
    path = Path(path)
    try:
        data = read_toml(path.read_text(encoding="utf-8-sig"))  # some editors write a mark
    except OSError as error:
        raise ConfigurationError(f"the config must be a readable file; {path}: {error.strerror}.") from None
    except ValueError as error:
        raise ConfigurationError(f"{path.name} must be valid TOML; {error}.") from None
    config = parse_config(with_models(data), source=path.name)
    return config.model_copy(update={"data": with_named_columns(config.data)})
