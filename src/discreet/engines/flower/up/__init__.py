"""``discreet up``: SuperLink, SuperNodes and silos on this machine, with TLS and node authentication."""

from discreet.engines.flower.up.follow import Killing, bring_up

__all__ = ["Killing", "bring_up"]
