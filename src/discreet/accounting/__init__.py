"""Events in, guarantees out: what a mechanism costs, and how much noise a budget needs."""

from discreet.accounting.analysis import delta, epsilon, guarantee
from discreet.accounting.bounds import Accountant, Bound, Conversion, Pld, Rdp
from discreet.accounting.calibration import calibrate
from discreet.accounting.curves import tradeoff

__all__ = [
    "Accountant",
    "Bound",
    "Conversion",
    "Pld",
    "Rdp",
    "calibrate",
    "delta",
    "epsilon",
    "guarantee",
    "tradeoff",
]
