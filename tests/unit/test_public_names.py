"""The public names are what `__all__` says, each is found, and importing the package is light."""

import subprocess
import sys

import pytest

import discreet


@pytest.mark.parametrize("name", discreet.__all__)
def test_every_public_name_is_found_and_documented(name: str) -> None:
    found = getattr(discreet, name)
    assert name.startswith("__") or found.__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = discreet.magic


def test_importing_the_package_imports_neither_torch_nor_scipy() -> None:
    program = "import sys, discreet; assert not {'torch', 'scipy', 'matplotlib'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
