"""A strict reader of Prometheus' text format 0.0.4, written from its description and not from the writer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
HELP = re.compile(rf"# HELP (?P<name>{NAME}) (?P<help>.*)")
TYPE = re.compile(rf"# TYPE (?P<name>{NAME}) (?P<kind>counter|gauge|histogram|summary|untyped)")
SAMPLE = re.compile(rf"(?P<name>{NAME})(?:\{{(?P<labels>.*)\}})? (?P<value>\S+)")
LABEL = re.compile(r'(?P<name>[a-zA-Z_][a-zA-Z0-9_]*)="(?P<value>(?:[^"\\\n]|\\[\\n"])*)"(?:,|$)')
UNESCAPED = {r"\\": "\\", r"\n": "\n", r"\"": '"'}

Labels = tuple[tuple[str, str], ...]


@dataclass
class Family:
    help: str
    kind: str = ""
    samples: dict[Labels, float] = field(default_factory=dict)


@dataclass
class Page:
    families: dict[str, Family] = field(default_factory=dict)

    def values(self) -> dict[tuple[str, Labels], float]:
        return {
            (name, labels): value
            for name, family in self.families.items()
            for labels, value in family.samples.items()
        }


def parse(text: str) -> Page:
    """Returns the families; fails on anything that the format or its conventions do not allow."""
    assert text.endswith("\n")
    page, current = Page(), ""
    for line in text.removesuffix("\n").split("\n"):
        if found := HELP.fullmatch(line):
            current = found["name"]
            assert current not in page.families, "a family is given once"
            page.families[current] = Family(unescaped(found["help"]))
        elif found := TYPE.fullmatch(line):
            assert found["name"] == current
            family = page.families[current]
            assert not family.kind
            family.kind = found["kind"]
            assert (family.kind == "counter") == current.endswith("_total")
        else:
            found = SAMPLE.fullmatch(line)
            assert found is not None, line
            assert found["name"] == current
            assert page.families[current].kind
            labels = read_labels(found["labels"] or "")
            assert labels not in page.families[current].samples, "a sample is given once"
            page.families[current].samples[labels] = float(found["value"])
    return page


def read_labels(text: str) -> Labels:
    labels, place = [], 0
    while place < len(text):
        found = LABEL.match(text, place)
        assert found is not None, text[place:]
        labels.append((found["name"], unescaped(found["value"])))
        place = found.end()
    return tuple(labels)


def unescaped(text: str) -> str:
    return re.sub(r'\\[\\n"]', lambda found: UNESCAPED[found[0]], text)
