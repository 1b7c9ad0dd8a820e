"""Times Flower's SecAgg+ functions; run by Flower's own Python (see bench/secagg.py --peer-python).

Prints one JSON object of processor seconds. The client half calls Flower's client functions, the server
half repeats the loop of ``SecAggPlusWorkflow.unmask_stage`` over Flower's functions, without its network.
Recovering a secret costs the same whatever the secret, so the shares of one client stand for those of all.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from flwr.common import ndarrays_to_parameters
from flwr.common.secure_aggregation.crypto import shamir
from flwr.common.secure_aggregation.crypto import symmetric_encryption as crypto
from flwr.common.secure_aggregation.ndarrays_arithmetic import parameters_addition, parameters_mod
from flwr.common.secure_aggregation.ndarrays_arithmetic import parameters_subtraction as subtract
from flwr.common.secure_aggregation.secaggplus_constants import Key
from flwr.common.secure_aggregation.secaggplus_utils import pseudo_rand_gen
from flwr.supercore.primitives import asymmetric

# The package re-exports a function under the name of this module.
client_side = importlib.import_module("flwr.client.mod.secure_aggregation.secaggplus_mod")

MODULUS = 1 << 32
T = TypeVar("T")


def settings(n: int, threshold: int) -> dict[str, object]:
    return {
        Key.SAMPLE_NUMBER: n,
        Key.SHARE_NUMBER: n,
        Key.THRESHOLD: threshold,
        Key.CLIPPING_RANGE: 8.0,
        Key.TARGET_RANGE: 1 << 22,
        Key.MOD_RANGE: MODULUS,
        Key.MAX_WEIGHT: 1000.0,
    }


def timed(action: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    result = action()
    return time.process_time() - start, result


def client_seconds(n: int, length: int, threshold: int) -> tuple[dict[str, float], int, tuple[bytes, bytes]]:
    """Times client 1 among n; its peers only contribute keys and ciphertexts."""
    states = []
    for index in range(1, n + 1):
        state = client_side.SecAggPlusState()
        state.nid = index
        client_side._setup(state, settings(n, threshold))
        states.append(state)
    keys = {str(state.nid): (state.pk1, state.pk2) for state in states}
    one = states[0]
    share_seconds, dealt = timed(lambda: client_side._share_keys(one, dict(keys)))
    for peer, sealed in zip(dealt[Key.DESTINATION_LIST], dealt[Key.CIPHERTEXT_LIST], strict=True):
        crypto.decrypt(one.ss2_dict[peer], sealed)
    # What a peer sends has the size of what client 1 sends; it must only name the right sender.
    plain = {
        state.nid: client_side.share_keys_plaintext_concat(
            state.nid, 1, one.rd_seed_share_dict[1], one.sk1_share_dict[1]
        )
        for state in states[1:]
    }
    delivered = {
        Key.SOURCE_LIST: list(plain),
        Key.CIPHERTEXT_LIST: [crypto.encrypt(one.ss2_dict[nid], text) for nid, text in plain.items()],
    }
    update = ndarrays_to_parameters([np.zeros(length, dtype=np.float64)])
    mask_seconds, masked = timed(lambda: client_side._collect_masked_vectors(one, delivered, 1000, update))
    size = sum(map(len, masked[Key.MASKED_PARAMETERS])) + sum(map(len, dealt[Key.CIPHERTEXT_LIST]))
    return {"share_keys": share_seconds, "mask": mask_seconds}, size, (one.rd_seed, one.sk1)


def server_seconds(
    n: int, length: int, threshold: int, dropped: int, secrets: tuple[bytes, bytes]
) -> dict[str, float]:
    """Times the sum of the masked vectors and the removal of the masks."""
    vector = [np.zeros(length, dtype=np.int64)]

    def add_all() -> None:
        total = vector
        for _ in range(n - dropped):
            total = parameters_addition(total, vector)
        parameters_mod(total, MODULUS)

    add, _ = timed(add_all)
    survivors = n - dropped
    seed_shares, key_shares = (shamir.create_shares(secret, threshold, n)[:survivors] for secret in secrets)
    publics = [asymmetric.public_key_to_bytes(asymmetric.generate_key_pairs()[1]) for _ in range(n - 1)]

    def unmask() -> None:
        total, shapes = vector, [(length,)]
        for _ in range(survivors):
            seed = shamir.combine_shares(seed_shares)
            total = subtract(total, pseudo_rand_gen(seed, MODULUS, shapes))
        for _ in range(dropped):
            secret = shamir.combine_shares(key_shares)
            for public in publics:
                shared = crypto.generate_shared_key(
                    asymmetric.bytes_to_private_key(secret), asymmetric.bytes_to_public_key(public)
                )
                total = subtract(total, pseudo_rand_gen(shared, MODULUS, shapes))
        parameters_mod(total, MODULUS)

    removal, _ = timed(unmask)
    return {"add": add, "unmask": removal}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, required=True)
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--threshold", type=int, required=True)
    parser.add_argument("--dropped", type=int, required=True)
    options = parser.parse_args()
    client, size, secrets = client_seconds(options.clients, options.length, options.threshold)
    server = server_seconds(options.clients, options.length, options.threshold, options.dropped, secrets)
    print(json.dumps({"client": client, "server": server, "client_bytes": size}))


if __name__ == "__main__":
    main()
