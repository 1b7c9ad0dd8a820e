"""The data owner's side of an agreement: what a silo allows, what it has spent, and who its peers are."""

from discreet.policy.allow_list import Consortium, SignedAllowList
from discreet.policy.budget import Account, Charge
from discreet.policy.document import Policy, load_policy
from discreet.policy.ledger import SiloLedger
from discreet.policy.refusal import PolicyRefusal, RefusalCode
from discreet.policy.review import Approval, read_plan, review
from discreet.secagg.keyfile import generate_key, load_key

__all__ = [
    "Account",
    "Approval",
    "Charge",
    "Consortium",
    "Policy",
    "PolicyRefusal",
    "RefusalCode",
    "SignedAllowList",
    "SiloLedger",
    "generate_key",
    "load_key",
    "load_policy",
    "read_plan",
    "review",
]
