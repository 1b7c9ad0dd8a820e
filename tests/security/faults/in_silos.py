"""Faults in what a silo does besides: its files, its records, its budget, its doorway."""

from __future__ import annotations

from tests.security.faults.mutant import LIARS, POLICY, SILO, Mutant, attack

IN_SILOS = (
    Mutant(
        "an older allow-list",
        SILO + "state.py",
        "if signed.serial <= known.serial:",
        "if False:",
        (attack("old_allow_list"), LIARS),
    ),
    Mutant(
        "another allow-list under the same serial",
        SILO + "state.py",
        "if signed.serial <= known.serial:",
        "if signed.serial < known.serial:",
        ("tests/engines/silo/test_state.py",),
    ),
    Mutant(
        "a restored ledger is believed",
        SILO + "anchor.py",
        "if self.lines == 0 or (",
        "if True or (",
        ("tests/engines/silo/test_anchor.py",),
    ),
    Mutant(
        "every training charged like another",
        SILO + "state.py",
        "return self._charges[digest]",
        "return next(iter(self._charges.values()))",
        ("tests/engines/silo/test_state.py",),
    ),
    Mutant(
        "a lost anchor is no loss",
        SILO + "anchor.py",
        "if any(isinstance(line.entry, Intent) for line in ledger):",
        "if False:",
        ("tests/engines/silo/test_anchor.py",),
    ),
    Mutant(
        "any number of new plans",
        SILO + "intake.py",
        "if new and len(self.plans) >= new_plans:",
        "if False:",
        ("tests/engines/silo/test_proposals.py",),
    ),
    Mutant(
        "a proposal that nobody let in is written down",
        SILO + "silo.py",
        """        self._admit(plan.digest())
        self._admitted = plan, SignedAllowList.parse(proposal.allow_list).serial
""",
        """        self._admitted = plan, SignedAllowList.parse(proposal.allow_list).serial
        self._admit(plan.digest())
""",
        ("tests/engines/silo/test_proposals.py",),
    ),
    Mutant(
        "one plan pushes all others out",
        SILO + "proposals.py",
        "kept = {*distinct[-half:], *(",
        "kept = {*(",
        ("tests/engines/silo/test_proposals.py",),
    ),
    Mutant(
        "any header that means the same",
        SILO + "requests.py",
        "if _parts(message)[0] != data[start : start + length]:",
        "if False:",
        ("tests/engines/silo/test_requests.py",),
    ),
    Mutant(
        "documents of any length",
        SILO + "silo.py",
        "    if longest > LONGEST_DOCUMENT:",
        "    if False:",
        ("tests/engines/silo/test_proposal_form.py",),
    ),
    Mutant(
        "the silo's own user may ask",
        SILO + "doorway.py",
        "if user not in (os.geteuid(), 0):",
        "if True:",
        ("tests/engines/silo/test_doorway.py",),
    ),
    Mutant(
        "a socket below a folder that others may write",
        SILO + "doorway.py",
        'for each in (way := folders_of(folder / "socket")):',
        'for each in (way := folders_of(folder / "socket"))[-1:]:',
        ("tests/engines/silo/test_doorway.py",),
    ),
    Mutant(
        "a link on the way that others may exchange",
        SILO + "custody.py",
        "if not step.is_symlink():",
        "if True:",
        ("tests/engines/silo/test_custody.py",),
    ),
    Mutant(
        "a request of any length",
        SILO + "reception.py",
        "if caller.size > (most := self._most_bytes()):",
        "if caller.size > (most := self._most_bytes()) + 2**40:",
        ("tests/engines/silo/test_reception.py",),
    ),
    Mutant(
        "callers are never late",
        SILO + "reception.py",
        "if each.deadline < time.monotonic()",
        "if each.deadline < 0.0",
        ("tests/engines/silo/test_reception.py",),
    ),
    Mutant(
        "a policy that others may write",
        SILO + "custody.py",
        "if found.st_mode & forbidden:",
        "if False:",
        ("tests/engines/silo/test_custody.py",),
    ),
    Mutant(
        "no budget in a round",
        SILO + "training.py",
        "        account.require(budget, charge, releases, of_year)\n",
        "",
        (attack("attempts_beyond_the_budget"), LIARS),
    ),
    Mutant(
        "no expiry in a training",
        SILO + "training.py",
        "if self._book.today() > self._policy.expires:",
        "if False:",
        (LIARS, "tests/engines/silo/test_limits.py"),
    ),
    Mutant(
        "a round beyond the plan",
        SILO + "training.py",
        "if not 1 <= release <= plan.releases:",
        "if False:",
        (LIARS,),
    ),
    Mutant(
        "a model that nobody announced",
        SILO + "training.py",
        "if self._context(start.terms.round_index, delivery) != start.terms.context:",
        "if False:",
        (LIARS,),
    ),
    Mutant(
        "an abort is believed",
        SILO + "training.py",
        'self._approval.plan.aggregation.mode != "malicious"',
        "True",
        ("tests/engines/silo/test_limits.py",),
    ),
    Mutant(
        "an abort of another round is believed",
        SILO + "training.py",
        " and last.terms.round_index == start.terms.round_index",
        "",
        ("tests/engines/silo/test_limits.py",),
    ),
    Mutant(
        "an abort of another session is believed",
        POLICY + "ledger.py",
        'Lost(spent.pending.release, "the silo cannot know whether it was unmasked")',
        'Aborted(spent.pending.release, "server-aborted")',
        ("tests/engines/silo/test_limits.py",),
    ),
    Mutant(
        "an invitation of another delivery", SILO + "training.py", " and invitation is not None", "", (LIARS,)
    ),
    Mutant(
        "weights of any size",
        SILO + "training.py",
        "LARGEST_WEIGHT = 2.0**40",
        "LARGEST_WEIGHT = 2.0**1000",
        (attack("conjunction_by_overflow"), "tests/engines/silo/test_silence.py"),
    ),
    Mutant(
        "a failed training is told",
        SILO + "training.py",
        "        except Exception as error:\n            # A silo",
        "        except ZeroDivisionError as error:\n            # A silo",
        ("tests/engines/silo/test_silence.py",),
    ),
    Mutant(
        "a refused proposal ends the training",
        SILO + "silo.py",
        "        approval = self._review(plan)\n",
        "        self._end_training()\n        approval = self._review(plan)\n",
        (attack("proposal_that_ends_a_training"),),
    ),
    Mutant(
        "words of a plan in the log as they are",
        SILO + "silo.py",
        "log=lambda line: given.log(shown(line, _LONGEST_LINE))",
        "log=given.log",
        (attack("forged_log_lines"), "tests/engines/silo"),
    ),
)
