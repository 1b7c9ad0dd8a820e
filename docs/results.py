"""Writes docs/results.md from reproductions/papers.toml and the CSV files in reproductions/results.

python docs/results.py            # writes the page
python docs/results.py --check    # exit code 1 if the page is not what the files say
"""

from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path

DOCS = Path(__file__).parent
REPRODUCTIONS = DOCS.parent / "reproductions"
RESULTS = REPRODUCTIONS / "results"
sys.path.insert(0, str(REPRODUCTIONS))

from reproducing import Scale, Verdict, find, read_computed, read_papers, read_verdicts, tally  # noqa: E402

# The comparison that a sceptical reader wants first comes first.
ORDER = (
    "utility-full", "utility-small", "auto-full", "auto-small",
    "p1-figure2-full", "p1-figure2-small", "p1-figure3-full",
    "p1-figure3-small", "p1-figure1-full", "p1-figure1-small", "local-state-small",
    "p2-grid-full", "p2-grid-small", "p2-fedavg-full", "p2-fedavg-small",
    "p2-silos-full", "p2-silos-small", "p1-table1-small", "p3-mnist-full",
    "p3-mnist-small", "p3-smoothing-full", "p3-smoothing-small",
    "p3-svhn-full", "p3-svhn-small", "p3-shakespeare-full", "p3-shakespeare-small",
    "schedules-full", "schedules-small", "p3-closed-forms-small", "p3-epsilons-small", "p4-accounting-small",
    "p4-asynchronous-full", "p4-asynchronous-small", "p4-late-cut-full", "p4-late-cut-small",
    "p4-clipping-full", "p4-clipping-small",
)  # fmt: skip

INTRODUCTION = """# Results

Written by `python docs/results.py` from `reproductions/papers.toml` and the files in `reproductions/results`;
a test compares them with this page.

## What the papers print, and what became of it

A number is *within* or *outside* only if the paper prints it and its own method ran here in the paper's
setting, as far as its text says it; what it does not say, and what we took, is on the page of each
reproduction. A number on which a setting was chosen is not compared. Numbers that the texts at hand have lost
are not counted.
"""
VERDICTS = """## Verdicts

*Published* is the paper's number, *reproduced* the paper's own method run here, *ours* our best PROVEN method
(or, in accounting tables, the tight value) under the same conditions. Each table names the command that makes
it; figures lie beside the CSV files. What was not run has no table, or is counted below it.

| verdict | what it says |
|---|---|
| within, OUTSIDE | the paper's method, held to the number that the paper prints |
| unchanged, CHANGED | held to a number of our own: an earlier run, another evaluation, a bound |
| not reproduced | the paper's method with other data, model or settings; or one run says too little |
| shown | nothing to compare with |
"""


def summary() -> str:
    """Returns the table over all papers in Markdown."""
    verdicts: dict[str, dict[str, Verdict]] = {}
    reasons: dict[str, dict[str, str]] = {}
    # Full scale comes first in the alphabet, and counts where both have a cell.
    for path in sorted(RESULTS.glob("*.csv")):
        name, _, scale = path.stem.rpartition("-")
        verdicts[name] = read_verdicts(path) | verdicts.get(name, {})
        cells = find(REPRODUCTIONS, name).expectations.cells[Scale(scale)]
        why = {cell: expected.not_compared for cell, expected in cells.items()}
        reasons[name] = why | reasons.get(name, {})
    lines = [
        "| paper | table | numbers printed | compared | within | outside | not compared, why |",
        "|---|---|---|---|---|---|---|",
    ]
    for table in read_papers(REPRODUCTIONS / "papers.toml"):
        found = tally(table, verdicts, reasons)
        left = "; ".join(f"{count}: {reason}" for reason, count in found.left.items()) or "–"
        counts = f"{found.printed} | {found.compared} | {found.within} | {found.outside}"
        lines.append(f"| {table.paper} | {table.where} | {counts} | {left} |")
    return "\n".join(lines) + "\n"


def in_words() -> str:
    """Returns what papers say in words beside what the stored runs say, in Markdown."""
    image, street = values("p1-figure1-full"), values("p3-svhn-full")
    cifar, income = values("p1-figure2-full"), values("p1-figure3-full")
    step = "{} rounds: single-step, PROVEN"
    many = "{} rounds: noisy-steps, CONDITIONAL"
    one = image["paper's CNN, one step of 128, PROVEN"]
    gain = image["paper's CNN, one epoch of noisy-steps, CONDITIONAL"] - one
    best = image["standardised CNN, one epoch of noisy-steps, CONDITIONAL"] - one
    fewer, more, saving = saved_rounds(
        {rounds: cifar[step.format(rounds)] for rounds in (10, 20, 40, 80, 160)}, cifar[many.format(10)]
    )
    smoothed = [
        street[f"z = {z}, smoothing 1"] - street[f"z = {z}, smoothing 0"] for z in ("1", "1.1", "1.3", "1.5")
    ]
    rows = (
        ("Heikkilä 2025, Figure 1", "an epoch a round gains about 16 points on one step",
         f"{gain:.1f} points on the paper's network, {best:.1f} with standardised images"),
        ("Heikkilä 2025, Figure 2", "one step needs about ten times the rounds, and an epoch gains 4 points",
         f"one step needs between {fewer} and {more} rounds for what an epoch has after 10, by interpolation "
         f"{saving:.1f} times as many: three- to fourfold, both rates tuned; an epoch gains "
         f"{cifar[many.format(10)] - cifar[step.format(10)]:.1f} points at 10 rounds. Other features"),
        ("Heikkilä 2025, Figure 3", "twenty steps gain about 4 points on one",
         f"{income[many.format(10)] - income[step.format(10)]:.1f} points at 10 rounds"),
        ("DP-Fed, Table 2", "smoothing gains 0.5 to 1 point on SVHN",
         f"{min(smoothed):.1f} to {max(smoothed):.1f} points on MNIST in its place: not reproduced"),
    )  # fmt: skip
    lines = ["## What they say in words", "", "| paper | says | here |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def values(stem: str) -> dict[str, float]:
    """Returns the numbers of a stored run by cell."""
    found = read_computed(RESULTS / f"{stem}.csv")
    return {name: cell.value for name, cell in found.items() if cell.value is not None}


def saved_rounds(slow: dict[int, float], goal: float) -> tuple[int, int, float]:
    """Returns between which numbers of rounds ``slow`` meets ``goal``, and their ratio to the fewest.

    The ratio interpolates accuracy over the logarithm of the rounds.
    """
    rounds = sorted(slow)
    more = next(number for number in rounds if slow[number] >= goal)
    fewer = rounds[rounds.index(more) - 1]
    share = (goal - slow[fewer]) / (slow[more] - slow[fewer])
    return fewer, more, math.exp((1 - share) * math.log(fewer) + share * math.log(more)) / rounds[0]


def section(stem: str) -> str:
    """Returns one table in Markdown."""
    name, _, scale = stem.rpartition("-")
    expected = json.loads((REPRODUCTIONS / name / "expected.json").read_text(encoding="utf-8"))
    with (RESULTS / f"{stem}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    option = "" if scale == "small" else f" --scale {scale}"
    lines = [
        f"## {expected['title']}{', full scale' if scale == 'full' else ''}",
        "",
        f"{expected['paper']}; {expected['quantity']}; {scale} scale. `discreet reproduce {name}{option}`; "
        f"[what is compared](../reproductions/{name}/README.md), "
        f"[figure](../reproductions/results/{stem}.svg){drawings(stem)}.",
        "",
        "| cell | published | reproduced | ours | verdict | note |",
        "|---|---|---|---|---|---|",
    ]
    run = [row for row in rows if Verdict(row["verdict"]) is not Verdict.SKIPPED]
    lines += [f"| {' | '.join(_shown(row))} |" for row in run]
    not_run = len(rows) - len(run)
    if not_run:
        lines += ["", f"Not run: {not_run} of {len(rows)} cells; the CSV file names them."]
    return "\n".join(lines) + "\n"


def drawings(stem: str) -> str:
    """Returns links to the figures that the reproduction's own script drew."""
    paths = sorted((RESULTS / stem).glob("*.svg"))
    return "".join(f", [{path.stem}](../reproductions/results/{stem}/{path.name})" for path in paths)


def _shown(row: dict[str, str]) -> list[str]:
    numbers = [f"{float(row[key]):.4g}" if row[key] else "–" for key in ("published", "reproduced", "ours")]
    return [row["cell"], *numbers, row["verdict"], row["note"]]


def audit_section(path: Path) -> str:
    """Returns the audit of the demo in Markdown."""
    document = json.loads(path.read_text(encoding="utf-8"))
    lines = [
        "## Audit of the demo",
        "",
        "`discreet audit examples/heart.toml --json`; each statement with "
        f"{document['confidence']:g} confidence; see [what it means](audit.md).",
        "",
        "| attack | against | found | claimed | verdict |",
        "|---|---|---|---|---|",
    ]
    for finding in document["findings"]:
        if finding["kind"] == "CanaryFinding":
            claim = finding["claim"]
            found = f"{finding['correct']} of {finding['guesses']} right, "
            found += f"ε ≥ {finding['audited_epsilon_lower']:.3f}"
            found += (
                f" (Gaussian: {finding['audited_gaussian_epsilon_lower']:.3f}), p {finding['p_value']:.2g}"
            )
            lines.append(
                f"| {finding['count']} {finding['canaries']} canaries | {_adversary(claim['adversary'])} | "
                f"{found} | ε ≤ {claim['epsilon']:.3f} | {_verdict(finding)} |"
            )
        elif finding["kind"] == "SensitivityFinding":
            lines.append(
                f"| {finding['trials']} neighbours | local training of {finding['silo']} | moves by "
                f"{finding['largest']:.4g} | ≤ {finding['claimed']:.4g} | {_verdict(finding)} |"
            )
        elif finding["kind"] == "PostProcessingFinding":
            lines.append(
                f"| the same sums, {finding['difference']}, {finding['rounds']} rounds | the server's "
                f"update, {finding['silo']} | models move by {finding['largest']:.4g} | 0 | "
                f"{_verdict(finding)} |"
            )
        elif finding["kind"] == "NoiseFinding":
            lines.append(
                f"| noise: {finding['check']} | {finding['scenario']} | {finding['observed']:.4g}, "
                f"p {finding['p_value']:.2g} | {finding['expected']:.4g} | {_verdict(finding)} |"
            )
    return "\n".join(lines) + "\n"


def _adversary(adversary: dict[str, object]) -> str:
    words = {
        "ReleasedModels": "anyone who sees the released models",
        "Member": "another participating silo",
        "AggregationServer": "the aggregation server",
        "ServerWithColluders": "the server and colluding silos",
    }
    return next((text for name, text in words.items() if name in str(adversary)), str(adversary))


def _verdict(finding: dict[str, object]) -> str:
    return "EXCEEDED" if finding["exceeded"] else "holds"


def page() -> str:
    """Returns the whole page."""
    present = {path.stem for path in RESULTS.glob("*.csv")}
    unknown = sorted(present - set(ORDER))
    parts = [
        INTRODUCTION,
        summary(),
        in_words(),
        VERDICTS,
        *(section(stem) for stem in (*ORDER, *unknown) if stem in present),
    ]
    audit = RESULTS / "audit-heart.json"
    return "\n".join([*parts, *([audit_section(audit)] if audit.exists() else [])])


def main() -> None:
    path = DOCS / "results.md"
    if "--check" in sys.argv[1:]:
        sys.exit(path.read_text(encoding="utf-8") != page())
    path.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
