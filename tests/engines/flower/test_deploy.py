"""What deploy/ and the administrator's pages say: units are sound, folders closed, command lines accepted."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import stat
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup

from discreet.cli.lazy import SUMMARIES, load
from discreet.engines.flower.provision import Request, provision

ROOT = Path(__file__).parents[3]
SYSTEMD = ROOT / "deploy" / "systemd"
UNITS = sorted(SYSTEMD.glob("*.service"))
PAGES = [
    ROOT / "docs" / "tutorial" / "four-machines.md",
    *(
        ROOT / "docs" / "how-to" / f"{name}.md"
        for name in ("operate-a-federation", "back-up", "upgrade", "rotate-keys")
    ),
    ROOT / "src" / "discreet" / "engines" / "flower" / "templates" / "README.md.tmpl",
]
# What is built beside these pages; whoever adds one of them takes it off here.
FLOWER = {"flower-superlink", "flower-supernode", "flwr"}


def settings(unit: Path) -> list[tuple[str, str]]:
    """Returns a unit's settings in order; a key may occur several times."""
    lines = unit.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    return [tuple(line.split("=", 1)) for line in lines if re.match(r"\w+=", line)]  # type: ignore[misc]


def unit_commands() -> list[list[str]]:
    files = [*UNITS, *SYSTEMD.glob("discreet-*-metrics.conf")]
    return [
        shlex.split(value) for unit in files for key, value in settings(unit) if key == "ExecStart" and value
    ]


def compose_commands() -> list[list[str]]:
    text = (ROOT / "deploy" / "container" / "compose.yaml").read_text(encoding="utf-8")
    found = re.findall(r"^    command:\n((?:      - .*\n)+)", text, re.M)
    return [[line.split("- ", 1)[1].strip('"') for line in block.splitlines()] for block in found]


def page_commands() -> list[list[str]]:
    """Every line of a block, fenced or indented, that begins with a command of ours or of Flower."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        inline = re.findall(r"`((?:discreet|flwr|flower-\w+) [a-z][^`]* [^`]+)`", text)
        lines = [re.sub(r"^runuser -u [\w-]+ -- ", "", line.strip()) for line in text.splitlines()]
        found += [words_of(line) for line in [*lines, *inline]]
    return [words for words in found if words]


def words_of(line: str) -> list[str]:
    """Returns the words of a command of ours or of Flower, up to a redirection; of anything else none."""
    if not re.match(r"(/opt/discreet/bin/)?(discreet|flwr|flower-\w+) [-a-z]", line):
        return []
    words = shlex.split(line.replace("…", ""), comments=True)
    end = next((place for place, word in enumerate(words) if word in (">", "|", ";")), len(words))
    return words[:end]


COMMANDS = [*unit_commands(), *compose_commands(), *page_commands()]


def ours() -> list[list[str]]:
    return [words[1:] for words in COMMANDS if Path(words[0]).name == "discreet"]


def is_group(command: Any) -> bool:
    return hasattr(command, "list_commands")


def member(group: TyperGroup, name: str) -> Any:
    return group.get_command(group.context_class(group), name)


def unknown_parts(words: list[str]) -> set[str]:
    """Parses a command line with the command itself, without running it; returns what it does not know."""
    if words[0].startswith("-"):
        return set()
    assert words[0] in SUMMARIES, words
    command: Any = load(words[0])
    name, rest = words[0], words[1:]
    if is_group(command):
        name, rest = f"{name} {rest[0]}", rest[1:]
        command = member(command, words[1])
        if command is None:
            return {name}
    unknown = set()
    while rest:  # a verb alone is mentioned, not given
        try:
            command.make_context(name, list(rest))
        except Exception as caught:  # typer has a click of its own in some versions
            if type(caught).__name__ != "NoSuchOption":
                raise
            error: Any = caught
            unknown.add(f"{name} {error.option_name}")
            place = rest.index(error.option_name)
            del rest[place : place + 2]
        else:
            break
    return unknown


def test_every_command_line_of_ours_is_accepted_by_the_command_itself() -> None:
    assert len(ours()) > 30
    unknown = set().union(*map(unknown_parts, ours()))
    assert unknown == set(), "a page or unit names what does not exist"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of flwr's own use of typer
def test_every_command_line_of_flowers_is_accepted_by_flower_itself(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("flwr")
    from flwr.cli.app import app
    from flwr.superlink.cli.flower_superlink import _parse_args_run_superlink
    from flwr.supernode.cli.flower_supernode import _parse_args_run_supernode

    parsers = {
        "flower-superlink": _parse_args_run_superlink(),
        "flower-supernode": _parse_args_run_supernode(),
    }
    seen = set()
    for words in COMMANDS:
        name = Path(words[0]).name
        if name in parsers:
            parsers[name].parse_args(words[1:])  # exits, and fails the test, if it is not accepted
            assert "deprecated" not in capsys.readouterr().err
        elif name == "flwr":
            command: Any = typer.main.get_command(app)
            rest = words[1:]
            while is_group(command):
                command, rest = member(command, rest[0]), rest[1:]
                assert command is not None, words
            command.make_context(name, rest)
        seen.add(name)
    assert seen >= FLOWER


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_units_are_sound_for_systemd(unit: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed; the settings are checked by the test below")
    for one in UNITS:  # they name each other; their programs are not installed here
        text = one.read_text(encoding="utf-8").replace("=/opt/discreet/bin/", "=/bin/true ")
        (tmp_path / one.name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [str(shutil.which("systemd-analyze")), "verify", "--man=no", tmp_path / unit.name],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = [line for line in done.stderr.splitlines() if unit.name in line or "discreet" in line]
    assert not said
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_units_close_what_they_can(unit: Path) -> None:
    found = settings(unit)
    assert {
        ("NoNewPrivileges", "yes"), ("ProtectSystem", "strict"), ("PrivateTmp", "yes"),
        ("ProtectHome", "yes"), ("PrivateDevices", "yes"), ("CapabilityBoundingSet", ""),
        ("Restart", "always"), ("LimitCORE", "0"), ("UMask", "0077"), ("SystemCallFilter", "@system-service"),
    } <= set(found)  # fmt: skip
    user = dict(found)["User"]
    assert user != "root"
    writable = dict(found)["ReadWritePaths"].split()
    assert set(writable) <= {f"/var/lib/{user}", "/run/discreet"}


def test_the_silo_has_no_network_and_the_node_not_the_silos_files() -> None:
    silo, node = (settings(SYSTEMD / f"discreet-{name}.service") for name in ("silo", "supernode"))
    assert {
        ("PrivateNetwork", "yes"),
        ("RestrictAddressFamilies", "AF_UNIX"),
        ("IPAddressDeny", "any"),
    } <= set(silo)
    assert dict(silo)["User"] != dict(node)["User"]
    assert dict(silo)["SupplementaryGroups"] == dict(node)["SupplementaryGroups"] == "discreet-link"
    assert ("InaccessiblePaths", "-/var/lib/discreet-silo") in node
    metrics = settings(SYSTEMD / "discreet-silo-metrics.conf")
    assert {("IPAddressDeny", "any"), ("IPAddressAllow", "localhost")} <= set(metrics)


def test_the_metrics_drop_in_serves_as_the_unit_does() -> None:
    plain, with_metrics = (
        next(value for key, value in settings(SYSTEMD / name) if key == "ExecStart" and value)
        for name in ("discreet-silo.service", "discreet-silo-metrics.conf")
    )
    assert with_metrics.startswith(plain)


@pytest.mark.parametrize("part", ["silo", "server"])
def test_users_and_folders_are_made_as_the_units_need_them(part: str, tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("systemd-sysusers") is None:
        pytest.skip("making users in a scratch root needs root and systemd-sysusers")
    (tmp_path / "etc").mkdir()
    users, folders = (SYSTEMD / f"discreet-{part}.{kind}.conf" for kind in ("sysusers", "tmpfiles"))
    for tool in ("systemd-sysusers", "systemd-tmpfiles"):
        options = ["--create"] if tool == "systemd-tmpfiles" else []
        file = users if tool == "systemd-sysusers" else folders
        done = subprocess.run(
            [tool, f"--root={tmp_path}", *options, file], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    ids = {
        name: int(number)
        for name, number in re.findall(r"^([\w-]+):\w*:(\d+):", (tmp_path / "etc/passwd").read_text(), re.M)
    }
    group = {
        line.split(":")[0]: line.split(":") for line in (tmp_path / "etc/group").read_text().splitlines()
    }
    private = {"silo": ("discreet-silo", "discreet-node"), "server": ("discreet-server",)}[part]
    for user in private:
        found = (tmp_path / "var/lib" / user).stat()
        assert (found.st_uid, stat.S_IMODE(found.st_mode)) == (ids[user], 0o700)
    if part == "silo":
        link = (tmp_path / "run/discreet").stat()
        assert (link.st_uid, link.st_gid) == (ids["discreet-silo"], int(group["discreet-link"][2]))
        assert stat.S_IMODE(link.st_mode) == 0o750
        assert set(group["discreet-link"][3].split(",")) == set(private)


def test_containers_have_users_of_their_own_and_the_silo_no_network() -> None:
    text = (ROOT / "deploy" / "container" / "compose.yaml").read_text(encoding="utf-8")
    services = {
        part.split(":")[0]: part for part in re.split(r"\n  (?=\w+:\n)", text.partition("services:")[2])
    }
    users = {
        name: re.findall(r'user: "(\d+):', services[name])[0] for name in ("silo", "supernode", "superlink")
    }
    assert len(set(users.values())) == len(users)
    made = (ROOT / "deploy" / "container" / "Containerfile").read_text(encoding="utf-8")
    assert set(users.values()) <= set(re.findall(r"--uid (\d+)", made))
    assert "network_mode: none" in services["silo"]
    assert {"cap_drop: [ALL]", "read_only: true"} <= {line.strip() for line in text.splitlines()}
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with Flower")
    assert yaml.safe_load(text)["services"]["silo"]["security_opt"] == ["no-new-privileges:true"]


def test_the_proxy_is_sound_for_nginx_and_passes_one_path_on(tmp_path: Path) -> None:
    text = (ROOT / "deploy" / "nginx" / "discreet.conf").read_text(encoding="utf-8")
    assert re.findall(r"location (\S+) {\s+(\w+)", text) == [("/v1/fleet/", "proxy_pass"), ("/", "return")]
    if shutil.which("nginx") is None:
        pytest.skip("nginx is not installed")
    provision(Request(("127.0.0.1",), (), timedelta(days=1), None), tmp_path / "tls")
    inside = text.replace("/etc/discreet/server/", f"{tmp_path}/tls/server/")
    whole = tmp_path / "nginx.conf"
    whole.write_text(
        f"pid {tmp_path}/pid;\nevents {{}}\nhttp {{\naccess_log off;\n{inside}}}\n", encoding="utf-8"
    )
    done = subprocess.run(
        [str(shutil.which("nginx")), "-t", "-e", tmp_path / "log", "-p", tmp_path, "-c", whole],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_the_proxy_that_is_installed_is_the_one_of_the_page() -> None:
    """The page's block is the one that stands before a real SuperLink in test_front.py."""
    page = (ROOT / "docs" / "how-to" / "keep-users-apart.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```text\n(server {.*?)```", page, flags=re.DOTALL)
    installed = (ROOT / "deploy" / "nginx" / "discreet.conf").read_text(encoding="utf-8")
    _, _, rest = installed.replace("/etc/discreet/server/", "").partition("\n")
    assert rest == block


def test_files_that_the_operators_page_installs_exist_and_links_lead_to_files() -> None:
    page = ROOT / "docs" / "how-to" / "operate-a-federation.md"
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"deploy/[\w./-]+", text)
    assert len(named) >= 8
    for path in named:
        assert (ROOT / path.rstrip(".")).exists(), path
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target


def test_every_unit_user_of_the_compose_file_and_every_path_is_made_by_tmpfiles() -> None:
    made = " ".join(path.read_text(encoding="utf-8") for path in SYSTEMD.glob("*.tmpfiles.conf"))
    for unit in UNITS:
        for key, value in settings(unit):
            if key in ("WorkingDirectory", "ReadWritePaths"):
                for folder in value.split():
                    assert f"d {folder} " in made, folder
