"""The plan: what every party agrees on before training, derived once from config and public facts."""

from discreet.plan.afterwards import guarantees_after
from discreet.plan.aggregation import sum_protocol
from discreet.plan.facts import FederationFacts, model_digest
from discreet.plan.judged import judged, public_units
from discreet.plan.make import make_plan, silo_training
from discreet.plan.plan import Plan, load_plan, parse_plan
from discreet.plan.releases import RoundRelease, Thresholds, event_for
from discreet.plan.terms import sum_terms

__all__ = [
    "FederationFacts",
    "Plan",
    "RoundRelease",
    "Thresholds",
    "event_for",
    "guarantees_after",
    "judged",
    "load_plan",
    "make_plan",
    "model_digest",
    "parse_plan",
    "public_units",
    "silo_training",
    "sum_protocol",
    "sum_terms",
]
