"""Five clinics, their images, and a network of one's own, without a config file: plan, train, check, predict.

The images are the bundled digits, dealt out here. Tensors and data sets of torch work in the arrays' place.
"""

import numpy as np
from torch import nn

import discreet
from discreet.data import IidSilos


def small_network(feature_shape: tuple[int, ...], num_classes: int) -> nn.Module:
    """One convolution and one dense layer; nothing in it mixes records."""
    channels, rows, columns = feature_shape
    inside = 8 * (rows - 2) * (columns - 2)
    return nn.Sequential(
        nn.Conv2d(channels, 8, kernel_size=3), nn.Tanh(), nn.Flatten(), nn.Linear(inside, num_classes)
    )


def images_and_digits(silo: discreet.Silo) -> tuple[np.ndarray, np.ndarray]:
    """Returns a silo's images, shape (n, 1, 8, 8), and which digits they show."""
    scaled = silo.train.features  # 64 pixels and a constant, of norm 1
    return (scaled[:, :64] / scaled[:, 64:]).reshape(-1, 1, 8, 8), silo.train.labels


digits = discreet.load_federation("digits", partition=IidSilos(5), test_fraction=0.0)
clinics = discreet.Arrays({silo.name: images_and_digits(silo) for silo in digits.silos}, num_classes=10)

plan = discreet.plan_training(
    clinics.public(capacity=400),
    target=discreet.Target(epsilon=4.0, delta=1e-5),
    model=small_network,
    rounds=20,
    local={"kind": "single-step"},
    sampling={"kind": "poisson", "probability": 0.5},
    server={"kind": "momentum", "learning_rate": 6.0, "momentum": 0.5},
    privacy={"clip_norm": 0.5},
    name="own network",
)
print(plan)

run = discreet.train(plan, clinics, out="runs/own_network", progress=True)
print(run)
for finding in run.verify():
    print(f"{finding.subject}: {finding.basis.value}, {finding.detail}")

unseen = np.zeros((1, 1, 8, 8), dtype=np.float32)
print("accuracy on held-out images:", round(run.metrics[-1]["accuracy"], 3))
print("an empty image is most likely a", run.predict(unseen)[0])
