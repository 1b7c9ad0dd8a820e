"""Plants faults one by one in the lines that stop attacks, and says which tests see each.

    python tests/security/mutants.py [WORD]

``make mutants`` runs it; with a word, only the mutants whose name holds it. Each is planted in a copy of the
tree, never in the tree itself. The exit code is 1 if the tests miss one, and 2 if a text to replace is not
there exactly once: then the list has fallen behind the code.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT_SECONDS = 300

POLICY = "src/discreet/silo/policy/"
SILO = "src/discreet/silo/"
FLOWER = "src/discreet/engines/flower/"
SECAGG = "src/discreet/secagg/"
VERIFY = "src/discreet/verify/"

LIARS = "tests/engines/flower/test_malicious_server.py"
IMPOSTORS = "tests/engines/flower/test_impostors.py"
REVIEW = "tests/unit/policy"
OWN_FILES = "tests/unit/verify/test_own_files.py"
# Quick ones first: the checklist alone can take minutes.
SUMS = tuple(
    f"tests/secagg/{name}" for name in ("unit", "test_consent.py", "test_lying_about_draws.py", "checklist")
)


def attack(name: str) -> str:
    """Returns the test that carries one attack out."""
    return f"tests/attacks/test_attacks.py::test_it_fails[{name}]"


@dataclass(frozen=True)
class Mutant:
    """One fault: ``old``, which stands once in ``file``, becomes ``new``; ``tests`` must see it."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


MUTANTS = (
    # --- policy
    Mutant(
        "a digest lets any code be imported",
        POLICY + "models.py",
        'named = ":" not in name if self.name is None else name == self.name',
        "named = self.name is None or name == self.name",
        (attack("code_in_a_silo"), REVIEW),
    ),
    Mutant(
        "the built model may have another digest",
        "src/discreet/plan/public_model.py",
        "        if planned != here:\n",
        "        if False:\n",
        (REVIEW, LIARS),
    ),
    Mutant(
        "nothing is planned again",
        POLICY + "review.py",
        "difference = unlike_its_config(plan)",
        "difference = None",
        (REVIEW, LIARS),
    ),
    Mutant(
        "the owner's colluders do not reach the shares",
        POLICY + "review.py",
        "    _check_colluders(charge)\n",
        "",
        (attack("colluders_beyond_the_shares"), REVIEW),
    ),
    Mutant(
        "the owner's colluders do not reach the charge",
        POLICY + "review.py",
        "charge = Charge.under(plan, policy)",
        "charge = Charge(plan, plan.thresholds.max_colluding)",
        (REVIEW,),
    ),
    Mutant(
        "one honest silo is enough",
        POLICY + "review.py",
        "charge.honest_inputs >= 2",
        "charge.honest_inputs >= 1",
        (REVIEW,),
    ),
    Mutant(
        "any label",
        POLICY + "review.py",
        "    _check_label(plan, policy)\n",
        "",
        (attack("label_outside_the_policy"), REVIEW),
    ),
    Mutant("any column", POLICY + "review.py", "    _check_columns(plan, policy)\n", "", (REVIEW,)),
    Mutant(
        "a sparse graph counts as malicious",
        POLICY + "review.py",
        'return "semi-malicious" if sparse and aggregation.mode == "malicious" else aggregation.mode',
        "return aggregation.mode",
        (attack("sparse_graph_called_malicious"), REVIEW),
    ),
    Mutant(
        "a policy never expires", POLICY + "review.py", "if today > policy.expires:", "if False:", (REVIEW,)
    ),
    Mutant(
        "a list that nobody signed",
        POLICY + "allow_list.py",
        "        except InvalidSignature:\n",
        "        except InvalidSignature:\n            return AllowList({n: bytes.fromhex(k) for n, k in "
        "self.silos.items()})\n        except ZeroDivisionError:\n",
        (REVIEW, LIARS),
    ),
    # --- silo
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
        "cost = account.require(self._policy.budget, self._approval.charge, own.charged - forgiven + 1)",
        "cost = self._approval.cost",
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
        "if not 1 <= terms.round_index <= plan.rounds:",
        "if False:",
        (LIARS,),
    ),
    Mutant(
        "a model that nobody announced",
        SILO + "training.py",
        "if hashlib.sha256(parameters).digest() != terms.context or",
        "if",
        (LIARS,),
    ),
    Mutant(
        "an abort is believed",
        SILO + "training.py",
        'self._approval.plan.config.aggregation.mode != "malicious"',
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
        "        approval = self._review(proposal.plan)\n",
        "        self._end_training()\n        approval = self._review(proposal.plan)\n",
        (attack("proposal_that_ends_a_training"),),
    ),
    Mutant(
        "words of a plan in the log as they are",
        SILO + "silo.py",
        "log=lambda line: given.log(shown(line, _LONGEST_LINE))",
        "log=given.log",
        (attack("forged_log_lines"), "tests/engines/silo"),
    ),
    # --- server
    Mutant(
        "anybody refuses in a silo's name",
        FLOWER + "members.py",
        "for silo, at in self._nodes.items() if at != node}",
        "for silo, at in self._nodes.items() if silo != name}",
        (attack("refusal_in_another_name"), IMPOSTORS),
    ),
    Mutant(
        "a name without its signature",
        FLOWER + "members.py",
        "return not foreign and (home in (None, node) or home not in connected)",
        "return True",
        (IMPOSTORS,),
    ),
    Mutant(
        "seeds in a run with secret noise",
        FLOWER + "engine.py",
        "        self._secret_noise = True\n",
        "        self._secret_noise = False\n",
        (attack("seeded_silo_among_secret_ones"),),
    ),
    Mutant(
        "a terminal's escapes from a node",
        FLOWER + "engine.py",
        'self._announce(f"{shown(name)} refused ({shown(code)}): {shown(reason)}")',
        'self._announce(f"{name} refused ({code}): {reason}")',
        (attack("forged_lines_in_the_servers_log"), IMPOSTORS),
    ),
    Mutant(
        "an authority signs further authorities",
        FLOWER + "certificates.py",
        "ca=True, path_length=0",
        "ca=True, path_length=None",
        ("tests/engines/flower/test_provision.py",),
    ),
    Mutant(
        "one folder for two hospitals",
        FLOWER + "scaffold.py",
        'folder = unicodedata.normalize("NFKC", silo).casefold()',
        "folder = silo",
        ("tests/engines/flower/test_provision.py",),
    ),
    Mutant(
        "readers hold the server's lock",
        FLOWER + "occupancy.py",
        "os.open(path, flags, 0o600)",
        "os.open(path, flags, 0o644)",
        ("tests/engines/flower/test_occupancy.py",),
    ),
    # --- secure aggregation
    Mutant(
        "the same key in another writing",
        SECAGG + "offers.py",
        "if not all(map(keyring.is_canonical, keys)):",
        "if False:",
        (attack("key_in_another_writing"), *SUMS),
    ),
    Mutant(
        "the same key twice",
        SECAGG + "offers.py",
        "if len(set(public)) != len(public) or not seen.isdisjoint(public):",
        "if False:",
        SUMS,
    ),
    Mutant(
        "draws in no digest",
        SECAGG + "binding.py",
        '_hash(b"graph", digest_of_keys, choices.body())',
        "digest_of_keys",
        SUMS,
    ),
    Mutant(
        "sharers in no digest",
        SECAGG + "binding.py",
        "index_set(sharers), start.body())",
        "start.body())",
        SUMS,
    ),
    Mutant(
        "survivors that masked for no round",
        SECAGG + "client/rounds.py",
        "if tuple(signer for signer, _ in shown.attested) != attesting:",
        "if False:",
        SUMS,
    ),
    Mutant(
        "a client declared gone", SECAGG + "client/rounds.py", "if me not in survivors:", "if False:", SUMS
    ),
    Mutant(
        "survivors that nobody invited",
        SECAGG + "client/rounds.py",
        "if not frozenset(survivors) <= current.roster:",
        "if False:",
        SUMS,
    ),
    Mutant(
        "a sum below the floor",
        SECAGG + "client/rounds.py",
        '    agreement.require_floor(len(survivors), "sent their masked input")\n',
        "",
        SUMS,
    ),
    Mutant(
        "a confirmation of a stranger",
        SECAGG + "client/rounds.py",
        "if signer not in survivors:",
        "if False:",
        SUMS,
    ),
    Mutant(
        "a confirmation of nobody",
        SECAGG + "client/rounds.py",
        "        agreement.identities.verify(agreement.name(signer), content, signature)\n    terms",
        "    terms",
        SUMS,
    ),
    Mutant(
        "one confirmation too few",
        SECAGG + "client/rounds.py",
        "if not len(confirmations.signatures) >= quorum:",
        "if not len(confirmations.signatures) >= quorum - 1:",
        SUMS,
    ),
    Mutant(
        "both kinds of share",
        SECAGG + "client/rounds.py",
        "[seed + 1 for seed in seeds] if peer in survivors",
        "[0, *(seed + 1 for seed in seeds)] if peer in survivors",
        SUMS,
    ),
    Mutant(
        "too few holders",
        SECAGG + "client/setup.py",
        "    require_holders(agreement, place.graph.holders & sharers)\n",
        "",
        SUMS,
    ),
    # --- verification
    Mutant(
        "code without --own-code",
        VERIFY + "models.py",
        "elif colon and not evidence.own_code:",
        "elif False:",
        (OWN_FILES, attack("code_named_by_a_run")),
    ),
    Mutant(
        "a manifest names any file",
        VERIFY + "manifest.py",
        "<= set(manifest.files) <= {*REQUIRED, *OPTIONAL}",
        "<= set(manifest.files)",
        (OWN_FILES, attack("file_outside_a_run")),
    ),
    Mutant(
        "links lead out of a run",
        "src/discreet/rounds/directory.py",
        "if not stat.S_ISREG(mode):",
        "if False:",
        (OWN_FILES, "tests/unit/rounds/test_links.py"),
    ),
    Mutant(
        "a file that the manifest does not fit",
        VERIFY + "manifest.py",
        "if _digests(directory, [name])[name] != stated:",
        "if False:",
        ("tests/unit/verify/test_verify.py",),
    ),
    # --- documents
    Mutant(
        "any depth",
        "src/discreet/documents.py",
        "for _ in range(MAX_DEPTH + 1):",
        "while True:",
        ("tests/unit/test_documents.py", "tests/security/test_decoders.py"),
    ),
    Mutant(
        "any integer",
        "src/discreet/documents.py",
        "not _SMALLEST <= value <= _LARGEST",
        "False",
        ("tests/unit/test_documents.py", "tests/security/test_decoders.py"),
    ),
)


def faulty(mutant: Mutant, text: str) -> str:
    """Returns a file's text with the fault in it.

    Raises:
        SystemExit: if the old text does not stand in it exactly once.
    """
    if text.count(mutant.old) != 1:
        times = text.count(mutant.old)
        print(f"{mutant.name}: {mutant.old!r} must stand once in {mutant.file}; it stands {times} times")  # noqa: T201
        raise SystemExit(2)
    return text.replace(mutant.old, mutant.new)


def seen_by(mutant: Mutant, copy: Path) -> str | None:
    """Plants a fault in a copy of the tree and takes it out again; returns what fails first, in time."""
    path = copy / mutant.file
    sound = path.read_text()
    path.write_text(faulty(mutant, sound))
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", "-x", "-p", "no:cacheprovider", *mutant.tests]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command,
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None  # slow is not wrong: no test has failed
    finally:
        path.write_text(sound)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode not in (0, 1) and not failed:
        raise SystemExit(f"{mutant.name}: the tests could not run: {done.stdout[-500:]}{done.stderr[-500:]}")
    return failed[0].split(" - ")[0].split("::", 1)[-1] if failed else None


def main() -> int:
    """Plants every fault in turn and prints a line for each."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [mutant for mutant in MUTANTS if word in mutant.name]
    if not chosen:
        raise SystemExit(f"a word must be part of a mutant's name; {word!r} is part of none")
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        ignored = shutil.ignore_patterns(".git", ".venv*", "runs", "build", "dist", "__pycache__", ".*_cache")
        shutil.copytree(ROOT, copy, ignore=ignored)
        for mutant in chosen:
            faulty(mutant, (copy / mutant.file).read_text())
        for mutant in chosen:
            began = time.monotonic()
            test = seen_by(mutant, copy)
            missed += test is None
            print(f"{mutant.name:50} {time.monotonic() - began:4.0f} s  {test or 'MISSED'}", flush=True)  # noqa: T201
    print(f"{missed} of {len(chosen)} mutants missed")  # noqa: T201 - a script
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
