"""The round loop: the same walk for every engine, durable at every step."""

from discreet.rounds.contribution import (
    Contribution,
    contribute,
    part_source,
    require_rows_alike_for,
    round_rotation,
    round_training,
    silo_source,
    train_silo,
)
from discreet.rounds.directory import RunDirectory
from discreet.rounds.engine import Engine, RoundOrder, RoundSum
from discreet.rounds.opening import finished, open_ledger, restore, resume_ledger
from discreet.rounds.origin import Origin, origin_of, parse_origin
from discreet.rounds.phases import Stopwatch, SumSeconds
from discreet.rounds.record import RunRecord, begun_record, read_record
from discreet.rounds.silos import contributions
from discreet.rounds.state import Training, initial_state, round_order, update
from discreet.rounds.walk import RoundReport, measurements, train, write_model

__all__ = [
    "Contribution",
    "Engine",
    "Origin",
    "RoundOrder",
    "RoundReport",
    "RoundSum",
    "RunDirectory",
    "RunRecord",
    "Stopwatch",
    "SumSeconds",
    "Training",
    "begun_record",
    "contribute",
    "contributions",
    "finished",
    "initial_state",
    "measurements",
    "open_ledger",
    "origin_of",
    "parse_origin",
    "part_source",
    "read_record",
    "require_rows_alike_for",
    "restore",
    "resume_ledger",
    "round_order",
    "round_rotation",
    "round_training",
    "silo_source",
    "train",
    "train_silo",
    "update",
    "write_model",
]
