"""What pytest must not import where an optional package is missing: the modules that need Flower."""

from importlib.util import find_spec

_FLOWER = "src/discreet/engines/flower"
_IMPORT_FLWR = ("client_app", "grid_wire", "server_app")

collect_ignore = (
    []
    if find_spec("flwr")
    else ["tests/support/local_grid.py", *(f"{_FLOWER}/{name}.py" for name in _IMPORT_FLWR)]
)
