"""The words of the field on the owner's page, explained before the first of them is used."""

from __future__ import annotations

from discreet.report.html import Html, items, join, tag

_WORDS = (
    ("Silo", "this machine's program and records, of one owner. Records never leave it."),
    ("Plan", "what somebody asks silos to do: a training, or questions. Its long number is its fingerprint."),
    (
        "Round, release",
        "one time that something computed from records leaves, as numbers that are masked and have noise.",
    ),
    (
        "Server",
        "the machine that adds up what the silos send. By the plan it sees the sum and no silo's part.",
    ),
    (
        "In each round, here",
        "names the method and its settings. They matter for privacy through the cost, which is worked out "
        "from them.",
    ),
    (
        "Colluding silos",
        "silos that secretly tell the server all they know. Plan and policy say how many are assumed.",
    ),
    (
        "Secure aggregation",
        "the masks that cancel only in the sum. The row 'were secure aggregation absent' says what is left "
        "to whoever gets round them.",
    ),
    (
        "ε (epsilon)",
        "bounds how much better than guessing anybody can tell whether one of those whom the budget protects "
        "took part. At 0.1 hardly at all; at 1 a 50 % guess is right at most 73.2 % of the time; at 5 it may "
        "be right nearly always.",
    ),
    ("δ (delta)", "is, roughly, the chance that this bound does not hold."),
    (
        "Budget",
        "how much ε and δ your policy lets all trainings together spend. Nothing is given back; a new "
        "year only begins the budget of a year anew, if the policy has one.",
    ),
    (
        "Filter",
        "one way to add trainings up, if your policy says so: in a measure that grows more slowly than the "
        "sum of their ε. What counts is the share of the budget that is used.",
    ),
    (
        "PROVEN, CHECKED, CONDITIONAL",
        "say how well founded a number is, not how small. CONDITIONAL holds only if what it "
        "takes for granted does.",
    ),
    (
        "Withdrawing",
        "what was released cannot be taken back. Removing somebody's records keeps them out of later "
        "trainings; what was released before stays as protected as it was.",
    ),
)


def words() -> Html:
    """Returns the section; open, since a closed one is left out on paper."""
    entries = items(join([tag("strong", word), f": {meaning}"]) for word, meaning in _WORDS)
    return tag("details", tag("summary", "What the words on this page mean"), entries, open="open")
