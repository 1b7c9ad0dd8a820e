"""Which models a data owner lets in: one entry of ``require.models``, and all of them together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from discreet.errors import ConfigurationError

_NAME = r"[A-Za-z0-9-]+|(?!sha256:)[A-Za-z_][\w.]*:[A-Za-z_]\w*"
_DIGEST = "sha256:(?P<digest>[0-9a-f]{64})"
_ENTRY = re.compile(f"{_DIGEST}|(?P<name>{_NAME})(@{_DIGEST.replace('digest', 'pin')})?")


@dataclass(frozen=True, slots=True)
class ModelRule:
    """One entry of ``require.models``: which models it lets in.

    Guarantee:
        `permits` is true for a ``module:factory`` only if this entry names it in full. A digest says which
        weights, and is the sender's own word until the model is built; it never lets code be imported.

    Attributes:
        name: bundled name or ``module:factory``; None for any bundled model of the digest.
        digest: SHA-256 that the model must have; None for any.
    """

    name: str | None
    digest: str | None

    @classmethod
    def parse(cls, entry: str) -> Self:
        """Reads ``NAME``, ``NAME@sha256:DIGEST`` or ``sha256:DIGEST``.

        Raises:
            ConfigurationError: for anything else.
        """
        found = _ENTRY.fullmatch(entry)
        if found is None:
            raise ConfigurationError(
                "a model must be a bundled name, module:factory, either followed by @sha256:DIGEST, or "
                f"sha256:DIGEST with 64 hexadecimal digits for bundled models; got {entry!r}."
            )
        return cls(found["name"], found["digest"] or found["pin"])

    def permits(self, name: str, digest: str) -> bool:
        """Says whether a plan may build ``name`` and claim ``digest`` for it."""
        named = ":" not in name if self.name is None else name == self.name
        return named and self.digest in (None, digest)


def permitted(entries: Iterable[str], name: str, digest: str) -> bool:
    """Says whether one of a policy's entries permits a model."""
    return any(ModelRule.parse(entry).permits(name, digest) for entry in entries)
