"""What a user writes: a strict TOML file. Unknown keys are errors that name the nearest known key."""

from discreet.config.data import DataConfig
from discreet.config.load import load_config, parse_config, parse_data
from discreet.config.run import RunConfig
from discreet.config.sections import Config
from discreet.config.speed import SpeedConfig

__all__ = ["Config", "DataConfig", "RunConfig", "SpeedConfig", "load_config", "parse_config", "parse_data"]
