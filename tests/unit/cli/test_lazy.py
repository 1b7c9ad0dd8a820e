"""Commands are imported when they are called; what the help says of them is what they say of themselves."""

import subprocess
import sys

import pytest

from discreet.cli.lazy import SUMMARIES, load


def alone(program: str) -> subprocess.CompletedProcess[str]:
    """Runs ``program`` in an interpreter of its own, where nothing was imported before."""
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_summary_is_the_commands_own(name: str) -> None:
    own = (load(name).help or "").strip().split("\n\n")[0].replace("\n", " ")
    assert own == SUMMARIES[name]


def test_accounting_does_not_wait_for_torch() -> None:
    program = (
        "import sys; sys.argv = ['discreet', 'account', '--help']\n"
        "from discreet.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "assert 'torch' not in sys.modules, 'torch was imported'\n"
        "assert 'matplotlib' not in sys.modules, 'matplotlib was imported'\n"
    )
    done = alone(program)
    assert done.returncode == 0, done.stderr
    assert "--noise-multiplier" in done.stdout


def test_training_starts_its_workers_before_it_waits_for_torch() -> None:
    program = (
        "import sys\n"
        "from discreet.cli.lazy import load\n"
        "load('run')\n"
        "assert 'discreet.engines.local.processes' in sys.modules\n"
        "assert 'torch' not in sys.modules, 'torch was imported'\n"
    )
    done = alone(program)
    assert done.returncode == 0, done.stderr


def test_an_interrupt_while_a_command_is_imported_is_no_traceback() -> None:
    program = (
        "import sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'discreet.cli.app':\n            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from discreet.cli import main\n"
        "main()\n"
    )
    done = alone(program)
    assert (done.returncode, done.stderr) == (130, "")
