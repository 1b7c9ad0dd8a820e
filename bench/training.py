"""How much a private step costs over the same plain SGD step, as ratios measured in one interleaved run.

    python bench/training.py                        # steps and memory
    python bench/training.py --peer-python PY       # adds Opacus, from an environment that has it

Every row is a batch of 512 images of 28 x 28; the baseline is torch's own forward, backward and update in
the default layout. Rounds are interleaved and the medians of the ratios are printed, so that a busy machine
disturbs all rows alike; ``--clock cpu --threads 1`` counts processor time and is steadier still.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

# As the `discreet` command sets it: numpy's threads and torch's would wait for each other.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from discreet.data.records import Records
from discreet.kinds import FLAT, ClippedUpdate
from discreet.learning import local_update
from discreet.learning.clipped_update import clipped_updates, takes_part
from discreet.learning.clipping import clipped_gradient_sum
from discreet.learning.losses import record_losses
from discreet.learning.objective import Client
from discreet.models import build_model, flatten
from discreet.randomness import SeededRandom
from rows import Row, keep

BATCH, CLIP_NORM, RATE = 512, 1.0, 1e-3
MEMORY_BATCH = 8192  # large enough to stand out from what importing torch takes
GOALS = {"cnn-tanh": 1.0, "logistic": 1.0, "mlp": 1.3}  # a private step's time over plain SGD's
CLIENTS = (("logistic", (785,)), ("mlp", (8, 8)), ("mlp", (28, 28)))
OPACUS = Path(__file__).with_name("opacus_step.py")

Step = Callable[[], None]
Clock = Callable[[], float]
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}


def records(count: int = BATCH) -> Records:
    rng = np.random.default_rng(0)
    return Records(rng.random((count, 28, 28), dtype=np.float32), rng.integers(0, 10, count))


def plain_step(name: str, *, channels_last: bool = False, batch: int = BATCH) -> Step:
    """One step of torch.optim.SGD on the mean loss."""
    model, data = build_model(name, (28, 28), 10, seed=0), records(batch)
    if channels_last:
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    features, labels = torch.from_numpy(data.features), torch.from_numpy(data.labels)
    optimiser = torch.optim.SGD(model.parameters(), lr=RATE)

    def step() -> None:
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(features), labels).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    return step


def private_step(name: str, *, batch: int = BATCH) -> Step:
    """One clipped sum and the same update of the flat parameters."""
    model, data = build_model(name, (28, 28), 10, seed=0), records(batch)
    state = {"parameters": flatten(model)}

    def step() -> None:
        total = clipped_gradient_sum(
            model, state["parameters"], data, clip_norm=CLIP_NORM, style=FLAT, randomness=SeededRandom(0)
        )
        state["parameters"] = state["parameters"] - RATE / batch * total.vector

    return step


def vmap_step(name: str) -> Step:
    """Per-record gradients by torch.func.vmap, clipped and summed in float32."""
    model, data = build_model(name, (28, 28), 10, seed=0), records()
    features, labels = torch.from_numpy(data.features), torch.from_numpy(data.labels)
    params = {key: param.detach() for key, param in model.named_parameters()}

    def loss_of(values: dict[str, torch.Tensor], one: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return record_losses(functional_call(model, values, (one[None],)), label[None])[0]

    per_record = vmap(grad(loss_of), in_dims=(None, 0, 0))

    def step() -> None:
        gradients = per_record(params, features, labels)
        norms = torch.stack([g.flatten(1).square().sum(1) for g in gradients.values()]).sum(0).sqrt()
        factors = CLIP_NORM / norms.clamp(min=CLIP_NORM)
        for key, value in gradients.items():
            params[key] = params[key] - RATE / BATCH * (factors @ value.flatten(1)).view_as(params[key])

    return step


def measure(steps: dict[str, Step], rounds: int, clock: Clock) -> dict[str, tuple[float, float]]:
    """Returns for each row the median time in milliseconds and the median ratio to the first row."""
    times: dict[str, list[float]] = {name: [] for name in steps}
    for step in steps.values():
        step()
    for _ in range(rounds):
        for name, step in steps.items():
            start = clock()
            step()
            times[name].append(clock() - start)
    base = np.array(next(iter(times.values())))
    return {
        name: (float(np.median(row)) * 1e3, float(np.median(np.array(row) / base)))
        for name, row in times.items()
    }


def peak_bytes(row: str, name: str) -> int:
    """Returns by how much a fresh process grows while it runs three steps."""
    output = subprocess.run(
        [sys.executable, __file__, "--memory-of", row, "--model", name],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return int(output.stdout)


def report_memory(row: str, name: str) -> None:
    step = {"plain SGD": plain_step, "discreet": private_step}[row](name, batch=MEMORY_BATCH)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3):
        step()
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)


def report_steps(name: str, rounds: int, clock: Clock, threads: int) -> None:
    rows = {"plain SGD": plain_step(name), "discreet": private_step(name), "torch.func vmap": vmap_step(name)}
    if name.startswith("cnn"):
        rows["plain SGD, channels-last"] = plain_step(name, channels_last=True)
    for row, (milliseconds, ratio) in measure(rows, rounds, clock).items():
        print(f"  {row:28s} {milliseconds:8.1f} ms  {ratio:5.2f} x plain")
        if row == "discreet":
            keep(Row(f"private step over plain SGD, `{name}`, threads: {threads}", ratio, "×", GOALS[name]))


def clients(count: int, shape: tuple[int, ...]) -> list[Records]:
    """P3's clients: 50 records each."""
    rng = np.random.default_rng(0)
    return [
        Records(rng.random((50, *shape), dtype=np.float32), rng.integers(0, 10, 50)) for _ in range(count)
    ]


def torch_clients(model: nn.Module, silos: list[Records]) -> Step:
    """The steps of P3's clients by torch.optim.SGD, one client after the other, clipped once at the end."""
    start = {name: value.clone() for name, value in model.state_dict().items()}

    def step() -> None:
        for silo in silos:
            model.load_state_dict(start)
            features, labels = torch.from_numpy(silo.features), torch.from_numpy(silo.labels)
            optimiser = torch.optim.SGD(model.parameters(), lr=0.01, weight_decay=4e-5)
            for _ in range(5):
                for rows in torch.split(torch.randperm(50), 10):
                    optimiser.zero_grad()
                    nn.functional.cross_entropy(model(features[rows]), labels[rows]).backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
            moved = torch.cat([(value - start[name]).flatten() for name, value in model.state_dict().items()])
            moved *= min(1.0, 0.3 / float(moved.norm()))

    return step


def report_clients(name: str, shape: tuple[int, ...], rounds: int, count: int = 50) -> None:
    """What training small clients costs, one after the other and together: P3's setting, all take part."""
    silos = clients(count, shape)
    kind = ClippedUpdate(0.3, 0.01, 10, epochs=5, weight_decay=4e-5, project_steps=True)
    model = build_model(name, shape, 10, seed=0)
    parameters = flatten(model)

    def alone() -> None:
        for number, silo in enumerate(silos):
            local_update(kind, model, parameters, silo, SeededRandom(number))

    def together() -> None:
        crowd = [Client(silo, SeededRandom(number)) for number, silo in enumerate(silos)]
        list(clipped_updates(kind, model, parameters, [one for one in crowd if takes_part(kind, one)]))

    peer = torch_clients(build_model(name, shape, 10, seed=0), silos)
    print(f"{count} clients of 50 records of shape {shape}, 5 epochs in batches of 10, {name}")
    steps: dict[str, Step] = {"torch.optim.SGD": peer, "discreet, one by one": alone, "discreet": together}
    for row, (milliseconds, ratio) in measure(steps, rounds, CLOCKS["wall"]).items():
        print(f"  {row:28s} {milliseconds / count:8.2f} ms a client  {ratio:5.2f} x torch")


def report_peer(peer_python: str, rounds: int, threads: int, clock: str) -> None:
    output = subprocess.run(
        [peer_python, str(OPACUS), str(rounds), str(threads), clock],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    for row, (milliseconds, ratio) in json.loads(output.stdout).items():
        print(f"  {row:28s} {milliseconds:8.1f} ms  {ratio:5.2f} x plain, in its own process")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, nargs="*", default=[2, 1])
    parser.add_argument("--peer-python", help="a Python that has torch and opacus")
    parser.add_argument(
        "--clock", choices=tuple(CLOCKS), default="wall", help="cpu: for a busy machine, 1 thread"
    )
    parser.add_argument("--memory-of", help=argparse.SUPPRESS)
    parser.add_argument("--model", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.memory_of:
        report_memory(args.memory_of, args.model)
        return
    for threads in args.threads:
        torch.set_num_threads(threads)
        for name in GOALS:
            print(f"{name}, batch {BATCH}, {threads} thread(s)")
            report_steps(name, args.rounds, CLOCKS[args.clock], threads)
            if args.peer_python and name == "cnn-tanh":
                report_peer(args.peer_python, args.rounds, threads, args.clock)
    plain, private = peak_bytes("plain SGD", "cnn-tanh"), peak_bytes("discreet", "cnn-tanh")
    for name, shape in CLIENTS:
        report_clients(name, shape, rounds=5)
    sizes = f"{private >> 20} MiB, plain SGD {plain >> 20} MiB"
    print(f"memory that a step of {MEMORY_BATCH} adds, cnn-tanh: {sizes}")


if __name__ == "__main__":
    main()
