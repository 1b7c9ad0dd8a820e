"""BibTeX for exactly what a run used, from ``references.bib`` beside this file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from importlib import resources

from discreet.plan import Plan
from discreet.report.content import Citation
from discreet.version import __version__

_NOISE = {
    "rounded-gaussian": ("kairouz2021",),
    "discrete-gaussian": ("canonne2020", "kairouz2021"),
    "skellam": ("agarwal2021", "kairouz2021"),
    "discrete-laplace": ("ghosh2012", "goryczka2017"),
}
_PROTOCOLS: dict[str, tuple[str, ...]] = {
    "bonawitz": ("bonawitz2017",),
    "bell": ("bell2020",),
    "ideal": (),
    "none": (),
}

_SOFTWARE = f"""@software{{discreet,
  author = {{{{The discreet developers}}}},
  title = {{discreet: differentially private federated learning with secure aggregation}},
  version = {{{__version__}}}, license = {{Apache-2.0}}
}}"""


def citations(plan: Plan) -> tuple[Citation, ...]:
    """Returns the sources of the definition, the accounting, the noise, the protocol and the training."""
    used = {
        "Differential privacy": ("dwork2014",),
        "Trade-off curve": ("dong2022",),
        "Integer noise and rounding": _NOISE[plan.privacy.mechanism],
        "Secure aggregation": _PROTOCOLS[plan.aggregation.protocol],
        f"Local training: {plan.training.local.kind}": plan.training.local.sources,
        "Clipping norm": () if plan.norm_rule is None else ("andrew2021",),
    }
    return (
        Citation("This software", _SOFTWARE),
        *(Citation(role, _bibtex(keys)) for role, keys in used.items() if keys),
        Citation("Privacy accounting", _accounting(plan)),
    )


def accounting_key(source: str) -> str | None:
    """Returns the BibTeX key of a source as accountants name it: first author, year; None if unknown.

    Example:
        >>> accounting_key("Zhu, Dong, Wang 2022 (dominating pairs)")
        'zhu2022'
    """
    author, year = re.match(r"[^\W\d_]+", source), re.search(r"\b\d{4}\b", source)
    key = f"{author[0].lower()}{year[0]}" if author and year else ""
    return key if key in _references() else None


def _accounting(plan: Plan) -> str:
    """Returns the sources that the guarantees name; one without an entry is given as it stands."""
    named = dict.fromkeys(source for row in plan.guarantees for source in row.citations)
    # Proofs in this project's own documents are cited with the software.
    sources = [source for source in named if "docs/theory/" not in source]
    keys = {source: accounting_key(source) for source in sources}
    unknown = [f"% {source}" for source, key in keys.items() if key is None]
    known = dict.fromkeys(key for key in keys.values() if key is not None)
    return "\n\n".join([*([_bibtex(known)] if known else []), *unknown])


def _bibtex(keys: Iterable[str]) -> str:
    """Returns the entries of ``keys``."""
    return "\n\n".join(_references()[key] for key in keys)


@cache
def _references() -> dict[str, str]:
    """Returns every entry of the bundled bibliography by its key."""
    text = resources.files(__name__.rpartition(".")[0]).joinpath("references.bib").read_text(encoding="utf-8")
    entries = re.split(r"\n\n(?=@)", text.strip())
    return {entry[entry.index("{") + 1 : entry.index(",")]: entry for entry in entries}
