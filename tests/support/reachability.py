"""Which definitions of a package some entry points can reach, by name, over the syntax tree.

A place is a top-level function, class or assignment of a module, or a method. It reaches what its text
names: names of its own module, imported names, attributes of imported modules. An attribute ``x.m`` reaches
the method ``m`` of every reached class, since types are not inferred. Reaching anything in a module reaches
the module's loose statements and what it registers by a decorator such as ``@app.command()``.

Limits. Too generous: methods go by their name alone. Too strict: a name that is put together at run time,
such as an argument of ``getattr``, is not seen and must be an entry point. Annotations of functions and of
dataclasses, unions of types, patterns of ``case`` and what ``isinstance`` asks about reach nothing but
protocols, aliases and what they call: telling a value apart does not make one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

LOOSE = ""
"""The name of a module's loose statements."""

Place = tuple[str, str]
"""A module, and a name in it: ``f``, ``Class``, ``Class.method`` or `LOOSE`."""

_FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
_KEEP_NOTHING_OUTSIDE = {"ABC", "Enum", "Exception", "Generic", "NamedTuple", "Protocol", "StrEnum"}


@dataclass
class _Module:
    """What one module defines and imports."""

    name: str
    definitions: dict[str, list[ast.AST]] = field(default_factory=dict)
    imports: dict[str, Place] = field(default_factory=dict)

    def define(self, name: str, *nodes: ast.AST) -> None:
        """Adds to what a name stands for; loose statements and overloads come together."""
        self.definitions.setdefault(name, []).extend(nodes)


@dataclass(frozen=True)
class _Named:
    """What a text names: places, attributes of anything, and names in annotations."""

    places: set[Place] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    annotated: set[Place] = field(default_factory=set)


class Package:
    """The modules below one folder, as a graph of definitions."""

    def __init__(self, folder: Path) -> None:
        self._modules = {module.name: module for module in _parsed(folder)}

    def definitions(self) -> Iterator[Place]:
        """Yields every function, class and method, private ones too."""
        for module in self._modules.values():
            for name, nodes in module.definitions.items():
                if name != LOOSE and any(isinstance(node, (*_FUNCTION, ast.ClassDef)) for node in nodes):
                    yield module.name, name

    def reached(self, entries: Iterable[Place]) -> set[Place]:
        """Returns every place that the entries reach, themselves included."""
        seen: set[Place] = set()
        attributes: set[str] = set()
        methods: dict[str, list[Place]] = {}
        waiting = list(entries)
        while waiting:
            place = self._home(waiting.pop())
            if place is None or place in seen:
                continue
            seen.add(place)
            named = self._named(place)
            waiting += [(place[0], LOOSE), *named.places]
            waiting += filter(self._names_more, named.annotated)
            for attribute in named.attributes - attributes:
                waiting += methods.get(attribute, [])
            attributes |= named.attributes
            for method in self._methods(place):
                attribute = method[1].rpartition(".")[2]
                methods.setdefault(attribute, []).append(method)
                if attribute in attributes or self._is_called_by_others(place, attribute):
                    waiting.append(method)
        return seen

    def _home(self, place: Place) -> Place | None:
        """Follows imports to where a name is defined; None outside of the package."""
        while place[0] in self._modules:
            module = self._modules[place[0]]
            if place[1] == LOOSE or place[1] in module.definitions:
                return place
            if place[1] in module.imports:
                place = module.imports[place[1]]
            else:
                submodule = f"{place[0]}.{place[1]}"
                return (submodule, LOOSE) if submodule in self._modules else None
        return None

    def _nodes(self, place: Place | None) -> list[ast.AST]:
        return [] if place is None else self._modules[place[0]].definitions.get(place[1], [])

    def _named(self, place: Place) -> _Named:
        text = _Text(self._modules[place[0]])
        for node in self._nodes(place):
            text.look(node)
        return text.named

    def _methods(self, place: Place) -> list[Place]:
        if not any(isinstance(node, ast.ClassDef) for node in self._nodes(place)):
            return []
        names = self._modules[place[0]].definitions
        return [(place[0], name) for name in names if name.startswith(f"{place[1]}.")]

    def _is_protocol(self, place: Place) -> bool:
        classes = [node for node in self._nodes(self._home(place)) if isinstance(node, ast.ClassDef)]
        return any(_base_name(base) == "Protocol" for node in classes for base in node.bases)

    def _names_more(self, place: Place) -> bool:
        """Whether what an annotation names is a protocol or the alias of other types."""
        nodes = self._nodes(self._home(place))
        is_alias = bool(nodes) and not any(isinstance(node, (*_FUNCTION, ast.ClassDef)) for node in nodes)
        return is_alias or self._is_protocol(place)

    def _is_called_by_others(self, place: Place, method: str) -> bool:
        """Special methods, declarations of a protocol, and methods that may override one from outside."""
        return method.startswith("__") or self._is_protocol(place) or self._has_outside_base(place)

    def _has_outside_base(self, place: Place) -> bool:
        for node in self._nodes(place):
            for base in node.bases if isinstance(node, ast.ClassDef) else []:
                name = _base_name(base)
                home = self._home((place[0], name))
                if home is None and name not in _KEEP_NOTHING_OUTSIDE:
                    return True
                if home is not None and self._has_outside_base(home):
                    return True
        return False


class _Text(ast.NodeVisitor):
    """Collects what a definition's text names."""

    def __init__(self, module: _Module) -> None:
        self._module = module
        self.named = _Named()

    def look(self, node: ast.AST) -> None:
        """Visits a definition; a class without its methods, which are places of their own."""
        if not isinstance(node, ast.ClassDef):
            # ``Event = Release | Failure`` names types, and makes none of them.
            self._annotation(node) if isinstance(node, ast.BinOp) else self.visit(node)
            return
        parts = [*node.bases, *node.decorator_list, *(word.value for word in node.keywords)]
        for part in (*parts, *(inner for inner in node.body if not isinstance(inner, _FUNCTION))):
            if isinstance(part, ast.AnnAssign) and _is_dataclass(node):
                self._annotation(part.annotation)
                self._visit_all([part.value])
            else:
                self.visit(part)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Looks into decorators, defaults and body. A registered function's annotations are read by typer."""
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        annotations = [argument.annotation for argument in every] + [node.returns]
        if _registers(node) or self._module.name.startswith("discreet.cli."):
            self._visit_all(annotations)
        else:
            self._annotation(*annotations)
        self._visit_all([*node.decorator_list, *arguments.defaults, *arguments.kw_defaults, *node.body])

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815 (the name that NodeVisitor looks for)

    def visit_MatchClass(self, node: ast.MatchClass) -> None:
        """Looks into the parts of a pattern, not at the class that it tells apart."""
        self.named.attributes.update(node.kwd_attrs)
        self._visit_all([*node.patterns, *node.kwd_patterns])

    def visit_Call(self, node: ast.Call) -> None:
        """Leaves out the classes that ``isinstance`` asks about."""
        asks = isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        arguments = node.args[:1] if asks else [*node.args, *(word.value for word in node.keywords)]
        self._visit_all([node.func, *arguments])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """A local import reaches what it names."""
        self.named.places.update(place for _, place in _imported(node))

    def visit_Name(self, node: ast.Name) -> None:
        """A name is a definition of the module, an import, or a variable."""
        if node.id in self._module.definitions:
            self.named.places.add((self._module.name, node.id))
        elif node.id in self._module.imports:
            self.named.places.add(self._module.imports[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """``module.name`` is that definition; any attribute may be a method of that name."""
        self.named.attributes.add(node.attr)
        if isinstance(node.value, ast.Name) and node.value.id in self._module.imports:
            self.named.places.add((".".join(self._module.imports[node.value.id]), node.attr))
        self.visit(node.value)

    def _annotation(self, *annotations: ast.AST | None) -> None:
        """Collects the types that are named, and looks into calls, as in ``Annotated[bytes, sized(4)]``."""
        inner = _Text(self._module)
        inner._visit_all(annotations)
        self.named.annotated.update(inner.named.places)
        for annotation in annotations:
            self._visit_all(each for each in ast.walk(annotation or ast.Pass()) if isinstance(each, ast.Call))

    def _visit_all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self.visit(node)


def imported_names(source: str) -> set[Place]:
    """Returns what a program imports by ``from … import …``, anywhere in it."""
    statements = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom))
    return {place for statement in statements for _, place in _imported(statement)}


def _parsed(folder: Path) -> Iterator[_Module]:
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder.parent).with_suffix("").parts
        module = _Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        for statement in ast.parse(path.read_text(encoding="utf-8")).body:
            _add(module, statement)
        yield module


def _add(module: _Module, statement: ast.stmt) -> None:
    match statement:
        case ast.ImportFrom():
            module.imports.update(_imported(statement))
        case ast.If(test=ast.Name(id="TYPE_CHECKING"), body=body):
            imports = (inner for inner in body if isinstance(inner, ast.ImportFrom))
            module.imports.update(found for inner in imports for found in _imported(inner))
        case ast.ClassDef(name=name, body=body):
            module.define(name, statement)
            for inner in body:
                if isinstance(inner, _FUNCTION):
                    module.define(f"{name}.{inner.name}", inner)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            module.define(name, statement)
            if _registers(statement):
                module.define(LOOSE, ast.Name(name, ast.Load()))
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name != "__all__":
            module.define(name, value)
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            module.define(name, value)
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            pass
        case _:
            module.define(LOOSE, statement)


def _is_dataclass(node: ast.ClassDef) -> bool:
    """Whether a class only holds what others make; a table of pydantic makes what its fields name."""
    called = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    return any(isinstance(each, ast.Name) and each.id == "dataclass" for each in called)


def _registers(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a decorator such as ``@app.command()`` hands the function to something."""
    called = [each.func if isinstance(each, ast.Call) else each for each in function.decorator_list]
    return any(isinstance(each, ast.Attribute) for each in called)


def _base_name(base: ast.expr) -> str:
    root = base.value if isinstance(base, ast.Subscript) else base
    return root.id if isinstance(root, ast.Name) else ""


def _imported(statement: ast.ImportFrom) -> Iterator[tuple[str, Place]]:
    for alias in statement.names:
        yield alias.asname or alias.name, (statement.module or "", alias.name)
