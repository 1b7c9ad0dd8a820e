"""One door for programs and commands: plan from public facts, train, open a run."""

from discreet.session.arrays import Arrays
from discreet.session.asking import plan_evaluation, plan_questions
from discreet.session.composed import composed
from discreet.session.finish import finish, report_again, summarise
from discreet.session.frames import Frames
from discreet.session.public import Loss, Target, plan_training, plan_without_data
from discreet.session.runs import Run, open_run
from discreet.session.training_run import carry_out, nothing_left, train

__all__ = [
    "Arrays",
    "Frames",
    "Loss",
    "Run",
    "Target",
    "carry_out",
    "composed",
    "finish",
    "nothing_left",
    "open_run",
    "plan_evaluation",
    "plan_questions",
    "plan_training",
    "plan_without_data",
    "report_again",
    "summarise",
    "train",
]
