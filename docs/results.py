"""Writes docs/results.md from the CSV files in reproductions/results: every number, and what makes it.

python docs/results.py            # writes the page
python docs/results.py --check    # exit code 1 if the page is not what the files say
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

DOCS = Path(__file__).parent
REPRODUCTIONS = DOCS.parent / "reproductions"
RESULTS = REPRODUCTIONS / "results"
# The comparison that a sceptical reader wants first comes first.
ORDER = (
    "utility-full", "utility-small", "auto-full", "auto-small",
    "p1-figure2-full", "p1-figure2-small", "p1-figure3-full",
    "p1-figure3-small", "p1-figure1-full", "p1-figure1-small", "local-state-small",
    "p2-grid-full", "p2-grid-small", "p2-silos-full", "p2-silos-small", "p1-table1-small", "p3-mnist-full",
    "p3-mnist-small", "p3-svhn-full", "p3-svhn-small", "p3-shakespeare-full", "p3-shakespeare-small",
    "p3-closed-forms-small", "p3-epsilons-small", "p4-accounting-small",
)  # fmt: skip

INTRODUCTION = """# Results

Written by `python docs/results.py` from the files in `reproductions/results`; a test compares the two.
*Published* is the paper's number, *reproduced* the paper's own method run here, *ours* our best PROVEN method
(or, in accounting tables, the tight value) under the same conditions. Each table names the command that makes
it; figures lie beside the CSV files. What was not run has no table, or is counted below it.
"""


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
    lines += [f"| {' | '.join(_shown(row))} |" for row in rows if row["verdict"] != "skipped"]
    not_run = sum(row["verdict"] == "skipped" for row in rows)
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
    parts = [INTRODUCTION, *(section(stem) for stem in (*ORDER, *unknown) if stem in present)]
    audit = RESULTS / "audit-heart.json"
    return "\n".join([*parts, *([audit_section(audit)] if audit.exists() else [])])


def main() -> None:
    path = DOCS / "results.md"
    if "--check" in sys.argv[1:]:
        sys.exit(path.read_text(encoding="utf-8") != page())
    path.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
