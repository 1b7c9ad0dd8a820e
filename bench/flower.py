"""Training over real silos, measured: phases, bytes, large models, overhead, deployments, a sleeping node.

    python bench/flower.py --only phases large                 # in this process, seconds
    python bench/flower.py --only overhead up one-phase kill slow   # real SuperLink and SuperNodes, minutes

Needs the extra: pip install 'discreet[flower]'. Every ratio comes from one run on one machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import statistics
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
from torch import nn

from discreet.config import Config, parse_config
from discreet.engines.flower.consortium import ConsortiumFolder, rehearse
from discreet.engines.flower.engine import FlowerEngine
from discreet.engines.flower.project import write_app
from discreet.engines.flower.up import bring_up
from discreet.engines.flower.up.deployment import Settings, environment, start
from discreet.engines.flower.up.keeper import descendants
from discreet.engines.flower.up.processes import Children
from discreet.engines.flower.wire import NodeId, Posted
from discreet.models import build_model, flatten
from discreet.plan import Plan
from discreet.randomness import SeededRandom
from discreet.rounds import RoundOrder
from discreet.secagg import Bonawitz
from discreet.silo.requests import Deliver, Replied, decode, encode
from discreet.silo.silo import Silo, Surroundings, open_silo

# Message exchanges of a healthy round in the malicious mode; `phases` counts them.
PHASES = 2

EMPTY_SERVER = """
import json, time
from pathlib import Path
from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from discreet.engines.flower.grid_wire import GridWire
from discreet.engines.flower.wire import exchange
app = ServerApp()

@app.main()
def main(grid: Grid, context: Context) -> None:
    wire, seconds = GridWire(grid), []
    while len(wire.nodes()) < int(context.run_config["silos"]):
        time.sleep(0.5)
    for number in range(int(context.run_config["rounds"])):
        began = time.monotonic()
        for phase in range(int(context.run_config["phases"])):
            bodies = dict.fromkeys(wire.nodes(), f"{number} {phase}".encode())
            exchange(wire, bodies, label=str(number), patience_seconds=120.0)
        seconds.append(time.monotonic() - began)
    Path(str(context.run_config["out"])).write_text(json.dumps(seconds))
"""

EMPTY_CLIENT = """
from flwr.app import Context, Message
from flwr.clientapp import ClientApp
app = ClientApp()

@app.query("discreet")
def answer(message: Message, context: Context) -> Message:
    return Message(message.content, reply_to=message)
"""


def wide(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """A model of ten million weights."""
    hidden = 10_000_000 // (feature_shape[0] + num_classes)
    return nn.Sequential(
        nn.Linear(feature_shape[0], hidden, bias=False), nn.ReLU(), nn.Linear(hidden, num_classes, bias=False)
    )


def heart(rounds: int, mode: str = "malicious") -> Config:
    """The heart-disease federation: four silos."""
    return parse_config(
        {
            "name": "heart",
            "data": {
                "source": "heart-disease",
                "record_capacity": {
                    "cleveland": 260,
                    "hungary": 225,
                    "switzerland": 50,
                    "long_beach_va": 120,
                },
            },
            "training": {
                "rounds": rounds,
                "local": {"kind": "stable-steps", "learning_rate": 0.03, "steps": 4},
            },
            "privacy": {"epsilon": 1.0, "delta": 1e-5},
            "aggregation": {"mode": mode, "min_survivors": 3, "max_colluding": 1},
            "run": {"evaluate": False},
        }
    )


def complain(line: str) -> None:
    """Shows why a silo would not do what the bench asks."""
    if line.startswith(("refused", "failed")):
        print(line)


@dataclass
class CountingWire:
    """Hands requests to silos in this process; counts exchanges, and bytes by kind of message."""

    silos: Mapping[NodeId, Silo]
    exchanges: int = 0
    masked_bytes: int = 0
    _replies: dict[str, bytes | None] = field(default_factory=dict)

    def nodes(self) -> tuple[NodeId, ...]:
        """Returns all nodes."""
        return tuple(self.silos)

    def post(self, requests: Mapping[NodeId, bytes], *, label: str, lifetime_seconds: float) -> Posted:
        """Answers at once."""
        del label, lifetime_seconds
        self.exchanges += bool(requests)
        for node, body in requests.items():
            request = decode(body)
            reply = self.silos[node].handle(request)  # type: ignore[arg-type] # the engine posts requests
            encoded = encode(reply)
            if isinstance(request, Deliver) and request.parameters and isinstance(reply, Replied):
                self.masked_bytes = len(encoded)
            self._replies[str(node)] = encoded
        return {str(node): node for node in requests}

    def collect(self, posted: Posted) -> dict[str, bytes | None]:
        """Returns the answers."""
        return {message: self._replies.pop(message) for message in posted}


def rounds_in_process(
    config: Config, folder: Path, rounds: int, protocol: Bonawitz | None = None
) -> tuple[Plan, CountingWire, list[float], list[int]]:
    """Runs rounds over silos in this process; returns seconds and exchanges of each."""
    plan = rehearse(config, folder)
    layout = ConsortiumFolder(folder)
    silos = {
        number: open_silo(layout.policy(name), Surroundings(log=complain))
        for number, name in enumerate(plan.facts.silos)
    }
    wire = CountingWire(silos)
    engine = FlowerEngine(
        layout.server.proposal(), wire, SeededRandom(1), patience_seconds=1.0, announce=lambda _: None,
        protocol=protocol,
    )  # fmt: skip
    engine.open()
    facts = plan.facts
    model = build_model(config.model.name, facts.feature_shape, facts.num_classes, seed=config.model.seed)
    seconds, exchanges = [], []
    for number in range(1, rounds + 1):
        before, began = wire.exchanges, time.perf_counter()
        engine.sum_round(RoundOrder(number, number, flatten(model)))
        seconds.append(time.perf_counter() - began)
        exchanges.append(wire.exchanges - before)
    for silo in silos.values():
        silo.close()
    return plan, wire, seconds, exchanges


def phases(folder: Path) -> None:
    """Message exchanges of a healthy round in each mode, and what our layers cost without Flower."""
    for mode in ("one-phase", "semi-honest", "malicious"):
        _, _, seconds, exchanges = rounds_in_process(heart(5, mode), folder / mode, 5)
        print(
            f"phases  {mode}: exchanges in a healthy round {max(exchanges[1:])}, "
            f"{1e3 * statistics.median(seconds):.1f} ms a round of four silos in one process"
        )


def large(folder: Path) -> None:
    """Ten million weights through silos, masks and engine."""
    generator = np.random.default_rng(0)
    records = folder / "records.npz"
    np.savez(
        records,
        x=generator.normal(size=(90, 1000)).astype(np.float32),
        y=generator.integers(0, 10, 90),
        silo=np.repeat(["a", "b", "c"], 30),
        classes=np.arange(10),
    )
    config = parse_config(
        {
            "name": "large",
            "data": {"source": f"npz:{records}", "record_capacity": 40},
            "model": {"name": "flower:wide"},
            "training": {
                "rounds": 2,
                "local": {"kind": "clipped-update", "learning_rate": 0.01, "batch_size": 30},
            },
            "privacy": {"unit": "client", "epsilon": 8.0, "delta": 1e-3, "clip_norm": 1.0},
            "run": {"evaluate": False},
        }
    )
    plan, wire, seconds, _ = rounds_in_process(config, folder / "large", 2)
    planned = plan.facts.dimension * plan.grid.bits / 8
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"large   {plan.facts.dimension:,} weights, {plan.grid.bits} bits: {wire.masked_bytes:,} bytes "
        f"a masked vector, {wire.masked_bytes / planned:.6f} of bits/8; {statistics.median(seconds):.1f} s "
        f"a round of three silos and the server in one process, peak memory {peak:.2f} GiB for all four"
    )


def overhead(folder: Path, rounds: int) -> None:
    """Our rounds against empty Flower rounds of as many phases, over the same running processes."""
    config = heart(rounds)
    plan = rehearse(config, folder / "c")
    layout = ConsortiumFolder(folder / "c")
    (folder / "empty").mkdir()
    write_app(layout.path / "app")
    text = (layout.path / "app" / "pyproject.toml").read_text()
    for name, body in (("empty_server", EMPTY_SERVER), ("empty_client", EMPTY_CLIENT), ("__init__", "")):
        path = folder / "empty" / "emptyapp" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(body)
    text = text.replace("discreet.engines.flower.server_app", "emptyapp.empty_server")
    text = text.replace("discreet.engines.flower.client_app", "emptyapp.empty_client")
    text += '\nsilos = 4\nrounds = 1\nphases = 1\nout = ""\n'
    (folder / "empty" / "pyproject.toml").write_text(text)
    (folder / "empty" / "LICENSE").write_text("none\n")
    empty_out = folder / "empty.json"
    with (
        tempfile.TemporaryDirectory(prefix="discreet-") as sockets,
        Children(folder / "logs", environment(folder / "home")) as children,
    ):
        deployment = start(layout, plan, children, Settings(Path(sockets), None), lambda _: None)
        deployment.submit(folder / "empty", f'rounds={rounds} phases={PHASES} silos=4 out="{empty_out}"')
        await_file(empty_out)
        deployment.submit(layout.path / "app", f'folder="{layout.server.path}" patience=120.0')
        await_file(layout.server.outcome)
    empty = json.loads(empty_out.read_text())[1:]
    ours = [json.loads(line)["seconds"] for line in layout.server.run.metrics.read_text().splitlines()][1:]
    own, bare = statistics.median(ours), statistics.median(empty)
    print(
        f"overhead median of {len(ours)} rounds of {PHASES} phases: {own:.1f} s against {bare:.1f} s empty, "
        f"ratio {own / bare:.3f}"
    )


def await_file(path: Path, seconds: float = 900.0) -> None:
    """Waits for a file that another process writes."""
    deadline = time.monotonic() + seconds
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(path.name)
        time.sleep(0.2)
    time.sleep(0.5)


def up(folder: Path, kill: str | None, mode: str = "malicious") -> None:
    """Ten rounds over four SuperNodes with TLS and authentication."""
    done = bring_up(
        heart(10, mode),
        folder / "up",
        silos=4,
        kill=kill,
        port=None,
        patience_seconds=30.0,
        announce=lambda _: None,
    )
    guarantee = done.outcome["guarantee"]
    lines = done.folder.server.run.metrics.read_text().splitlines()
    seconds = statistics.median(json.loads(line)["seconds"] for line in lines)
    print(
        f"up      4 silos, 10 rounds, {mode}, TLS and node authentication"
        f"{f', {kill} killed' if kill else ''}: {done.seconds:.0f} s in all, median round {seconds:.1f} s; "
        f"from the survivors of every round epsilon {guarantee['epsilon']:.4f} "
        f"(planned {done.plan.spent(10).epsilon:.4f})"
    )


@dataclass
class Sleeper:
    """Stops one SuperNode at a sum and wakes it at the next, again and again; notes when sums are made.

    Sums with it asleep and with it awake alternate, so that what else the machine does weighs on both alike.
    A server that waited for it would make no sum until its patience ends: only a sum wakes it.
    """

    folder: Path
    silo: str
    sums: int
    made: list[float] = field(default_factory=list)
    _stopped: list[int] = field(default_factory=list)

    def __call__(self, line: str) -> None:
        """Hears a line of the deployment."""
        if line.startswith("round "):
            self.made.append(time.monotonic())
            self._signal(self._stopped, signal.SIGCONT)
            asleep = len(self.made) % 2 == 1 and len(self.made) < self.sums
            self._stopped = self._family() if asleep else []
            self._signal(self._stopped, signal.SIGSTOP)

    def _family(self) -> list[int]:
        key = str(self.folder / "silos" / self.silo / "supernode.key")
        roots = [number for number in _processes() if key in _command_line(number)]
        return [*roots, *(process.number for root in roots for process in descendants(root))]

    @staticmethod
    def _signal(numbers: list[int], which: signal.Signals) -> None:
        for number in numbers:
            with suppress(ProcessLookupError):
                os.kill(number, which)

    def between(self) -> tuple[list[float], list[float]]:
        """Returns the seconds of the sums made while it slept, and of those made while it was awake."""
        gaps = [after - before for before, after in pairwise(self.made[: self.sums])]
        return gaps[::2], gaps[1::2]


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _command_line(number: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def slow(folder: Path, contributions: int = 16) -> None:
    """A SuperNode that sleeps while the others are summed by a timetable that does not need it yet."""
    stated = heart(contributions).model_dump(mode="json", exclude_none=True)
    stated["training"]["schedule"] = {"kind": "buffered", "buffer": 3, "pace": {"switzerland": contributions}}
    sleeper = Sleeper(folder / "up", "switzerland", sums=contributions - 1)
    done = bring_up(
        parse_config(stated), folder / "up", silos=4, kill=None, port=None, patience_seconds=60.0,
        announce=sleeper,
    )  # fmt: skip
    asleep, awake = map(statistics.median, sleeper.between())
    lines = [json.loads(line) for line in done.folder.server.run.metrics.read_text().splitlines()]
    (own,) = (line["release"] for line in lines if "switzerland" in line["survivors"])
    print(
        f"slow    4 silos, {len(lines)} sums, TLS and node authentication, one SuperNode asleep in every "
        f"other one: median {asleep:.1f} s asleep, {awake:.1f} s awake, ratio {asleep / awake:.2f}, longest "
        f"asleep {max(sleeper.between()[0]):.1f} s; it is in its own sum, {own}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parts = ("phases", "large", "overhead", "up", "one-phase", "kill", "slow")
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--rounds", type=int, default=6, help="rounds of the overhead comparison")
    options = parser.parse_args()
    for part in options.only:
        with tempfile.TemporaryDirectory(prefix="bench-flower-") as name:
            folder = Path(name)
            match part:
                case "phases":
                    phases(folder)
                case "large":
                    large(folder)
                case "overhead":
                    overhead(folder, options.rounds)
                case "up":
                    up(folder, None)
                case "one-phase":
                    up(folder, None, "one-phase")
                case "slow":
                    slow(folder)
                case _:
                    up(folder, "silo-2@round-3")


if __name__ == "__main__":
    main()
