"""What one secure sum costs against the number of clients and weights: the measurements of docs/scale.md.

    python bench/flower_scale.py --clients 10 100 1000 --weights 10000

All clients and the server share this process and one core, so the processor time is the work of everybody
together. Bell et al. from 100 clients on, Bonawitz et al. below; semi-honest, or with ``--malicious`` what a
config of that name selects (sparse graphs then have more edges, docs/adr/0043).
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from discreet.randomness import SeededRandom
from discreet.secagg import (
    Bell,
    Bonawitz,
    Malicious,
    RoundTerms,
    SemiHonest,
    SemiMalicious,
    Stage,
    SumTerms,
    default_threshold,
)
from rows import Row, keep

SPARSE_FROM = 100
BITS = 24
SETUP_GOALS, MEMORY_GOALS = {1000: 15.0}, {1000: 0.5}


def one(num_clients: int, num_weights: int, *, malicious: bool) -> None:
    """Measures a setup with its first round, a healthy round, and a round with a twentieth gone."""
    clients = tuple(f"client-{number}" for number in range(num_clients))
    colluding, survivors = num_clients // 20, num_clients - num_clients // 10
    if num_clients >= SPARSE_FROM:
        sparse = Bell(SemiMalicious() if malicious else SemiHonest())
        protocol: Bell | Bonawitz = sparse
        sparsity = sparse.sparsity(num_clients, survivors, colluding)
        threshold, degree = sparsity.threshold, sparsity.degree
    else:
        mode = Malicious() if malicious else SemiHonest()
        protocol = Bonawitz(mode)
        threshold = default_threshold(num_clients, survivors, colluding, mode)
        degree = num_clients - 1
    terms = SumTerms(bytes(32), clients, threshold, survivors, colluding, BITS, num_weights, bytes(32))
    run = protocol.open(terms, SeededRandom(0))
    generator = np.random.default_rng(0)
    inputs = {client: generator.integers(-1000, 1000, num_weights) for client in clients}
    gone = dict.fromkeys(clients[: num_clients // 20], Stage.MASK)
    seconds = []
    for number, dropouts in enumerate(({}, {}, gone)):
        began = time.process_time()
        outcome = run.sum_round(RoundTerms(number, 0, bytes(32)), inputs, dropouts)
        seconds.append(time.process_time() - began)
    expected = np.sum([inputs[client] for client in outcome.survivors], axis=0) % (1 << BITS)
    if not np.array_equal(outcome.total, expected.astype(np.uint64)):
        raise AssertionError("the sum must be exact")
    first, healthy, dropped = seconds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{num_clients:6,} clients {num_weights:8,} weights  degree {degree:4}  "
        f"setup {first - healthy:7.2f} s  round {healthy:7.2f} s "
        f"({1e3 * healthy / num_clients:6.1f} ms a client)  5 % gone {dropped:7.2f} s  "
        f"{outcome.bytes_per_client / 1024:7.1f} KiB a client  peak {peak:.2f} GiB",
        flush=True,
    )
    who = f"{num_clients:,} clients in one process"
    keep(Row(f"setup of {who}", first - healthy, "s", SETUP_GOALS.get(num_clients)))
    keep(Row(f"peak memory of {who}", peak, "GiB", MEMORY_GOALS.get(num_clients)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--clients", type=int, nargs="+", default=[10, 100, 300])
    parser.add_argument("--weights", type=int, nargs="+", default=[10_000])
    parser.add_argument("--malicious", action="store_true")
    options = parser.parse_args()
    for num_clients in options.clients:
        for num_weights in options.weights:
            one(num_clients, num_weights, malicious=options.malicious)


if __name__ == "__main__":
    main()
