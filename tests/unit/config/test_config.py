"""The config is strict: every mistake gets one clear line with the key's full name."""

import copy
from pathlib import Path
from typing import Any

import pytest

from discreet.config import load_config, parse_config
from discreet.errors import EXIT_BAD_REQUEST, ConfigurationError

VALID: dict[str, Any] = {
    "data": {"source": "heart-disease", "record_capacity": 100},
    "training": {"rounds": 5, "local": {"kind": "stable-steps", "learning_rate": 0.1, "steps": 3}},
    "privacy": {"epsilon": 1.0, "delta": 1e-5},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    data = copy.deepcopy(VALID)
    table = data
    *parents, key = path.split(".")
    for parent in parents:
        table = table.setdefault(parent, {})
    table[key] = value
    return data


def test_a_valid_config_has_the_safe_defaults() -> None:
    config = parse_config(VALID)
    assert config.privacy.unit == "record"
    assert config.privacy.mechanism == "rounded-gaussian"
    assert config.aggregation.protocol == "bonawitz"
    assert config.run.seed is None
    assert config.run.compare is False


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("training.roundz", 3, "unknown key 'training.roundz'. Did you mean 'rounds'?"),
        ("training.local.step", 3, "unknown key 'training.local.step'. Did you mean 'steps'?"),
        ("privacy.epsilon", 0.0, "'privacy.epsilon': must be above 0; got 0.0"),
        ("privacy.epsilon", -1, "'privacy.epsilon': must be above 0; got -1"),
        ("privacy.epsilon", float("nan"), "'privacy.epsilon': must be a finite number"),
        ("privacy.epsilon", float("inf"), "'privacy.epsilon': must be a finite number"),
        ("privacy.delta", 1.0, "'privacy.delta': must be below 1; got 1.0"),
        ("privacy.delta", 0.0, "'privacy.delta': must be above 0"),
        ("privacy.noise_multiplier", 2.0, "exactly one of 'epsilon' and 'noise_multiplier'"),
        ("training.rounds", 0, "'training.rounds': must be at least 1; got 0"),
        ("privacy.epsilon", "1", "'privacy.epsilon': must be a number; got '1'."),
        ("privacy.delta", True, "'privacy.delta': must be below 1; got True."),
        ("run.seed", True, "'run.seed': must be a number; got True."),
        ("run.evaluate", 1, "'run.evaluate': must be true or false; got 1."),
        ("data.record_capacity", {"tiny": 0}, "'data.record_capacity.tiny': must be at least 1; got 0."),
        ("data.record_capacity", {"tiny": "9"}, "'data.record_capacity.tiny': must be a number; got '9'."),
        ("data.classes", ["No", "No"], "classes must be different texts; 'No' is there more than once"),
        ("training.local.kind", "magic", "'training.local': must be a table whose 'kind' is one of"),
        ("training.local.records_per_step", 8, "'training.local': exactly one of 'steps' and"),
        ("training.sampling", {"kind": "poisson", "probability": 1.5}, "'training.sampling.probability'"),
        ("training.sampling", {"kind": "poisson", "prob": 0.5}, "unknown key 'training.sampling.prob'"),
        ("aggregation.min_survivors", 1, "'aggregation.min_survivors'"),
        ("aggregation.protocol", "plain", "'aggregation.protocol'"),
        (
            "run.dropouts",
            [{"silo": "a", "rond": 1}],
            "unknown key 'run.dropouts.0.rond'. Did you mean 'round'?",
        ),
        (
            "silos.west",
            {"epsilon": 0.3},
            "state a lower learning_rate",
        ),
        ("silos.west", {"step": 3}, "unknown key 'silos.west.step'. Did you mean 'steps'?"),
        ("data.standardise", True, 'must be a table, such as { kind = "private" }; got True.'),
        ("data.project", "pca", "such as { kind = \"private-pca\", components = 32 }; got 'pca'."),
        ("data.centre", {"kind": "private", "share": 1e-300}, "'data.centre.share': must be a number from"),
        ("data.centre", {"kind": "private", "share": 0.95}, "a number from 0.001 to 0.9, such as 0.1; got"),
        ("data.centre", {"kind": "private", "share": float("nan")}, "must be a number from 0.001 to 0.9,"),
        ("data.centre", {"kind": "private", "share": True}, "such as 0.1; got True."),
        ("training.local.class_weights", {"kind": "private", "most": 1}, "must be above 1; got 1."),
        ("privacy.clip_norm", "Auto", "a table with a 'quantile', or \"auto\"; got 'Auto'."),
        (
            "privacy.clip_norm",
            {"quantile": 0.5, "initial": 0},
            "clip_norm.initial': must be a number",
        ),
        ("privacy.clip_norm", {}, "the key 'privacy.clip_norm.quantile' must be given"),
        ("training.server", "Auto", "or \"auto\"; got 'Auto'."),
        ("datta", {}, "unknown key 'datta'. Did you mean 'data'?"),
    ],
)
def test_a_mistake_gets_one_line_that_names_the_key(path: str, value: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_config(changed(path, value))
    text = str(caught.value)
    assert message in text
    assert "\n" not in text
    assert caught.value.exit_code == EXIT_BAD_REQUEST


def test_a_missing_table_is_named() -> None:
    data = copy.deepcopy(VALID)
    del data["privacy"]
    with pytest.raises(ConfigurationError, match="the key 'privacy' must be given"):
        parse_config(data)


def test_a_missing_file_and_broken_toml_are_one_line_each(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="must be a readable file"):
        load_config(tmp_path / "absent.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("[data\n")
    with pytest.raises(ConfigurationError, match=r"broken\.toml must be valid TOML"):
        load_config(broken)


def test_a_config_is_immutable() -> None:
    config = parse_config(VALID)
    with pytest.raises(ValueError, match="frozen"):
        config.name = "other"  # type: ignore[misc]


@pytest.mark.parametrize("words", ["", " ", "a" * 2001, "\x1b[2J", 3])
def test_what_is_said_about_a_training_is_short_printable_text(words: object) -> None:
    with pytest.raises(ConfigurationError, match=r"'about\.purpose'"):
        parse_config(changed("about", {"purpose": words}))


def test_what_is_said_about_a_training_may_have_lines() -> None:
    about = parse_config(changed("about", {"purpose": "one\ntwo"})).about
    assert about is not None
    assert about.purpose == "one\ntwo"
