"""``discreet up``: SuperLink, SuperNodes and silos on this machine, with TLS and node authentication."""

from discreet.engines.flower.up.follow import Finished, Killing, bring_up

__all__ = ["Finished", "Killing", "bring_up"]
