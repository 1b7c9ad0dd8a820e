"""Faults in what is checked of a plan, by the owner's policy and by whoever carries it out."""

from __future__ import annotations

from tests.security.faults.mutant import LIARS, POLICY, REVIEW, SILO, Mutant, attack

TANGENTS = ("tests/contracts/learning/test_tangent_bounds.py",)

IN_PLANS = (
    Mutant(
        "a digest lets any code be imported",
        POLICY + "model_rule.py",
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
        "    yield from _of_colluders(charge)\n",
        "",
        (attack("colluders_beyond_the_shares"), REVIEW),
    ),
    Mutant(
        "the owner's colluders do not reach the charge",
        POLICY + "review.py",
        "return Charge.under(plan, policy)",
        "return Charge(plan, plan.thresholds.max_colluding)",
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
        "        yield from _of_label(part, policy)\n",
        "",
        (attack("label_outside_the_policy"), REVIEW),
    ),
    Mutant(
        "the coordinator says whose a record is",
        POLICY + "review.py",
        "        yield from _of_person(part, policy)\n",
        "",
        (REVIEW,),
    ),
    Mutant(
        "any column", POLICY + "review.py", "        yield from _of_columns(part, policy)\n", "", (REVIEW,)
    ),
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
    Mutant(
        "a factory is imported before its plan is worked out",
        POLICY + "review.py",
        "    plan = _with_own_files(proposed, policy)\n",
        "    plan = _with_own_files(proposed, policy)\n    _public_model(plan)\n",
        (REVIEW,),
    ),
    Mutant(
        "a factory is imported before a person approved",
        POLICY + "review.py",
        "    digest = charge.plan.digest()\n    if policy",
        "    _public_model(charge.plan)\n    digest = charge.plan.digest()\n    if policy",
        (REVIEW,),
    ),
    Mutant(
        "unproven assumptions need no leave",
        POLICY + "review.py",
        "status is Status.CONDITIONAL and not policy.require.accept_conditional",
        "False",
        (REVIEW,),
    ),
    Mutant(
        "a machine's tables ride on a plan",
        "src/discreet/plan/reading.py",
        'if LOCAL & data["config"].keys():',
        "if False:",
        ("tests/unit/plan/test_without_torch.py",),
    ),
    Mutant(
        "a program carries out any plan",
        "src/discreet/engines/local/job.py",
        "        require_follows(plan)\n",
        "",
        ("tests/unit/plan/test_without_torch.py",),
    ),
    Mutant(
        "a bundled network is called linear",
        "src/discreet/plan/public_model.py",
        "if model.name in BUNDLED and facts.linear != (model.name in LINEAR_HEADS):",
        "if False:",
        ("tests/unit/plan/test_without_torch.py",),
    ),
    Mutant(
        "a width that no model takes",
        SILO + "records.py",
        "    _check_rules(source, plan, silo)\n",
        "",
        ("tests/engines/silo/test_records.py",),
    ),
    Mutant(
        "a cheaper plan in the place of one that ran",
        SILO + "state.py",
        "if plan.digest() != digest:",
        "if False:",
        ("tests/engines/silo/test_state.py",),
    ),
    # --- rounds that differ
    Mutant(
        "every segment has the noise of the first",
        "src/discreet/rounds/contribution.py",
        "    stage = plan.at(release)\n    return encoded(stage,",
        "    stage = plan\n    return encoded(stage,",
        ("tests/contracts/neighbours/test_segments.py",),
    ),
    Mutant(
        "a silo charges its rounds as the plan's first",
        "src/discreet/plan/order.py",
        "        while any(self._counts(count).get(name, 0) < own for name, own in contributed.items()):\n"
        "            count += 1\n",
        "",
        ("tests/unit/policy/test_segments.py",),
    ),
    Mutant(
        "an update is in units of a rate that its steps do not have",
        "src/discreet/kinds/convex_steps.py",
        "rate, radius = f * self.learning_rate, f * self.projection_radius",
        "rate, radius = self.learning_rate, self.projection_radius",
        ("tests/contracts/learning/test_sensitivity.py",),
    ),
    Mutant(
        "a tangent of any loss",
        "src/discreet/kinds/tangent_steps.py",
        "if not isinstance(head, BinaryLogistic | Softmax):",
        "if False:",
        TANGENTS,
    ),
    Mutant(
        "a bias counts once, whatever the positions",
        "src/discreet/learning/tangent_rows.py",
        "(seen + self.activations.shape[1])",
        "(seen + 1)",
        TANGENTS,
    ),
    Mutant(
        "rounding over inputs is in no bound",
        "src/discreet/learning/tangent_rows.py",
        "_relative_error(1 + self.activations.shape[2] + positions * outputs, torch.float64)",
        "_relative_error(1 + positions * outputs, torch.float64)",
        TANGENTS,
    ),
)
