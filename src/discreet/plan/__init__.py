"""The plan: what every party agrees on before training, derived once from config and public facts."""

from discreet.plan.afterwards import guarantees_after
from discreet.plan.capacity import beyond_capacity, exceeded
from discreet.plan.composable import composable_cost
from discreet.plan.counted import normaliser
from discreet.plan.facts import FederationFacts, federation_facts
from discreet.plan.judged import judged, public_units
from discreet.plan.make import make_plan
from discreet.plan.plan import Plan
from discreet.plan.reading import load_plan, parse_plan
from discreet.plan.releases import RoundRelease, event_for
from discreet.plan.terms import filled, part_of_sum, sum_terms, wire_terms

__all__ = [
    "FederationFacts",
    "Plan",
    "RoundRelease",
    "beyond_capacity",
    "composable_cost",
    "event_for",
    "exceeded",
    "federation_facts",
    "filled",
    "guarantees_after",
    "judged",
    "load_plan",
    "make_plan",
    "normaliser",
    "parse_plan",
    "part_of_sum",
    "public_units",
    "sum_terms",
    "wire_terms",
]
