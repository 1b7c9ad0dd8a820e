"""What was spent, on the owner's page: by training and by day, against the limits."""

from __future__ import annotations

from discreet.privacy.notation import epsilon_text, pair_text
from discreet.report.chart import Axis, Chart, Line, draw, nice_scale
from discreet.report.foreign import foreign
from discreet.report.html import Content, Html, table, tag
from discreet.report.owner_price import left_text, level_text, share_text
from discreet.report.wording import UNITS
from discreet.silo.policy.limits import Limits
from discreet.silo.spending import Level, Odometer


def spending(found: Odometer, per_training: tuple[float, float]) -> Html:
    """Returns the section of what was spent: limits, figures, the way there as a chart, by training and day.

    Args:
        found: the odometer.
        per_training: (ε, δ) that one training may cost at most.
    """
    limits = found.limits
    parts: list[Content] = [
        tag("h2", "What was spent"),
        tag(
            "p",
            f"The budget protects {_unit(found.unit)}: at most {_limit(limits)} for all trainings together, "
            f"and {pair_text(*per_training, down=True)} for one. "
            f"{_composed(found)} {_of_year(found)}",
        ),
        _figures(found),
    ]
    if found.years:
        parts.append(_years(found))
    if found.moments:
        parts += [_chart(found), _trainings(found), _days(found)]
    else:
        parts.append(tag("p", "Nothing has left this silo."))
    return tag("section", *parts)


def _composed(found: Odometer) -> str:
    words = found.composed_text
    return f"{words[0].upper()}{words[1:]}."


def _unit(unit: str) -> str:
    return next((words for known, words in UNITS.items() if known.value == unit), unit)


def _limit(limits: Limits) -> str:
    return pair_text(limits.epsilon, limits.delta, down=True)


def _of_year(found: Odometer) -> str:
    return "" if found.year_limits is None else f"In one calendar year, at most {_limit(found.year_limits)}."


def _share(level: Level) -> str:
    return share_text(level.share)


def _figures(found: Odometer) -> Html:
    added = found.limits.composition == "sum"
    entries = [
        *(
            [("Spent", pair_text(found.lifetime.epsilon, found.lifetime.delta), "in all trainings")]
            if added
            else []
        ),
        ("Used", _share(found.lifetime), "of the whole budget"),
        ("Left", left_text(found.lifetime, found.limits), "for all later trainings"),
    ]
    if found.year is not None:
        entries.append((f"In {found.years[-1][0]}", _share(found.year), "of the year's budget"))
    entries.append(("Trainings", f"{len(found.trainings)}", "that began here"))
    divs = (
        tag("div", tag("dt", name), tag("dd", value, tag("small", meaning)))
        for name, value, meaning in entries
    )
    return tag("dl", *divs, class_="figures")


def _years(found: Odometer) -> Html:
    limits = found.year_limits or found.limits
    rows = [
        (f"{year}", level_text(level, limits), _limit(limits), left_text(level, limits))
        for year, level in reversed(found.years)
    ]
    note = (
        "Years begin on 1 January (UTC). What is left of a past year cannot be spent any more. A release "
        "whose day is not written down counts in every year."
    )
    header = ("Year", "Spent", "At most", "Left")
    return tag("div", table("Year by year", header, rows), tag("p", note, class_="soft"))


def _chart(found: Odometer) -> Html:
    """Draws the share of the budget over the releases, in the order of the ledger."""
    points, count = [(0.0, 0.0)], 0
    for moment in found.moments:
        count += moment.releases
        points.append((float(count), 100.0 * moment.level.share))
    top = max(100.0, *(value for _, value in points))
    lines = (
        Line("used", tuple(points)),
        Line("the whole budget", ((0.0, 100.0), (float(count), 100.0))),
    )
    drawn = draw(
        Chart(
            "How much of the budget is used",
            f"After {count} releases {_share(found.lifetime)} of the budget is used; the table has each day.",
            Axis("releases that were charged", nice_scale([0.0, float(count)], from_zero=True, whole=True)),
            Axis("% of the budget", nice_scale([0.0, top], from_zero=True)),
            lines,
        )
    )
    return tag("div", drawn, class_="charts single")


def _trainings(found: Odometer) -> Html:
    rows = [
        (
            foreign(one.name),
            tag("code", one.plan[:16]),
            one.days_text,
            one.releases_text,
            f"{one.lost}",
            pair_text(one.epsilon, one.delta),
        )
        for one in found.trainings
    ]
    note = (
        "A release that is lost left this silo and was not seen to end; it may have been opened, so it stays "
        "charged. One whose end may still come is charged too, and not yet called lost. The last column is "
        "what each training costs by itself: as a whole, for whoever may end it may choose the end by what "
        "was released. Releases beyond the plan begin another one."
    )
    header = ("Training", "Plan", "Days (UTC)", "Releases", "Lost", "By itself")
    return tag("div", table("Trainings", header, rows, numeric=(4,)), tag("p", note, class_="soft"))


def _days(found: Odometer) -> Html:
    """Shows the days; under a filter without ε, which is the whole way's and no day's."""
    names = {one.plan: foreign(one.name) for one in found.trainings}
    added = found.limits.composition == "sum"
    rows = [
        (
            moment.day or "not written down",
            names.get(moment.plan, ""),
            f"{moment.releases}",
            *([epsilon_text(moment.level.epsilon)] if added else []),
            _share(moment.level),
        )
        for moment in found.moments
    ]
    epsilon = ("ε by then",) if added else ()
    header = ("Day", "Training", "Releases", *epsilon, "Of the budget")
    return table("Day by day", header, rows, numeric=tuple(range(2, len(header))))
