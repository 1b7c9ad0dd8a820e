"""A plan whose noise comes before rounding cannot be rehearsed coin by coin, and says so."""

from __future__ import annotations

import pytest
from conftest import DIGITS

from discreet.audit import AuditSettings, audit
from discreet.config import parse_config
from discreet.engines.local import prepare
from discreet.errors import ConfigurationError


def test_an_audit_of_noise_before_rounding_is_refused() -> None:
    aggregation = DIGITS["aggregation"] | {"noise_first": True}
    prepared = prepare(parse_config(DIGITS | {"aggregation": aggregation}, source="test"))
    with pytest.raises(ConfigurationError, match=r"noise_first' must be false for an audit"):
        audit(prepared, AuditSettings(canaries=16, trials=1))
