"""Integer noise, rings and packing: speed beside NumPy, bits per weight, and one round trip stage by stage.

    python bench/integers.py                                # everything, about three minutes
    python bench/integers.py --only threads                 # one table
    python bench/integers.py --opendp /path/to/venv/python  # with OpenDP's exact sampler beside ours

Ratios compare runs of one process, alternating, best of several. Everything but the thread table is one
thread and is timed in processor seconds, so that a busy machine disturbs it little; the thread table needs an
idle machine, and hashing beside it tells whether it was one. The secure source
(AES-256-CTR keyed by the operating system) is used throughout. Targets stand beside the figures.
"""

from __future__ import annotations

import os

# One thread for matrix products; set before NumPy loads its BLAS.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import hashlib
import math
import platform
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import stats

from discreet.accounting import calibrate
from discreet.arrays import Integers
from discreet.encoding import Grid, GridRequest, Rotation, StepWeights, decode, plan_grid
from discreet.encoding.codec import check_update
from discreet.encoding.rounding import round_dithered
from discreet.mechanisms import NoiseFamily, add_share, law_for, sample_share, sampler_tv
from discreet.privacy.events import (
    GaussianNoise,
    IntegerNoise,
    PoissonSampling,
    Release,
    Repeated,
    RoundedGaussianNoise,
)
from discreet.randomness import SecureRandom
from discreet.secagg.packing import add_packed, pack
from discreet.secagg.ring import to_ring, to_total, word_type

DRAWS = 1 << 21
# Long enough that setting up two threads does not show.
THREADED_DRAWS = 1 << 23
TARGETS = {
    NoiseFamily.ROUNDED_GAUSSIAN: 1.6,
    NoiseFamily.DISCRETE_GAUSSIAN: 5.0,
    NoiseFamily.SKELLAM: 6.0,
}

STAGES = (
    "check, rotate",
    "scale, round",
    "noise",
    "reduce",
    "pack",
    "unpack, sum",
    "decode, rotate back",
)
CHUNK = 1 << 16

Floats = npt.NDArray[np.float64]

_OPENDP = """
import time, opendp.prelude as dp
dp.enable_features("contrib")
m = dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i32")), dp.l2_distance(T="f64"), scale=4096.0)
x = [0] * {count}
m(x[:10])
start = time.process_time(); m(x); print((time.process_time() - start) / {count})
"""


def seconds(
    calls: dict[str, Callable[[], object]], repeats: int = 5, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Best time of every call, the calls alternating so that all see the same machine."""
    best = dict.fromkeys(calls, math.inf)
    for _ in range(repeats):
        for name, call in calls.items():
            start = clock()
            call()
            best[name] = min(best[name], clock() - start)
    return best


def table(title: str, header: list[str], rows: list[list[str]]) -> None:
    print(f"\n{title}")
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, *rows]:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


def noise_against_numpy() -> None:
    generator, source = np.random.default_rng(), SecureRandom()
    rows = []
    for exponent in (-1, 2, 8, 12, 16, 20, 30, 40):
        stddev = 2.0**exponent
        calls: dict[str, Callable[[], object]] = {"numpy": lambda: generator.standard_normal(DRAWS)}
        for family in NoiseFamily:
            law = law_for(family, variance=min(stddev**2, 2.0**79.9), num_silos=1)
            calls[family.value] = partial(sample_share, law, DRAWS, source)
        half = stddev**2 / 2
        if half < 1e15:
            calls["numpy Skellam"] = partial(_difference_of_poissons, generator, half)
        best = seconds(calls, repeats=3)
        row = [f"2^{exponent}", f"{best['numpy'] / DRAWS * 1e9:.1f}"]
        row += [
            f"{best[name] / best['numpy']:.2f}" if name in best else "refused"
            for name in [*list(calls)[1:4], "numpy Skellam"]
        ]
        rows.append(row)
    targets = ["target", "", *(f"{TARGETS[family]:.1f}" for family in NoiseFamily), ""]
    header = [
        "stddev",
        "numpy normal, ns",
        *(f"{family.value}, ratio" for family in NoiseFamily),
        "numpy Skellam",
    ]
    table(
        "Noise: time per draw ÷ numpy's standard_normal (targets are for 2^8 … 2^20)",
        header,
        [*rows, targets],
    )


def other_laws(opendp: str | None) -> None:
    generator, count = np.random.default_rng(), 1 << 20
    calls: dict[str, Callable[[], object]] = {
        "numpy standard_normal": lambda: generator.standard_normal(count),
    }
    best = {name: value / count for name, value in seconds(calls, repeats=2).items()}
    if opendp:
        script = _OPENDP.format(count=20_000)
        run = subprocess.run([opendp, "-c", script], capture_output=True, text=True, check=True)
        best["OpenDP discrete Gaussian, 2^12"] = float(run.stdout)
    base = best["numpy standard_normal"]
    rows = [[name, f"{value * 1e9:.1f}", f"{value / base:.1f}"] for name, value in best.items()]
    table("Other samplers", ["sampler", "ns a draw", "ratio"], rows)


def _difference_of_poissons(generator: np.random.Generator, half: float) -> object:
    return generator.poisson(half, DRAWS) - generator.poisson(half, DRAWS)


def _add_share(values: Integers, law: IntegerNoise, source: SecureRandom, workers: int) -> None:
    add_share(values, law, source, workers=workers)


def threads() -> None:
    """Wall clock, into vectors that exist, as silos do; hashing, which scales, tells how idle cores were."""
    source, values = SecureRandom(), np.zeros(THREADED_DRAWS, dtype=np.int64)
    workers = os.cpu_count() or 1
    block = bytes(1 << 25)

    def hashing(num: int) -> None:
        with ThreadPoolExecutor(num) as pool:
            list(pool.map(lambda _: hashlib.sha256(block).digest(), range(workers)))

    calls: dict[str, Callable[[int], object]] = {"hashing, for reference": hashing}
    for family in NoiseFamily:
        law = law_for(family, variance=2.0**24, num_silos=1)
        calls[family.value] = partial(_add_share, values, law, source)
    rows = []
    for name, call in calls.items():
        pair: dict[str, Callable[[], object]] = {"one": partial(call, 1), "all": partial(call, workers)}
        best = seconds(pair, repeats=9, clock=time.perf_counter)
        rows.append([name, f"{best['one'] / best['all']:.2f}"])
    table(f"Threads: speed-up of {workers} over 1 at stddev 2^12", ["work", "speed-up"], rows)


def moves() -> None:
    """The model's move from the integers of several local steps, against one division after the other."""
    weights, scale = StepWeights((7, 6, 4), Fraction(1, 40)), 1234.5
    combined = np.random.default_rng(1).integers(-(1 << 40), 1 << 40, size=1 << 18)
    factor = -weights.unit / Fraction(scale)

    def one_by_one() -> Floats:
        return np.array([int(v) * factor.numerator / factor.denominator for v in combined])

    best = seconds({"vector": lambda: weights.move(combined, scale), "one by one": one_by_one}, repeats=5)
    assert np.array_equal(weights.move(combined, scale), one_by_one())  # noqa: S101 - the bench checks itself
    rows = [
        [name, f"{value / len(combined) * 1e9:.1f}", f"{best['one by one'] / value:.1f}"]
        for name, value in best.items()
    ]
    table("StepWeights.move, every coordinate correctly rounded", ["how", "ns a weight", "speed-up"], rows)


def cnn_request(prob: float, *, rotated: bool, noise_first: bool) -> GridRequest:
    """26,010 weights, 10 silos of 5,600 records, 20 rounds of single steps at (1, 1e-5), clip norm 1."""

    def event(z: float) -> Repeated:
        return Repeated(Release(GaussianNoise(z), 1.0, 26_010, PoissonSampling(prob)), 20)

    multiplier = calibrate(event, epsilon=1.0, delta=1e-5, lower=0.3, upper=60.0)
    batch_bound = 5600 if prob == 1.0 else int(stats.binom.isf(1e-12, 5600, prob)) + 1
    return GridRequest(
        l2_sensitivity=1.0,
        silo_bound=float(batch_bound),
        num_silos=10,
        dimension=26_010,
        rounds=20,
        noise_multiplier=multiplier,
        rotated=rotated,
        noise_first=noise_first,
    )


def bits_row(prob: float, *, rotated: bool, noise_first: bool) -> list[str]:
    request = cnn_request(prob, rotated=rotated, noise_first=noise_first)
    grid = plan_grid(request)
    # The accountant counts the Gaussian before it is rounded.
    law = RoundedGaussianNoise(request.noise_multiplier * grid.l2_sensitivity / math.sqrt(10), num_silos=10)
    grid = grid.with_noise(law)
    return [
        f"{prob:g}",
        "before" if noise_first else "after",
        "yes" if rotated else "no",
        f"{request.silo_bound:.0f}",
        f"{request.noise_multiplier:.2f}",
        str(grid.bits),
        "20" if rotated else "28",
        f"{grid.l2_sensitivity / grid.scale - 1:.2%}",
        f"{law.silo_stddev:.1f}",
        f"{grid.payload_bytes:,}",
        f"{sampler_tv(law, 20 * 260_100):.0e}",
    ]


def bits_per_weight() -> None:
    rows = [
        bits_row(prob, rotated=rotated, noise_first=noise_first)
        for prob in (0.1, 1.0)
        for noise_first in (False, True)
        for rotated in (False, True)
    ]
    header = ["sampling", "noise", "rotated", "batch bound", "z", "bits", "target", "inflation"]
    header += ["share's deviation", "bytes", "sampler TV"]
    table(
        "CNN, 26,010 weights, 10 silos, (1, 1e-5), 20 rounds, wrap <= 2^-40 (Flower: 64 bits, the paper: 32)",
        header,
        rows,
    )


def round_trip(dimension: int) -> None:
    request = GridRequest(
        l2_sensitivity=1.0,
        silo_bound=680.0,
        num_silos=10,
        dimension=dimension,
        rounds=20,
        noise_multiplier=2.6,
        rotated=True,
    )
    grid = plan_grid(request)
    law = law_for(NoiseFamily.ROUNDED_GAUSSIAN, variance=(2.6 * grid.l2_sensitivity) ** 2, num_silos=10)
    grid = grid.with_noise(law)
    update = np.random.default_rng(1).normal(size=dimension)
    update *= 680.0 / np.linalg.norm(update)
    stages, error = _timed_stages(update, grid, law)
    rows = [[name, f"{value:.3f}", f"{value / dimension * 1e9:.1f}"] for name, value in stages.items()]
    total = sum(stages.values())
    rows.append(["total (target 2 s at 1e7)", f"{total:.3f}", f"{total / dimension * 1e9:.1f}"])
    table(
        f"Round trip of {dimension:,} weights on one core, {grid.bits} bits",
        ["stage", "s", "ns a weight"],
        rows,
    )
    print(f"  decoded minus sent, root mean square: {error:.2f} planned standard deviations of one share")


def _timed_stages(update: Floats, grid: Grid, law: IntegerNoise) -> tuple[dict[str, float], float]:
    """The stages of `noisy_integers`, of the client of the server, one after the other; processor seconds."""
    source, stages = SecureRandom(), dict.fromkeys(STAGES, 0.0)
    rotation = Rotation.drawn(grid.dimension, source)
    clock = time.process_time
    start = clock()
    check_update(update, grid)
    rotated = rotation.forward(update)
    stages["check, rotate"] = clock() - start
    start = clock()
    values, parts = np.empty(grid.dimension, dtype=np.int64), _parts(grid.dimension)
    for part in parts:
        values[part] = round_dithered(rotated[part] * grid.scale, source)
    stages["scale, round"] = clock() - start
    start = clock()
    add_share(values, law, source)
    stages["noise"] = clock() - start
    total, payloads = np.zeros(grid.dimension, dtype=word_type(grid.bits)), []
    for part in parts:
        marks = [clock()]
        ring = to_ring(values[part], grid.bits, len(values[part]))
        marks.append(clock())
        payloads.append(pack(ring, grid.bits))
        marks.append(clock())
        add_packed(total[part], payloads[-1], grid.bits)
        marks.append(clock())
        for name, (before, after) in zip(STAGES[3:-1], pairwise(marks), strict=True):
            stages[name] += after - before
    assert sum(map(len, payloads)) == grid.payload_bytes  # noqa: S101 - the bench checks itself
    start = clock()
    result = decode(to_total(total, grid.bits), grid, rotation)
    stages["decode, rotate back"] = clock() - start
    share = math.sqrt(law.variance / law.num_silos) / grid.scale
    return stages, float(np.sqrt(np.mean((result - update) ** 2)) / share)


def _parts(dimension: int) -> list[slice]:
    return [slice(left, min(left + CHUNK, dimension)) for left in range(0, dimension, CHUNK)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--opendp", help="a Python that has opendp installed")
    parser.add_argument("--dimension", type=int, default=10_000_000)
    sections: dict[str, Callable[[], None]] = {
        "noise": noise_against_numpy,
        "others": lambda: other_laws(options.opendp),
        "threads": threads,
        "moves": moves,
        "bits": bits_per_weight,
        "round-trip": lambda: round_trip(options.dimension),
    }
    parser.add_argument("--only", nargs="+", choices=sections, default=list(sections))
    options = parser.parse_args()
    print(
        f"Python {platform.python_version()}, NumPy {np.__version__}, "
        f"{os.cpu_count()} cores, {platform.machine()}"
    )
    for name in options.only:
        sections[name]()


if __name__ == "__main__":
    main()
