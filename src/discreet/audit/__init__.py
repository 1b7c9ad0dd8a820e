"""Attacks on our own guarantees: canaries, noise laws, neighbours, samplers, local states."""

from discreet.audit.binomial_tail import audited_epsilon_lower, guessing_p_value
from discreet.audit.campaign import AuditSettings, audit
from discreet.audit.findings import (
    CanaryFinding,
    Finding,
    NoiseFinding,
    SamplingFinding,
    SensitivityFinding,
)
from discreet.audit.tradeoff_tail import audited_mu_lower, tradeoff_p_value

__all__ = [
    "AuditSettings",
    "CanaryFinding",
    "Finding",
    "NoiseFinding",
    "SamplingFinding",
    "SensitivityFinding",
    "audit",
    "audited_epsilon_lower",
    "audited_mu_lower",
    "guessing_p_value",
    "tradeoff_p_value",
]
