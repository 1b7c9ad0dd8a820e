"""The data owner's side of an agreement: what a silo allows, what it has spent, and who its peers are."""

from discreet.secagg.keyfile import generate_key, load_key
from discreet.silo.policy.allow_list import Consortium, SignedAllowList
from discreet.silo.policy.budget import Account, Charge
from discreet.silo.policy.document import Policy, load_policy
from discreet.silo.policy.ledger import SiloLedger
from discreet.silo.policy.refusal import PolicyRefusal, RefusalCode
from discreet.silo.policy.review import afforded, objections, priced, read_plan, read_plan_file, review

__all__ = [
    "Account",
    "Charge",
    "Consortium",
    "Policy",
    "PolicyRefusal",
    "RefusalCode",
    "SignedAllowList",
    "SiloLedger",
    "afforded",
    "generate_key",
    "load_key",
    "load_policy",
    "objections",
    "priced",
    "read_plan",
    "read_plan_file",
    "review",
]
