"""A coordinator's signature cannot be forged, exchanged or taken away where its key is known."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.cli import main
from discreet.errors import EXIT_BAD_REQUEST
from discreet.report import write_report
from discreet.silo.policy import generate_key, load_key
from discreet.verify import VerificationFailure, seal, seal_report, sign, verify
from discreet.verify.finding import Basis
from discreet.verify.signature import SIGNATURE, read_signature

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def copy(signed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(signed, tmp_path / "run"))


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["discreet", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out + captured.err

    return run


def public(key: Path) -> str:
    return load_key(key).public_key.hex()


def test_a_signed_run_is_verified_by_the_key_that_is_known(copy: Path, key: Path) -> None:
    told = {finding.subject: finding for finding in verify(copy, key=public(key).upper())}
    assert told["signature"].basis is Basis.SIGNED
    assert told["signature"].detail.endswith("the key that was given")
    told = {finding.subject: finding for finding in verify(copy)}
    assert f"{public(key)}; is it the coordinator's?" in told["signature"].detail


def test_the_report_names_the_signer(copy: Path, key: Path) -> None:
    assert public(key) in (copy / "report.html").read_text()
    assert f'"signer": "{public(key)}"' in (copy / "report.json").read_text()


def test_a_run_that_was_altered_and_sealed_again_has_no_signature(copy: Path, key: Path) -> None:
    text = (copy / "comparison.json").read_text()
    (copy / "comparison.json").write_text(text + " ")
    seal(copy)
    with pytest.raises(VerificationFailure, match="must be a signature of this manifest"):
        list(verify(copy, key=public(key)))


def test_a_signature_of_another_run_does_not_fit(
    copy: Path, key: Path, finished: Path, tmp_path: Path
) -> None:
    other = Path(shutil.copytree(finished, tmp_path / "other"))
    sign(other, load_key(key))
    shutil.copy(other / SIGNATURE, copy / SIGNATURE)
    with pytest.raises(VerificationFailure, match="must be a signature of this manifest"):
        list(verify(copy))


def test_a_signature_that_was_taken_away_is_missed(copy: Path, key: Path) -> None:
    (copy / SIGNATURE).unlink()
    with pytest.raises(VerificationFailure, match=r"report\.json: 'signer'"):
        list(verify(copy))
    write_report(copy)
    seal_report(copy)
    list(verify(copy))
    with pytest.raises(VerificationFailure, match="the run is unsigned"):
        list(verify(copy, key=public(key)))


def test_the_signature_of_somebody_else_is_found(copy: Path, key: Path, tmp_path: Path) -> None:
    stranger = generate_key(tmp_path / "stranger.key")
    sign(copy, stranger)
    with pytest.raises(VerificationFailure, match="must be by the key that was given"):
        list(verify(copy, key=public(key)))
    with pytest.raises(VerificationFailure, match=r"report\.json: 'signer'"):
        list(verify(copy))


def test_the_same_bytes_signed_for_another_purpose_are_refused(copy: Path, key: Path) -> None:
    from discreet.verify import manifest_digest
    from discreet.verify.signature import RunSignature

    bare = load_key(key).sign(bytes.fromhex(manifest_digest(copy)))
    (copy / SIGNATURE).write_bytes(RunSignature(public(key), bare.hex()).serialise())
    with pytest.raises(VerificationFailure, match="must be a signature of this manifest"):
        list(verify(copy))


def test_a_signed_run_is_written_again_only_with_the_key(copy: Path, key: Path, command: Command) -> None:
    before = read_signature(copy)
    code, told = command("report", str(copy))
    assert code == EXIT_BAD_REQUEST
    assert "--sign KEY" in told
    assert read_signature(copy) == before
    assert command("report", str(copy), "--sign", str(key))[0] == 0
    assert command("verify", str(copy), "--key", public(key))[0] == 0


def test_an_unfinished_run_cannot_be_signed(run_directory: Path, key: Path, command: Command) -> None:
    (run_directory / "manifest.json").unlink()
    code, told = command("report", str(run_directory), "--sign", str(key))
    assert code == EXIT_BAD_REQUEST
    assert "has not finished" in told
    assert not (run_directory / SIGNATURE).exists()


def test_a_training_is_signed_as_it_ends(tmp_path: Path, key: Path, command: Command) -> None:
    heart = Path(__file__).parents[2] / "support" / "tuned_heart.toml"
    config = tmp_path / "heart.toml"
    config.write_text(heart.read_text().replace("rounds = 8", "rounds = 1").replace("round = 4", "round = 1"))
    out = str(tmp_path / "run")
    assert (
        command("run", str(config), "--out", out, "--sign", str(tmp_path / "absent.key"))[0]
        == EXIT_BAD_REQUEST
    )
    assert not Path(out).exists()
    code, told = command("run", str(config), "--out", out, "-q", "--sign", str(key))
    assert code == 0, told
    assert command("verify", out, "--key", public(key))[0] == 0
    code, told = command("run", str(config), "--out", out, "-q", "--resume")
    assert code == EXIT_BAD_REQUEST
    assert "--sign KEY" in told
