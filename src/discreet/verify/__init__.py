"""Checking a run from its files: every number again from plan and ledger, every byte against the manifest."""

from discreet.verify.checks import verify
from discreet.verify.finding import Finding, VerificationFailure
from discreet.verify.manifest import manifest_digest, seal, seal_report
from discreet.verify.models import released_tensors, saved_map, saved_parameters
from discreet.verify.signature import require_key, sign

__all__ = [
    "Finding",
    "VerificationFailure",
    "manifest_digest",
    "released_tensors",
    "require_key",
    "saved_map",
    "saved_parameters",
    "seal",
    "seal_report",
    "sign",
    "verify",
]
