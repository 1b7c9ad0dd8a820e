"""Faults in what reads runs and documents of others."""

from __future__ import annotations

from tests.security.faults.mutant import OWN_FILES, VERIFY, Mutant, attack

FORGED = "tests/unit/verify/test_forged_measurements.py"
KEPT = "tests/unit/session/test_kept_model.py::test_another_model_is_not_passed_off_as_the_best"

IN_RUNS = (
    # --- verification
    Mutant(
        "code without --own-code",
        VERIFY + "remeasured.py",
        'elif ":" in data.source and not evidence.own_code:',
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
    Mutant(
        "a line of the metrics may be left out",
        VERIFY + "derived.py",
        "for release in completed.keys() - _cut_short(evidence):",
        "for release in ():",
        ("tests/unit/verify/test_verify.py",),
    ),
    Mutant(
        "metrics that no line has pass as recomputed",
        VERIFY + "derived.py",
        'if line is None and stated.get("metrics"):',
        "if False:",
        (FORGED,),
    ),
    Mutant(
        "a metrics.jsonl without lines passes as recomputed",
        VERIFY + "derived.py",
        "if completed and not done:",
        "if False:",
        (FORGED,),
    ),
    Mutant(
        "a result has measurements that its line has not",
        VERIFY + "derived.py",
        'found["metrics"] = measurements(line) if stated.get("metrics") else {}',
        'found["metrics"] = {name: line.get(name) for name in stated["metrics"]}',
        (FORGED,),
    ),
    Mutant(
        "records are compared by the names that both have",
        VERIFY + "remeasured.py",
        "require_same(said, dict(measured), where)",
        "require_same(said, {name: measured.get(name, said[name]) for name in said}, where)",
        (FORGED,),
    ),
    Mutant(
        "a result is not measured again",
        VERIFY + "remeasured.py",
        "for where, said in stated.items():",
        "for where, said in [*stated.items()][:-1]:",
        (FORGED,),
    ),
    Mutant(
        "an evaluation.json may be left out",
        VERIFY + "remeasured.py",
        "elif again is not None:",
        "elif False:",
        (FORGED,),
    ),
    Mutant(
        "where a head began is never compared",
        VERIFY + "models.py",
        "    if known and intents and intents[0].started_from",
        "    if False and intents[0].started_from",
        (
            "tests/engines/local/test_head_start.py::"
            "test_a_training_that_began_elsewhere_than_at_the_stated_weights_is_seen_with_the_file",
        ),
    ),
    Mutant(
        "a training goes on from weights that the ledger does not name",
        VERIFY + "models.py",
        "if entry.started_from != again:",
        "if False:",
        (KEPT,),
    ),
    Mutant(
        "a state holds further arrays",
        "src/discreet/rounds/written.py",
        "alike = _bytes(state.to_arrays()) == _bytes(arrays)",
        "alike = True",
        (KEPT,),
    ),
    Mutant(
        "survivors in any order, and twice",
        VERIFY + "evidence.py",
        "if known != release.survivors or",
        "if set(known) != set(release.survivors) or",
        ("tests/unit/verify/test_forged_forms.py",),
    ),
    Mutant(
        "one number is as far off as all of them together",
        VERIFY + "summed.py",
        "if not (within and float(off @ off)",
        "if not (float(off @ off)",
        ("tests/unit/verify/test_summed.py",),
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
    Mutant(
        "the ε whenever a training ends is drawn as the largest spent so far",
        "src/discreet/report/training.py",
        "whole = max(report.budget.epsilon, *(epsilon for _, epsilon in spent))",
        "whole = max(epsilon for _, epsilon in spent)",
        ("tests/unit/report/test_page.py",),
    ),
    Mutant(
        "a run without its seal passes for finished",
        "src/discreet/session/training_run.py",
        'for name in ("manifest.json", "result.json", "plan.json")',
        'for name in ("result.json", "plan.json")',
        ("tests/unit/session/test_finish.py",),
    ),
    Mutant(
        "a run is sealed before it is signed",
        VERIFY + "manifest.py",
        "        attest(_digest(manifest))\n",
        "        _write(directory, manifest)\n        attest(_digest(manifest))\n",
        ("tests/unit/session/test_finish.py",),
    ),
    Mutant(
        "another model in the state of an evaluation under way",
        "src/discreet/rounds/opening.py",
        "if not plan.order.trains(pending.release) and",
        "if False and",
        ("tests/unit/session/test_open_release.py::test_a_model_is_not_exchanged_while_it_is_evaluated",),
    ),
    Mutant(
        "another number of rounds in the state of an open release",
        "src/discreet/rounds/opening.py",
        "counts_stated(arrays) == counts_completed(plan, every)",
        "True",
        ("tests/unit/session/test_open_release.py",),
    ),
    Mutant(
        "survivors of an open release in any order",
        "src/discreet/rounds/opening.py",
        "if known != made.survivors or not",
        "if set(known) != set(made.survivors) or not",
        ("tests/unit/session/test_open_release.py",),
    ),
)
