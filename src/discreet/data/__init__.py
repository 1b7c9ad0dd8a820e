"""Records, silos and federations: loaded, scaled by public rules only, dealt out and split."""

from discreet.data.federation import Federation, Silo
from discreet.data.load import PublicFacts, bundled_attribution, load_federation
from discreet.data.norm import scale_to_norm, with_constant
from discreet.data.partition import ColumnSilos, DirichletSilos, IidSilos, Partition
from discreet.data.records import Records

__all__ = [
    "ColumnSilos",
    "DirichletSilos",
    "Federation",
    "IidSilos",
    "Partition",
    "PublicFacts",
    "Records",
    "Silo",
    "bundled_attribution",
    "load_federation",
    "scale_to_norm",
    "with_constant",
]
