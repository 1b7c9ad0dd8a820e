"""What a user writes: a strict TOML file. Unknown keys are errors that name the nearest known key."""

from discreet.config.load import load_config, parse_config
from discreet.config.sections import Config

__all__ = ["Config", "load_config", "parse_config"]
