"""Records, silos and federations: loaded, scaled by public rules only, dealt out and split."""

from discreet.data.array_records import features_of_array, undivided_note
from discreet.data.array_source import features_in_memory, real_array, require_held, stated_shape
from discreet.data.facts import PublicFacts, table_columns
from discreet.data.federation import Federation, Silo
from discreet.data.load import IN_MEMORY, bundled_attribution, load_federation
from discreet.data.norm import scale_to_norm, with_constant
from discreet.data.partition import ColumnSilos, DirichletSilos, IidSilos, OneSilo, Partition
from discreet.data.records import Records
from discreet.data.rows import TableRules, table_rules
from discreet.data.split import held_out

__all__ = [
    "IN_MEMORY",
    "ColumnSilos",
    "DirichletSilos",
    "Federation",
    "IidSilos",
    "OneSilo",
    "Partition",
    "PublicFacts",
    "Records",
    "Silo",
    "TableRules",
    "bundled_attribution",
    "features_in_memory",
    "features_of_array",
    "held_out",
    "load_federation",
    "real_array",
    "require_held",
    "scale_to_norm",
    "stated_shape",
    "table_columns",
    "table_rules",
    "undivided_note",
    "with_constant",
]
