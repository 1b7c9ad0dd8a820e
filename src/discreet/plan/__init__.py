"""The plan: what every party agrees on before training, derived once from config and public facts."""

from discreet.plan.aggregation import sum_protocol
from discreet.plan.facts import FederationFacts
from discreet.plan.make import make_plan, silo_training
from discreet.plan.plan import Plan, load_plan
from discreet.plan.releases import RoundRelease, Thresholds, event_for
from discreet.plan.training import server_rule

__all__ = [
    "FederationFacts",
    "Plan",
    "RoundRelease",
    "Thresholds",
    "event_for",
    "load_plan",
    "make_plan",
    "server_rule",
    "silo_training",
    "sum_protocol",
]
