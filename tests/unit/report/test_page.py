import base64
import dataclasses
import hashlib
import json
import math
import re
from html.parser import HTMLParser
from importlib import resources
from itertools import pairwise

import pytest

from discreet.privacy import assumptions
from discreet.privacy.wire import from_json
from discreet.report import ReportInput, render, report_json

FREE = len(assumptions._KNOWN) + 1
VOID = {"meta", "line", "polyline", "rect", "circle"}


class Page(HTMLParser):
    """Collects what a browser would see, and fails on unbalanced tags."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.headings: list[int] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.tags: list[str] = []
        self.feed(document)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.text.append(data)


def visible(report: ReportInput) -> str:
    return "\n".join(Page(render(report)).text)


def test_the_page_is_well_formed_and_its_headings_skip_no_level(report: ReportInput) -> None:
    page = Page(render(report))
    assert page.headings.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(page.headings))
    assert ("html", "lang", "en") in page.attributes


def test_nothing_outside_the_page_is_referred_to(report: ReportInput) -> None:
    document = render(report)
    page = Page(document)
    assert not {"link", "img", "iframe", "object", "a"} & set(page.tags)
    assert not [
        name for _, name, _ in page.attributes if name in ("src", "href", "srcset", "style", "onload")
    ]
    style = document[document.index("<style>") : document.index("</style>")]
    assert not re.search(r"url\(|@import|https?:", style)


def test_only_the_bundled_script_may_run(report: ReportInput) -> None:
    page = Page(render(report))
    (script,) = page.scripts
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'"
    assert ("meta", "content", policy) in page.attributes
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]


def test_hostile_names_stay_text(report: ReportInput) -> None:
    document = render(report)
    assert document.count("<script") == 1
    assert "<someone@example.org>" not in document
    shown = visible(report)
    assert shown.count('<script src="https://evil.example/x.js">') >= 8


def test_every_number_is_there(report: ReportInput) -> None:
    shown = visible(report)
    for number in ("0.988", "0.813", "0.766", "no limit", "1e-5", "0.433", "1,234"):
        assert number in shown, number
    for number in ("77.8 %", "0.876", "81.2 %", "0.901", "65.4 %", "75.0 %", "80.0 %", "66.0 %"):
        assert number in shown, number
    # μ = 0.25: Φ(Φ⁻¹(x) + 0.25) at 0.1 %, 1 % and 10 %, and 2Φ(0.125) − 1.
    # What is drawn is the budget, beside the smaller ε that an end decided by results breaks.
    assert "whenever it ends from 0.988 in round 1 to 0.988 in round 3" in render(report)
    for number in ("0.226 %", "1.9 %", "15.2 %", "9.95 %"):
        assert number in shown, number
    assert "ab" * 32 in shown
    assert "cd" * 32 in shown


def test_every_outcome_of_a_round_is_told_apart(report: ReportInput) -> None:
    shown = visible(report)
    assert (
        "stopped before its sum was opened, charged to a silo's own message only: not-enough-survivors"
        in shown
    )
    assert "interrupted, stays charged: power cut" in shown
    assert "2 of 3; without" in shown
    assert "3 rounds charged" in shown
    scheduled = visible(dataclasses.replace(report, most_contributions=2))
    assert "3 sums charged; no silo is in more than 2 of them" in scheduled
    assert "4 planned sums" in scheduled
    assert "2 of 4 planned rounds completed" in shown


def test_assumptions_of_a_conditional_row_are_shown(report: ReportInput) -> None:
    shown = visible(report)
    assert "CONDITIONAL: holds only if the stated assumption holds" in shown
    assert f"A{FREE}\nthe local state" in shown
    assert "stays secret" in shown


def test_the_page_says_that_it_does_not_know_whether_records_kept_to_them(report: ReportInput) -> None:
    """A capacity that was exceeded leaves a weaker guarantee, and only the owner of the records is told."""
    page = render(report)
    assert "is in no file: it is told to whoever holds them alone" in page
    assert page.index("What is assumed") < page.index("is in no file")


def test_assumptions_are_numbered_beside_every_row(report: ReportInput) -> None:
    rows = [dataclasses.replace(row, assumptions=("first", "second", "third")) for row in report.guarantees]
    shown = visible(dataclasses.replace(report, guarantees=tuple(rows)))
    assert shown.count(f"A{FREE}–A{FREE + 2}") == len(rows)
    for line in (f"A{FREE}\nfirst", f"A{FREE + 1}\nsecond", f"A{FREE + 2}\nthird"):
        assert line in shown


def test_a_judgement_stands_beside_every_status_and_on_the_first_screen(report: ReportInput) -> None:
    shown = visible(report)
    first = shown.partition("What the guarantee says")[0]
    # e^0.98765 / (1 + e^0.98765) = 0.72863…
    assert "What it is worth\nmoderate\na 50 % guess becomes right at most 72.9 % of the time" in first
    assert shown.count("moderate (68.3 %)") == 2
    assert shown.count("worthless") >= 1, "the row without any promise"
    assert shown.count("PROVEN: follows from a mathematical proof") == 3, "a judgement changes no status"
    bad = dataclasses.replace(report, budget=dataclasses.replace(report.budget, epsilon=100.0))
    assert "it is worthless: it allows an attacker to be almost certain" in visible(bad)
    assert "publishes one of 100,000 records at random" in visible(dataclasses.replace(report, units=100_000))


def test_a_training_loss_is_said_to_be_private(report: ReportInput) -> None:
    shown = visible(dataclasses.replace(report, final=None, comparison=None))
    assert "the training loss in report.json and metrics.jsonl, are exact and not private" in shown
    assert "without noise: not private, and no guarantee covers them" in shown


def test_a_delta_that_underflowed_is_no_zero(report: ReportInput) -> None:
    tiny = dataclasses.replace(report, budget=dataclasses.replace(report.budget, delta=0.0))
    assert "δ < 1e-300" in visible(tiny)
    assert "δ = 0" not in visible(tiny)


def test_a_simulation_says_that_it_protects_nobody(report: ReportInput) -> None:
    assert "this run protects nobody" not in visible(report)
    assert "this run protects nobody" in visible(dataclasses.replace(report, seeded=True))


def test_what_a_training_costs_each_silo_is_told(report: ReportInput) -> None:
    shown = visible(report)
    own, other = report.silo_budgets
    assert own.used == pytest.approx((2.3123, 3e-5))
    assert own.is_kept
    assert own.left == pytest.approx((2.6877, 9.7e-4))
    for cell in ("ε 0.813, δ 1e-5", "ε 2.313, δ 3.01e-5", "ε 5.000, δ 0.001", "kept", "nothing", "exceeded"):
        assert cell in shown.split("Budgets of the silos")[1].split("What an attacker gains")[0], cell
    assert not other.is_kept
    assert "Budgets of the silos" not in visible(dataclasses.replace(report, silo_budgets=()))


def test_one_limit_exceeded_is_enough(report: ReportInput) -> None:
    own = report.silo_budgets[0]
    assert not dataclasses.replace(own, limit_of_a_training=(0.8, 1e-4)).is_kept
    assert not dataclasses.replace(own, limit_of_a_training=(1.0, 9e-6)).is_kept
    assert not dataclasses.replace(own, limit=(2.3, 1e-3)).is_kept
    assert not dataclasses.replace(own, limit=(5.0, 2.9e-5)).is_kept


def test_the_page_says_how_to_check_it_and_who_signs_it(report: ReportInput) -> None:
    shown = visible(report)
    assert "discreet verify DIRECTORY" in shown
    assert "ef" * 32 in shown
    assert "unsigned" not in shown
    assert "unsigned\nnothing in these files shows" in visible(dataclasses.replace(report, signer=""))


def test_what_is_not_private_is_marked(report: ReportInput) -> None:
    shown = visible(report)
    assert shown.count("no noise: not private, not released") == 2
    bare = dataclasses.replace(report, final=None, comparison=None, outcomes=(), attack=None)
    shown = visible(bare)
    assert "Nothing was measured" in shown
    assert "limits no attacker" in shown
    assert "0 of 4 planned rounds completed" in shown


def test_the_same_input_gives_the_same_small_page(report: ReportInput) -> None:
    many = tuple(dataclasses.replace(report.completed[0], release=n) for n in range(1, 201))
    document = render(dataclasses.replace(report, outcomes=many))
    assert document == render(dataclasses.replace(report, outcomes=many))
    assert len(document.encode()) < 400_000


def test_json_has_the_same_content(report: ReportInput) -> None:
    data = json.loads(json.dumps(report_json(report), allow_nan=False))
    assert set(data) == {"version", *(field.name for field in dataclasses.fields(report))}
    assert from_json(data["guarantees"]) == report.guarantees
    assert math.isinf(from_json(data["guarantees"])[-1].epsilon)
    assert data["attack"]["table"][1] == {
        "type": "AttackPoint",
        "false_positive_rate": 0.01,
        "max_true_positive_rate": report.attack.table[1].max_true_positive_rate if report.attack else None,
    }
    assert [outcome["type"] for outcome in data["outcomes"]] == [
        "CompletedRound",
        "AbortedRound",
        "LostRound",
        "CompletedRound",
    ]
    assert data["final"]["by_silo"][0] == ["a", 0.75]


# --- colours: WCAG 2.1, 1.4.3 (4.5 : 1 for text) and 1.4.11 (3 : 1 for graphics) ---


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1, 2])
def test_light_dark_and_print_have_enough_contrast(theme: int) -> None:
    style = resources.files("discreet.report").joinpath("style.css").read_text()
    blocks = re.findall(r":root \{([^}]*)\}", style)
    assert len(blocks) == 3
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", blocks[theme]))
    for text, ground in (
        ("ink", "paper"),
        ("soft", "paper"),
        ("ink", "panel"),
        ("soft", "panel"),
        ("warn-ink", "warn-paper"),
    ):
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for line in ("first", "second", "third"):
        assert contrast(colours[line], colours["paper"]) >= 3.0, line


def test_the_base_rate_stands_beside_the_accuracy(report: ReportInput) -> None:
    shown = visible(report)
    assert "Accuracy\n77.8 %\nalways the commonest class: 60.0 %; AUC 0.876 (guessing: 0.500)" in shown
    assert (
        "no records: always the commonest class\nthe base rate: a count, not private\n60.0 %\n0.500" in shown
    )
