"""What secure aggregation costs, against the bar that the project sets itself.

    python bench/secagg.py                        # everything but the peer, about two minutes
    python bench/secagg.py --only threads round
    python bench/secagg.py --peer-python PYTHON   # adds Flower's SecAgg+ (an environment with flwr==1.41.0)

The ring is 2^32. Times are processor seconds of one core, the best of a few repetitions, so that neighbours
on the same machine do not count; only the speed-up by threads is taken on the wall clock.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from discreet.randomness import SeededRandom
from discreet.secagg import (
    AllowList,
    Bell,
    Bonawitz,
    ClientSession,
    Identity,
    Malicious,
    MemoryJournal,
    RoundTerms,
    SemiHonest,
    SemiMalicious,
    ServerSession,
    SumTerms,
    default_threshold,
)
from discreet.secagg.bell.parameters import find_sparsity
from discreet.secagg.graph import ChosenGraph, HararyGraph
from discreet.secagg.hazmat.prg import add_masks
from discreet.secagg.modes import Mode
from discreet.secagg.server.rounds import ServerRound
from discreet.secagg.transitions import ServerState
from rows import Row, keep
from secagg_sparse import released_round, sparse_agreement

T = TypeVar("T")

BITS = 32
REPEATS = 3


class Parties:
    """All parties of one epoch, every call timed by who makes it."""

    def __init__(
        self,
        protocol: Bonawitz | Bell,
        terms: SumTerms,
        threads: int = 1,
        clock: Callable[[], float] = time.process_time,
    ) -> None:
        self.clock = clock
        identities = {name: Identity.generate(SeededRandom(3).derive(name)) for name in terms.clients}
        allow_list = AllowList({name: identity.public_key for name, identity in identities.items()})
        self.agreement = protocol.agreement(terms, allow_list)
        self.names = terms.clients
        self.server = ServerSession(self.agreement, 1, threads=threads)
        self.clients = {
            name: ClientSession(
                self.agreement,
                name,
                1,
                identity=identities[name],
                randomness=SeededRandom(4).derive(name),
                journal=MemoryJournal(),
                threads=threads,
            )
            for name in self.names
        }
        self.client_seconds = dict.fromkeys(self.names, 0.0)
        self.server_seconds = 0.0
        self.client_bytes = dict.fromkeys(self.names, 0)

    def client(self, name: str, action: Callable[[], bytes | None]) -> bytes | None:
        """Runs one step of a client."""
        start = self.clock()
        reply = action()
        self.client_seconds[name] += self.clock() - start
        if reply is not None:
            self.client_bytes[name] += len(reply)
        return reply

    def serve(self, action: Callable[[], T]) -> T:
        """Runs one step of the server."""
        start = self.clock()
        result = action()
        self.server_seconds += self.clock() - start
        return result

    def upload(self, name: str, reply: bytes | None) -> None:
        """Hands what a client answers, if it does, to the server."""
        if reply is not None:
            self.serve(partial(self.server.receive, name, reply))

    def exchange(self, outgoing: dict[str, bytes], gone: frozenset[str] = frozenset()) -> dict[str, bytes]:
        """Delivers, uploads the answers at once, and closes the stage."""
        for name, data in outgoing.items():
            if name in gone:
                continue
            self.client_bytes[name] += len(data)
            self.upload(name, self.client(name, partial(self.clients[name].receive, data)))
        answers: dict[str, bytes] = self.serve(self.server.close_stage)
        return answers

    def set_up(self) -> None:
        """Advertises and shares; everyone takes part."""
        for name in self.names:
            self.upload(name, self.client(name, self.clients[name].start))
        outgoing = self.serve(self.server.close_stage)
        while self.server.state is not ServerState.READY:
            outgoing = self.exchange(outgoing)
        for name, data in outgoing.items():
            self.client_bytes[name] += len(data)
            self.client(name, partial(self.clients[name].receive, data))

    def round(self, vector: np.ndarray, gone: frozenset[str], index: int = 0) -> np.ndarray:
        """Sums one vector from everyone who is not gone."""
        start = self.serve(lambda: self.server.begin_round(RoundTerms(index, 0, bytes(32)), self.names))
        for name in self.names:
            if name in gone:
                continue
            client = self.clients[name]
            self.client(name, partial(client.receive, start[name]))
            self.upload(name, self.client(name, partial(client.submit, vector)))
        outgoing = self.serve(self.server.close_stage)
        while outgoing:
            outgoing = self.exchange(outgoing, gone)
        return self.server.result().total

    def reset(self) -> None:
        """Starts the clocks anew."""
        self.client_seconds = dict.fromkeys(self.names, 0.0)
        self.server_seconds = 0.0


def client_names(count: int) -> tuple[str, ...]:
    return tuple(f"client-{index:04d}" for index in range(count))


def complete_terms(n: int, length: int, mode: Malicious | SemiHonest) -> SumTerms:
    survivors, colluding = n - n // 10, n // 10
    threshold = default_threshold(n, survivors, colluding, mode)
    return SumTerms(bytes(32), client_names(n), threshold, survivors, colluding, BITS, length, bytes(32))


def report(what: str, value: float, unit: str, bar: float | None = None) -> None:
    verdict = "" if bar is None else f"   bar {bar:g} {unit}: {'met' if value <= bar else 'MISSED'}"
    print(f"{what:<66} {value:>10.3f} {unit}{verdict}", flush=True)


def ratio(what: str, where: str, value: float) -> None:
    """Prints a cost over that of the cipher alone, and keeps it."""
    report(f"    {what.partition(',')[0]}", value, "x")
    keep(Row(f"{what}, {where}", value, "×", 1.2))


def best(action: Callable[[], float]) -> float:
    return min(action() for _ in range(REPEATS))


def keystream(num_masks: int, length: int) -> float:
    """Returns the seconds of the cipher alone, for this many masks of 32-bit words."""
    chunk, num_bytes = bytes(1 << 18), 4 * length
    out = bytearray(len(chunk))
    start = time.process_time()
    for index in range(num_masks):
        key = index.to_bytes(32, "big")
        stream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()
        for at in range(0, num_bytes, len(chunk)):
            part = memoryview(chunk)[: num_bytes - at]
            stream.update_into(part, memoryview(out)[: len(part)])
    return time.process_time() - start


def bench_masks(length: int) -> None:
    """Mask expansion and addition against the cipher alone, over the same bytes, in turns."""
    keys = [bytes([index]) * 32 for index in range(32)]
    vector = np.zeros(length, dtype=np.uint32)

    def masks() -> float:
        start = time.process_time()
        add_masks(vector, keys, [])
        return time.process_time() - start

    pairs = [(keystream(len(keys), length), masks()) for _ in range(3 * REPEATS)]
    alone, fused = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    gigabytes = len(keys) * vector.nbytes / 1e9
    report("AES-256-CTR keystream alone", gigabytes / alone, "GB/s")
    report("mask expansion + add", gigabytes / fused, "GB/s")
    report("mask expansion + add / keystream alone", fused / alone, "x", 1.3)


def bench_round(length: int) -> None:
    """Client and server, n = 100, complete graph, a tenth dropped out after the setup.

    Each round stands between two measurements of the keystream that a client needs, 100 masks; the server
    needs one for every survivor and for every pair of a survivor and a dropout.
    """
    n, gone_count = 100, 10
    needed = (n - gone_count) * (1 + gone_count)
    for mode in (SemiHonest(), Malicious()):
        parties = Parties(Bonawitz(mode, rounds_per_setup=REPEATS), complete_terms(n, length, mode))
        parties.set_up()
        gone = frozenset(parties.names[:gone_count])
        clients, servers, alone = [], [], [keystream(n, length)]
        for index in range(REPEATS):
            whole_round(parties, length, gone, index)
            clients += [seconds for name, seconds in parties.client_seconds.items() if name not in gone]
            servers.append(parties.server_seconds)
            alone.append(keystream(n, length))
        cipher = float(np.median(alone))
        where = f"{mode.name}, n={n}, d={length:.0e}"
        report(f"client, whole round, {where}, median", 1e3 * float(np.median(clients)), "ms", 80)
        ratio("client's round over its keystream", where, float(np.median(clients)) / cipher)
        report(f"server, whole round, {where}, 10 % dropped", min(servers), "s", 0.8)
        over = float(np.median(servers)) / (cipher * needed / n)
        ratio("server's round over its keystream, 10 % dropped", where, over)


def whole_round(parties: Parties, length: int, gone: frozenset[str], index: int) -> None:
    """Sums one vector with fresh clocks, and checks the sum."""
    vector = np.arange(length, dtype=np.int64) % 1000
    parties.reset()
    total = parties.round(vector, gone, index)
    if not np.array_equal(total, (vector * (len(parties.names) - len(gone))).astype(np.uint64)):
        raise SystemExit("wrong sum")


def bench_threads(length: int) -> None:
    """Wall clock of one thread over that of two, in turns; it takes a second processor that is free."""
    keys = [bytes([index]) * 32 for index in range(64)]
    vector = np.zeros(length, dtype=np.uint32)

    def timed(threads: int) -> float:
        start = time.perf_counter()
        add_masks(vector, keys, [], threads=threads)
        return time.perf_counter() - start

    pairs = [(timed(1), timed(2)) for _ in range(REPEATS)]
    speed_up("two threads on one mask", min(a for a, _ in pairs) / min(b for _, b in pairs))
    clocks: dict[int, tuple[list[float], list[float]]] = {1: ([], []), 2: ([], [])}
    worlds = {}
    for threads in clocks:
        protocol = Bonawitz(SemiHonest(), rounds_per_setup=REPEATS)
        terms = complete_terms(100, length // 4, SemiHonest())
        worlds[threads] = Parties(protocol, terms, threads, clock=time.perf_counter)
        worlds[threads].set_up()
    for index in range(REPEATS):
        for threads, parties in worlds.items():
            gone = frozenset(parties.names[:10])
            whole_round(parties, length // 4, gone, index)
            active = [seconds for name, seconds in parties.client_seconds.items() if name not in gone]
            clocks[threads][0].append(float(np.median(active)))
            clocks[threads][1].append(parties.server_seconds)
    for number, who in enumerate(("client", "server, 10 % dropped")):
        gained = min(clocks[1][number]) / min(clocks[2][number])
        speed_up(f"two threads, {who}, whole round, n=100, d={length // 4:.0e}", gained)


def speed_up(what: str, value: float) -> None:
    """Prints how many times as fast two threads are, and keeps it."""
    report(f"{what}, speed-up", value, "x")
    keep(Row(f"{what}, against one", value, "×", 1.7, more_is_better=True))


def bench_control() -> None:
    """Everything but the vectors: setup for one round, and the round, at d = 1."""
    n = 100
    clients, servers = [], []
    for _ in range(REPEATS):
        parties = Parties(Bonawitz(Malicious(), rounds_per_setup=1), complete_terms(n, 1, Malicious()))
        parties.set_up()
        parties.round(np.ones(1, dtype=np.int64), frozenset(parties.names[: n // 10]))
        clients.append(float(np.median(list(parties.client_seconds.values()))))
        servers.append(parties.server_seconds)
    report(f"control plane of a client, n={n}, malicious, setup + round", 1e3 * min(clients), "ms", 60)
    report(f"control plane of the server, n={n}, 10 % dropped", 1e3 * min(servers), "ms")


def bench_sparse(length: int) -> None:
    """Sparse graphs of 1000 clients: the server takes off the masks of 100 dropouts.

    The server's own round object is timed on shares that its clients would have released; 1000 full client
    sessions would take minutes and are what the tests run at smaller sizes.
    """
    n, bad = 1000, 100
    names = client_names(n)
    honest, malicious = (find_sparsity(n, bad, bad, mode) for mode in (SemiHonest(), SemiMalicious()))
    cases: list[tuple[Mode, HararyGraph | ChosenGraph, int, float | None]] = [
        (SemiHonest(), HararyGraph(honest.degree), honest.threshold, None),
        (SemiHonest(), HararyGraph(100), 60, 9.0),
        (SemiMalicious(), ChosenGraph(malicious.degree, n), malicious.threshold, 8.0),
    ]
    for mode, graph, threshold, bar in cases:
        terms = SumTerms(bytes(32), names, threshold, n - bad, bad, BITS, length, bytes(32))
        agreement = sparse_agreement(terms, mode, graph)
        current = released_round(agreement, bad)
        masks = count_masks(current)
        start = time.process_time()
        current.finish(threads=1)
        seconds = time.process_time() - start
        what = f"server unmasks, n={n}, k={graph.degree} {mode.name}, {masks} masks"
        report(what, seconds, "s", bar)
        keep(Row(what, seconds, "s", bar))
        report("    over its keystream", 100 * seconds / (masks * keystream(100, length)), "x")
        current = released_round(agreement, bad)
        start = time.perf_counter()
        current.finish(threads=2)
        report("    wall clock on two threads", time.perf_counter() - start, "s")


def count_masks(current: ServerRound) -> int:
    edges = sum(len(current.setup.graph[gone].maskers & current.arrived) for gone in current.dropouts)
    return len(current.arrived) + edges


def bench_memory(length: int) -> None:
    """Peak memory of the server, uploads included, one at a time as a driver feeds them."""
    parties = Parties(Bonawitz(Malicious(), rounds_per_setup=1), complete_terms(10, length, Malicious()))
    parties.set_up()
    gone = frozenset(parties.names[:1])
    vector = np.zeros(length, dtype=np.int64)
    with tempfile.TemporaryDirectory() as folder:
        tracemalloc.start()
        start = parties.server.begin_round(RoundTerms(0, 0, bytes(32)), parties.names)
        for name in parties.names:
            if name not in gone:
                parties.clients[name].receive(start[name])
                Path(folder, name).write_bytes(parties.clients[name].submit(vector))
        tracemalloc.reset_peak()
        for name in parties.names:
            if name not in gone:
                parties.server.receive(name, Path(folder, name).read_bytes())
        outgoing = parties.server.close_stage()
        while outgoing:
            outgoing = parties.exchange(outgoing, gone)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    report("peak memory of the server / one accumulator (4 d bytes)", peak / (4 * length), "x", 3.05)


def bench_peer(python: str, n: int, length: int) -> None:
    """Ours and Flower's SecAgg+ on the same n, d, threshold and dropouts, one after the other."""
    dropped = n // 10
    terms = complete_terms(n, length, SemiHonest())
    script = Path(__file__).with_name("secagg_flower.py")
    sizes = ["--clients", n, "--length", length, "--threshold", terms.threshold, "--dropped", dropped]
    done = subprocess.run(
        [python, str(script), *map(str, sizes)], capture_output=True, text=True, check=False, env=one_thread()
    )
    if done.returncode:
        sys.exit(f"the peer failed; it needs an environment with flwr==1.41.0.\n{done.stderr[-2000:]}")
    peer = json.loads(done.stdout.splitlines()[-1])
    parties = Parties(Bonawitz(SemiHonest(), rounds_per_setup=1), terms)
    parties.set_up()
    gone = frozenset(parties.names[:dropped])
    parties.round(np.ones(length, dtype=np.int64), gone)
    survivor = parties.names[-1]
    ours = (parties.client_seconds[survivor], parties.server_seconds, parties.client_bytes[survivor])
    theirs = (sum(peer["client"].values()), sum(peer["server"].values()), peer["client_bytes"])
    print(f"\nn={n}, d={length:.0e}, {dropped} dropped, threshold {terms.threshold}, setup included")
    print(f"{'':<24}{'discreet':>14}{'Flower SecAgg+':>18}{'ratio':>10}")
    for label, own, other in zip(("client s", "server s", "bytes of a client"), ours, theirs, strict=True):
        print(f"{label:<24}{own:>14.3f}{other:>18.3f}{other / own:>9.1f}x", flush=True)
        keep(Row(f"Flower's SecAgg+ over ours, n={n}, d={length:.0e}: {label}", other / own, "×"))


def one_thread() -> dict[str, str]:
    return os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def main() -> None:
    sections: dict[str, Callable[[], None]] = {
        "masks": lambda: bench_masks(1_000_000),
        "threads": lambda: bench_threads(4_000_000),
        "round": lambda: bench_round(1_000_000),
        "control": bench_control,
        "memory": lambda: bench_memory(2_000_000),
        "sparse": lambda: bench_sparse(1_000_000),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=[*sections, "peer"], default=list(sections))
    parser.add_argument("--peer-python", help="a Python that can import flwr==1.41.0")
    parser.add_argument("--peer-clients", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--peer-length", type=int, default=1_000_000)
    options = parser.parse_args()
    print(f"{platform.machine()}, Python {platform.python_version()}, numpy {np.__version__}")
    for name in options.only:
        if name in sections:
            sections[name]()
    if options.peer_python is None:
        print("side by side: python -m venv peer && peer/bin/pip install flwr==1.41.0, then --peer-python")
        return
    for n in options.peer_clients:
        bench_peer(options.peer_python, n, options.peer_length)


if __name__ == "__main__":
    main()
