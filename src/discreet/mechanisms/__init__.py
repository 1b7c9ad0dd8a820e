"""Integer noise: one file a law, every sampler exact or with a stated total variation."""

from discreet.mechanisms.domain import LAPLACE_SCALES, MAX_STDDEV, MIN_STDDEV
from discreet.mechanisms.families import NoiseFamily, law_for, per_silo
from discreet.mechanisms.sampler import (
    SAMPLER_ASSUMPTION,
    add_share,
    round_with_noise,
    sample_share,
    sampler_tv,
)
from discreet.mechanisms.tails import sample_tail_bound

__all__ = [
    "LAPLACE_SCALES",
    "MAX_STDDEV",
    "MIN_STDDEV",
    "SAMPLER_ASSUMPTION",
    "NoiseFamily",
    "add_share",
    "law_for",
    "per_silo",
    "round_with_noise",
    "sample_share",
    "sample_tail_bound",
    "sampler_tv",
]
