"""Code is imported, and files are opened, only if the policy names them; a digest never names code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from discreet.engines.flower.consortium import ConsortiumFolder
from discreet.errors import ConfigurationError
from discreet.models import build_model, described
from discreet.plan import load_plan
from discreet.silo.policy import (
    Account,
    Policy,
    PolicyRefusal,
    RefusalCode,
    load_policy,
    objections,
    read_plan,
    review,
)
from discreet.silo.policy.model_rule import ModelRule, permitted
from discreet.silo.policy.review import Approval
from tests.support.honest_plans import plan_again

FACTORY = """
from pathlib import Path
from discreet.models import build_model

def factory(shape, classes):
    Path({marker!r}).touch()
    return build_model("logistic", shape, classes, seed=0)
"""
DIGEST = "0123456789abcdef" * 4


@pytest.fixture
def own_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An importable module whose factory leaves a marker; returns the marker."""
    marker = tmp_path / "executed"
    (tmp_path / "clinic.py").write_text(FACTORY.format(marker=str(marker)))
    monkeypatch.syspath_prepend(tmp_path)
    yield marker
    sys.modules.pop("clinic", None)


def reviewed(document: bytes, policy: Policy, **tables: Any) -> Approval | None:
    for table, values in tables.items():
        changed = getattr(policy, table).model_copy(update=values)
        policy = policy.model_copy(update={table: changed})
    return review(read_plan(document), policy, Account({}), today=date(2026, 1, 1), approved=frozenset())


def named(name: str) -> Callable[..., Any]:
    def change(plan: dict[str, Any]) -> None:
        plan["config"]["model"]["name"] = name

    return change


def command(marker: Path) -> Callable[..., Any]:
    """A plan whose facts are the arguments of a process."""

    def change(plan: dict[str, Any]) -> None:
        plan["config"]["model"]["name"] = "subprocess:Popen"
        plan["facts"]["feature_shape"] = ["/bin/sh", "-c", f"touch {marker}"]

    return change


def test_a_command_in_place_of_a_model_is_not_run(
    altered: Callable[..., Any], policy: Policy, document: bytes, own_code: Path
) -> None:
    digest = f"sha256:{read_plan(document).facts.model_digest}"
    for models in ((digest,), ("subprocess:Popen",), ("logistic",)):
        with pytest.raises(PolicyRefusal) as caught:
            reviewed(altered(command(own_code)), policy, require={"models": models})
        assert caught.value.code is RefusalCode.PLAN
        assert "feature_shape" in str(caught.value)
    assert not own_code.exists()


@pytest.mark.parametrize("entry", ["sha256:{}", "logistic", "logistic@sha256:{}", "other:factory@sha256:{}"])
def test_a_factory_is_not_imported_by_its_digest_or_by_another_name(
    altered: Callable[..., Any], policy: Policy, document: bytes, own_code: Path, entry: str
) -> None:
    models = (entry.format(read_plan(document).facts.model_digest),)
    with pytest.raises(PolicyRefusal) as caught:
        reviewed(altered(named("clinic:factory")), policy, require={"models": models})
    assert caught.value.code is RefusalCode.NOT_ALLOWED
    assert not own_code.exists()
    assert "clinic" not in sys.modules


def test_what_a_forbidden_factory_costs_is_listed_without_importing_it(
    altered: Callable[..., Any], policy: Policy, own_code: Path
) -> None:
    """The owner's dry run goes on after the first objection; a name that is forbidden stays a name."""
    forbidding = policy.model_copy(
        update={
            "require": policy.require.model_copy(update={"models": ("mlp",)}),
            "budget": policy.budget.model_copy(update={"max_epsilon_per_training": 1e-3}),
        }
    )

    def honest(plan: dict[str, Any]) -> None:
        named("clinic:factory")(plan)
        plan_again(plan)

    found = list(
        objections(
            read_plan(altered(honest)),
            forbidding,
            Account({}),
            today=date(2026, 1, 1),
            approved=frozenset(),
        )
    )
    assert "model must be one of mlp at this silo; the plan has clinic:factory" in str(found[0])
    assert {one.code for one in found} == {RefusalCode.NOT_ALLOWED, RefusalCode.BUDGET}
    assert not own_code.exists()
    assert "clinic" not in sys.modules


@pytest.mark.parametrize("entry", ["clinic:factory", "clinic:factory@sha256:{}"])
def test_a_factory_that_the_policy_names_is_imported(
    altered: Callable[..., Any], policy: Policy, document: bytes, own_code: Path, entry: str
) -> None:
    models = (entry.format(read_plan(document).facts.model_digest),)

    def honest(plan: dict[str, Any]) -> None:
        named("clinic:factory")(plan)
        plan_again(plan)

    reviewed(altered(honest), policy, require={"models": models})
    assert own_code.exists()


def test_a_pin_holds_for_bundled_models_too(document: bytes, policy: Policy) -> None:
    own = read_plan(document).facts.model_digest
    reviewed(document, policy, require={"models": (f"logistic@sha256:{own}",)})
    for other in (f"logistic@sha256:{DIGEST}", f"sha256:{DIGEST}", f"mlp@sha256:{own}"):
        with pytest.raises(PolicyRefusal, match="model must be one of"):
            reviewed(document, policy, require={"models": (other,)})


@pytest.mark.parametrize(
    ("entry", "name", "digest"),
    [
        ("logistic", "logistic", None),
        ("a.b:c", "a.b:c", None),
        (f"sha256:{DIGEST}", None, DIGEST),
        (f"a.b:c@sha256:{DIGEST}", "a.b:c", DIGEST),
    ],
)
def test_entries_read_as_they_are_written(entry: str, name: str | None, digest: str | None) -> None:
    assert ModelRule.parse(entry) == ModelRule(name, digest)


@pytest.mark.parametrize(
    "entry", ["", "sha256:12", "sha256:abc", f"sha256:{DIGEST}0", "a:b:c", "a:b@", "os.path", "a:b.c"]
)
def test_entries_that_say_nothing_are_refused_when_the_policy_is_read(
    folder: ConsortiumFolder, entry: str
) -> None:
    path = folder.policy("cleveland")
    lines = path.read_text().splitlines()
    path.write_text("\n".join(f'models = ["{entry}"]' if "models" in line else line for line in lines))
    with pytest.raises(ConfigurationError, match=r"'require\.models\.0'"):
        load_policy(path)


def test_a_plan_named_like_a_digest_is_no_factory() -> None:
    assert not permitted((f"sha256:{DIGEST}",), f"sha256:{DIGEST}", DIGEST)


@pytest.mark.parametrize("source", ["clinic:records", "csv:/etc/passwd", "npz:x", "unknown"])
def test_a_rehearsal_reads_only_bundled_sources_that_the_plan_names(
    altered: Callable[..., Any], policy: Policy, source: str
) -> None:
    def change(plan: dict[str, Any]) -> None:
        plan["config"]["data"]["source"] = source

    with pytest.raises(PolicyRefusal, match=r"data\.source must be one of heart-disease, digits") as caught:
        reviewed(altered(change), policy)
    assert caught.value.code is RefusalCode.NOT_ALLOWED


def test_weights_of_a_transform_are_read_from_the_owners_path_only(
    altered: Callable[..., Any], policy: Policy, tmp_path: Path
) -> None:
    def change(plan: dict[str, Any]) -> None:
        plan["config"]["data"]["transform"] = "residual:weights.npz"
        plan_again(plan)
        plan["config"]["data"]["transform"] = "residual:../elsewhere/weights.npz"

    document = altered(change)
    for own in ({}, {"residual": tmp_path / "other.npz"}, {"weights": (tmp_path / "other.npz",)}):
        with pytest.raises(
            PolicyRefusal, match=r"data\.transform must be a file that 'data\.weights'"
        ) as said:
            reviewed(document, policy, data=own)
        assert "other" not in str(said.value), "a coordinator hears of no file of an owner's"
    approval = reviewed(document, policy, data={"residual": tmp_path / "weights.npz"})
    assert approval.plan.config.data.transform == f"residual:{tmp_path / 'weights.npz'}"


def test_no_feature_map_that_a_plan_names_is_imported(
    altered: Callable[..., Any], policy: Policy, tmp_path: Path
) -> None:
    def change(plan: dict[str, Any]) -> None:
        plan["config"]["data"].update(
            {"source": "memory", "feature_shape": [2], "num_classes": 2, "transform": "map:evil:weights"}
        )

    document = altered(change)
    for source in (policy.data.source, "heart-disease"):
        with pytest.raises(PolicyRefusal, match=r"must be (one of heart-disease|no function of one's own)"):
            reviewed(document, policy, data={"source": source})
    with pytest.raises(PolicyRefusal, match=r"must be (one of heart-disease|no function of one's own)"):
        reviewed(document, policy, data={"residual": tmp_path / "weights.npz"})


def test_a_network_that_makes_features_is_imported_only_if_models_name_it(
    altered: Callable[..., Any], policy: Policy, tmp_path: Path
) -> None:
    weights = {"file": "here.safetensors", "sha256": "0" * 64, "source": "s", "licence": "l"}

    def change(plan: dict[str, Any]) -> None:
        plan["config"]["data"].update({"transform": "network:evil:make", "pretrained": weights})

    document, own = altered(change), {"weights": (tmp_path / "here.safetensors",)}
    with pytest.raises(PolicyRefusal, match=r"data\.transform must be one named in require\.models"):
        reviewed(document, policy, data=own)
    with pytest.raises(PolicyRefusal, match=r"data\.pretrained\.file must be a file that 'data\.weights'"):
        reviewed(document, policy, require={"models": (*policy.require.models, "evil:make")})


def test_no_error_of_a_factory_tells_where_an_owners_files_are(
    altered: Callable[..., Any], policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change(plan: dict[str, Any]) -> None:
        named("telling:make")(plan)
        plan_again(plan)

    (tmp_path / "telling.py").write_text("from os import not_there\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(
        PolicyRefusal, match=r"Cannot import model factory 'telling:make'.*\(a file\)"
    ) as said:
        reviewed(altered(change), policy, require={"models": ("telling:make",)})
    assert os.path.dirname(os.__file__) not in str(said.value)


def test_a_label_must_be_among_those_that_may_be_predicted(
    altered: Callable[..., Any], policy: Policy
) -> None:
    def change(plan: dict[str, Any]) -> None:
        plan["config"]["data"].update({"ranges": {"age": [0.0, 120.0]}, "label": "hiv"})

    allowed = {"columns": ("age",), "labels": ("sick",)}
    with pytest.raises(
        PolicyRefusal, match=r"data\.label must be one of sick at this silo; the plan has hiv"
    ):
        reviewed(altered(change), policy, data=allowed)
    with pytest.raises(PolicyRefusal, match="the plan has none"):
        reviewed(altered(lambda _: None), policy, data={"labels": ("sick",)})
    # The rules let it through; that a table's assumptions are missing from it comes to light behind them.
    with pytest.raises(PolicyRefusal, match="must follow from its own config"):
        reviewed(altered(change), policy, data={"columns": ("age",), "labels": ("hiv",)})


def test_restricted_columns_without_labels_are_no_policy(folder: ConsortiumFolder) -> None:
    path = folder.policy("cleveland")
    path.write_text(path.read_text().replace("[data]", '[data]\ncolumns = ["age"]'))
    with pytest.raises(ConfigurationError, match="'labels' must be given"):
        load_policy(path)


def test_a_sparse_sum_against_a_lying_server_is_called_semi_malicious(
    altered: Callable[..., Any], policy: Policy
) -> None:
    def change(plan: dict[str, Any]) -> None:
        plan["config"]["aggregation"].update({"protocol": "bell", "mode": "malicious"})
        plan["facts"]["silos"] += [f"silo-{number}" for number in range(50)]
        plan["capacities"] += [1] * 50

    bell = {"protocols": ("bell",), "modes": ("malicious",)}
    with pytest.raises(PolicyRefusal, match=r"mode must be one of malicious .* has semi-malicious"):
        reviewed(altered(change), policy, require=bell)
    with pytest.raises(PolicyRefusal) as caught:
        reviewed(altered(change), policy, require={**bell, "modes": ("semi-malicious",)})
    assert "aggregation.mode" not in str(caught.value)


def test_up_to_fifty_silos_bell_is_malicious(altered: Callable[..., Any], policy: Policy) -> None:
    def change(plan: dict[str, Any]) -> None:
        plan["config"]["aggregation"].update({"protocol": "bell", "mode": "malicious"})

    approval = reviewed(altered(change), policy, require={"protocols": ("bell",), "modes": ("malicious",)})
    assert approval.plan.config.aggregation.protocol == "bell"


def test_the_policy_of_a_rehearsal_pins_name_and_weights(folder: ConsortiumFolder) -> None:
    plan = load_plan(folder.server.path / "plan.json")
    model = build_model("logistic", plan.facts.feature_shape, plan.facts.num_classes, seed=0)
    own = load_policy(folder.policy("hungary"))
    assert own.require.models == (
        f"logistic@sha256:{described(model, plan.facts.feature_shape).model_digest}",
    )


def test_weights_beside_the_policy_are_found_there(
    folder: ConsortiumFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = folder.policy("cleveland")
    path.write_text(path.read_text().replace("[data]", '[data]\nresidual = "weights.npz"'))
    monkeypatch.chdir(tmp_path)
    assert load_policy(path).data.residual == path.parent.resolve() / "weights.npz"


@pytest.mark.parametrize("capacities", [[], [1, 1, 1], [1, 1, 1, 0], [1, 1, 1, 1.0], [1, 1, 1, True]])
def test_every_silo_has_a_capacity(
    altered: Callable[..., Any], policy: Policy, capacities: list[Any]
) -> None:
    with pytest.raises(PolicyRefusal) as caught:
        reviewed(altered(lambda plan: plan.update(capacities=capacities)), policy)
    assert "a positive number for every silo" in str(caught.value) or "of Plan" in str(caught.value)
    assert caught.value.code is RefusalCode.PLAN


def test_numbers_that_overflow_are_one_refusal(altered: Callable[..., Any], policy: Policy) -> None:
    def change(plan: dict[str, Any]) -> None:
        plan["facts"]["feature_norm_bound"] = 1e308

    with pytest.raises(PolicyRefusal, match=r"facts\.feature_norm_bound' must be from 2\^-40 to 2\^40"):
        reviewed(altered(change), policy)


def unlike_its_config(plan: dict[str, Any]) -> None:
    plan_again(plan)
    plan["grid"]["l2_sensitivity"] *= 2


def beyond_the_budget(plan: dict[str, Any]) -> None:
    plan["config"]["privacy"]["epsilon"] = 90.0
    plan_again(plan)


@pytest.mark.parametrize("change", [unlike_its_config, beyond_the_budget, plan_again])
def test_a_factory_is_imported_last(
    altered: Callable[..., Any], policy: Policy, own_code: Path, change: Callable[[Any], None]
) -> None:
    """After the plan followed from its config, fitted the budget, and was approved by a person."""

    def named_and_changed(plan: dict[str, Any]) -> None:
        named("clinic:factory")(plan)
        change(plan)

    with pytest.raises(PolicyRefusal):
        reviewed(
            altered(named_and_changed), policy, require={"models": ("clinic:factory",), "approval": "person"}
        )
    assert not own_code.exists()
