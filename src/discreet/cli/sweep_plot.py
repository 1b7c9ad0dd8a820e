"""A picture of a sweep: one line for each combination of the slower settings, along the fastest one."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

from discreet.errors import ConfigurationError
from discreet.plan.sweep import Costs, SweepRow

_PANELS = (
    ("noise_multiplier", "noise multiplier"),
    ("signal_to_noise", "signal / noise, one round"),
    ("bytes_per_training", "bytes a silo, all rounds"),
    ("epsilon", "ε"),
)
_FORMATS = (".svg", ".pdf", ".png")


def plot_sweep(rows: tuple[SweepRow, ...], path: Path) -> None:
    """Draws noise, signal to noise, bytes and ε of every combination that was not refused.

    Raises:
        ConfigurationError: for another file type, or if every combination was refused.
    """
    if path.suffix not in _FORMATS:
        raise ConfigurationError(f"--plot must end in {', '.join(_FORMATS)}; got {path.name!r}.")
    planned = [(row.settings, row.outcome) for row in rows if isinstance(row.outcome, Costs)]
    if not planned:
        raise ConfigurationError(
            f"nothing to draw: every combination was refused; the first: {rows[0].outcome}"
        )
    lines: dict[str, list[tuple[str, Costs]]] = {}
    for settings, costs in planned:
        *slower, (_, fastest) = settings
        label = ", ".join(f"{name}={value}" for name, value in slower)
        lines.setdefault(label, []).append((str(fastest), costs))
    figure, panels = plt.subplots(1, len(_PANELS), figsize=(3.4 * len(_PANELS), 3.2), layout="constrained")
    for panel, (field, title) in zip(panels, _PANELS, strict=True):
        for label, points in lines.items():
            values = [getattr(costs, field) for _, costs in points]
            panel.plot([name for name, _ in points], values, marker="o", label=label)
        panel.set_title(title, fontsize=10)
        panel.set_xlabel(rows[0].settings[-1][0])
        panel.set_ylim(0.0, 1.1 * max(getattr(costs, field) for _, costs in planned))
    if len(lines) > 1:
        panels[0].legend(fontsize=8)
    figure.savefig(path)
    plt.close(figure)
