"""The plan explorer: a sweep as one interactive page that needs neither server nor network."""

from discreet.explorer.exploration import Exploration, explore, from_sweep
from discreet.explorer.page import render

__all__ = ["Exploration", "explore", "from_sweep", "render"]
