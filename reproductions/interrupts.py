r"""An interrupt inside a Poisson batch: the batch's sum moves by (1 + 2I)·C, not by C.

Run: python reproductions/interrupts.py

van Dijk and Nguyen let a new global model replace a silo's model at once, in the middle of a batch. A record
more takes its time, so every later record is one place behind: at each interrupt one record that was
evaluated before it is evaluated after it, at another model, and its clipped gradient may turn round. Here
records are numbers, a model is a number, the loss is |model − record|, its gradient is ±1, and every
evaluation takes one unit of time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

CLIP_NORM = 1.0


def clipped_gradient(model: float, record: float) -> float:
    """Returns the gradient of |model − record|, whose length is the clipping norm."""
    return CLIP_NORM if model > record else -CLIP_NORM


def interrupted_sum(records: Sequence[float], model_at: Callable[[int], float]) -> float:
    """Returns the sum of a batch whose record number t is evaluated at time t, at the model of that time."""
    return sum(clipped_gradient(model_at(time), record) for time, record in enumerate(records))


def sensitivity(interrupts: int, every: int = 10, *, latched: bool = False) -> float:
    """Returns how far the sum moves, in clipping norms, if a record comes before the others.

    Args:
        interrupts: models that arrive within the batch, one after every so many evaluations.
        every: evaluations from one to the next.
        latched: whether a batch keeps the model that it began with, as a repair.

    Example:
        >>> sensitivity(2), sensitivity(2, latched=True)
        (5.0, 1.0)
    """

    def model_at(time: int) -> float:
        return 0.0 if latched else float(min(time // every, interrupts))

    def last_before(interrupt: int) -> int:
        return every * interrupt - 1

    # The last record before interrupt j lies between the models j − 1 and j, the others beyond all of them.
    records = [float(interrupts + 1)] * (every * (interrupts + 1))
    for interrupt in range(1, interrupts + 1):
        records[last_before(interrupt)] = interrupt - 0.5
    added = [-1.0, *records]
    return abs(interrupted_sum(added, model_at) - interrupted_sum(records, model_at)) / CLIP_NORM


def main() -> None:
    """Prints what docs/claims.md shows."""
    print("interrupts in the batch, how far one record more moves the sum (claimed: 1 clipping norm)")
    for interrupts in range(4):
        latched = sensitivity(interrupts, latched=True)
        print(f"  {interrupts}: {sensitivity(interrupts):g}; {latched:g} if a batch keeps its model")


if __name__ == "__main__":
    main()
