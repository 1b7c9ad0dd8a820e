"""Attacks on our own guarantees: canaries, noise laws, neighbours, samplers, local states."""

from discreet.audit.binomial_tail import audited_epsilon_lower, guessing_p_value
from discreet.audit.campaign import INTERRUPTED, AuditSettings, audit, require_rehearsable
from discreet.audit.crafted_search import CraftedSettings, crafted_findings
from discreet.audit.findings import (
    CanaryFinding,
    Finding,
    LocalStateFinding,
    NeighbourFinding,
    NoiseFinding,
    PostProcessingFinding,
    SamplingFinding,
    SensitivityFinding,
)
from discreet.audit.local_state import CraftedFederation, simulate_local_state_attack, two_steps_epsilon
from discreet.audit.sides import EVALUATION, TRAINING, sides
from discreet.audit.tradeoff_tail import audited_mu_lower, tradeoff_p_value

__all__ = [
    "EVALUATION",
    "INTERRUPTED",
    "TRAINING",
    "AuditSettings",
    "CanaryFinding",
    "CraftedFederation",
    "CraftedSettings",
    "Finding",
    "LocalStateFinding",
    "NeighbourFinding",
    "NoiseFinding",
    "PostProcessingFinding",
    "SamplingFinding",
    "SensitivityFinding",
    "audit",
    "audited_epsilon_lower",
    "audited_mu_lower",
    "crafted_findings",
    "guessing_p_value",
    "require_rehearsable",
    "sides",
    "simulate_local_state_attack",
    "tradeoff_p_value",
    "two_steps_epsilon",
]
