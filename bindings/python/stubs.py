"""Writes the type stubs of strata._strata and its submodules: from the signatures and docstrings of the built module.

    python stubs.py FOLDER_OF_THE_BUILT_PACKAGE

pybind11 writes a signature in front of each docstring; types that Strata's casters name are those of _types.pyi.
"""

import ast
import importlib.machinery
import importlib.util
import re
import sys
import types
from pathlib import Path

# pybind11's text -> Python's.
LOOSE = {
    r"typing\.SupportsInt(?: \| typing\.SupportsIndex)?": "int",
    r"typing\.SupportsFloat(?: \| typing\.SupportsIndex)?": "float",
    r"(?:typing\.)?Annotated\[([\w.]+\[[^\]]*\]), \"?FixedSize\(\d+\)\"?\]": r"\1",
}
MODULES = {"_lang", "_layout", "dtypes", "emulator", "functional", "operations", "uop"}
IMPORTS = {
    "collections.abc": {"Callable", "Iterable", "Iterator", "Mapping", "Sequence"},
    "types": {"EllipsisType", "ModuleType", "TracebackType"},
    "typing": {"Any", "ClassVar", "Literal"},
    "numpy.typing": {"NDArray"},
    "typing_extensions": {"CapsuleType", "Self"},
}
GIVEN = {
    "__doc__",
    "__module__",
    "__dict__",
    "__weakref__",
    "__new__",
    "__annotations__",
    "__pybind11_module_local__",
    "_pybind11_conduit_v1_",
}
OVERRIDES = {"__eq__", "__ne__"}  # their results are tensors or nodes, not bools


def load(folder):
    path = next(p for p in folder.glob("_strata.*") if p.name.endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES)))
    spec = importlib.util.spec_from_file_location("strata._strata", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(a):
    """Parameters as people write them."""
    initial = [None] * (len(a.posonlyargs) + len(a.args) - len(a.defaults)) + [*a.defaults]

    def named(p, default):
        kind = f": {ast.unparse(p.annotation)}" if p.annotation else ""
        return p.arg + kind + (f" = {ast.unparse(default)}" if default else "")

    def any_of(p):
        return ": " + (ast.unparse(p.annotation) if p.annotation else "Any")

    for p, default in [*zip(a.posonlyargs + a.args, initial), *zip(a.kwonlyargs, a.kw_defaults)]:
        kind = ast.unparse(p.annotation) if p.annotation and default and ast.unparse(default) == "None" else "None"
        if not re.search(r"\b(None|Any|Axes)\b", kind):
            p.annotation = ast.BinOp(p.annotation, ast.BitOr(), ast.Constant(None))
    out = [named(p, d) for p, d in zip(a.posonlyargs + a.args, initial)]
    if a.posonlyargs:
        out.insert(len(a.posonlyargs), "/")
    if a.vararg or a.kwonlyargs:
        out.append("*" + (a.vararg.arg + any_of(a.vararg) if a.vararg else ""))
    out += [named(p, d) for p, d in zip(a.kwonlyargs, a.kw_defaults)]
    return ", ".join(out + (["**" + a.kwarg.arg + any_of(a.kwarg)] if a.kwarg else []))


def refuses(member):
    """Is it there only to say what to write instead?"""
    return (member.__doc__ or "").partition("\n")[0].endswith("-> Never")


class Stub:
    """The text of one module's stub."""

    def __init__(self, module, siblings, aliases):
        self.module, self.name = module, module.__name__.rsplit(".", 1)[-1]
        self.siblings, self.aliases = siblings, aliases  # name -> stub that defines it
        self.lines, self.used = [], set()
        # Builtin types that are members of the module, or of the class being written.
        self.outer = {"bool", "complex", "float", "int"} & set(vars(module)) if self.name == "_strata" else set()
        self.shadowed = self.outer

    def text(self):
        for name, value in vars(self.module).items():
            self.member(name, value)
        doc = f'"""{self.module.__doc__}"""\n'
        return "\n".join([doc, *self.imports(), *self.lines]) + "\n"

    def imports(self):
        out = [
            f"from {source} import {', '.join(sorted(names & self.used))}"
            for source, names in IMPORTS.items()
            if names & self.used
        ]
        if "np" in self.used:
            out.insert(0, "import numpy as np")
        if "builtins" in self.used:
            out.insert(0, "import builtins")
        if self.name == "_strata":
            out += [f"from . import {m} as {m}" for m in sorted(MODULES)]
        own = set(vars(self.module))
        for stub in sorted(set(self.siblings.values()) - {self.name}):
            names = {n for n in self.used if self.siblings.get(n) == stub} - own
            if names:
                out.append(f"from .{stub} import {', '.join(sorted(names))}")
        if self.aliases & self.used:
            out.append(f"from ._types import {', '.join(sorted(self.aliases & self.used))}")
        return [*out, ""] if out else out

    def member(self, name, value):
        if isinstance(value, type):
            self.class_(name, value)
        elif callable(value) and not type(value).__module__.startswith("strata"):  # an element type is an object
            self.function(name, value.__doc__, "")
            self.lines.append("")
        elif not name.startswith("__") and name not in MODULES:
            self.attribute(name, value, "")

    def class_(self, name, cls):
        bases = [b.__name__ for b in cls.__bases__ if b.__name__ not in ("object", "pybind11_object")]
        self.used |= set(bases)
        self.lines.append(f"class {name}{'(' + ', '.join(bases) + ')' if bases else ''}:")
        start = len(self.lines)
        self.shadowed = self.outer | {"bool", "complex", "float", "int"} & set(vars(cls))
        self.used |= {"builtins"} if self.shadowed else set()
        if cls.__doc__:
            self.docstring(cls.__doc__, "    ")
        for attribute, annotation in vars(cls).get("__annotations__", {}).items():
            self.lines.append(f"    {attribute}: {annotation}")
        for member, value in vars(cls).items():
            if member in GIVEN or (member == "__init__" and isinstance(value, types.WrapperDescriptorType)):
                continue  # the latter: of a class that Python cannot make
            if member == "__call__" and isinstance(value, types.WrapperDescriptorType):  # a slot, of anything
                self.used.add("Any")
                self.lines.append("    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...")
                continue
            if refuses(value):
                continue
            if isinstance(value, property):
                self.property(member, value)
            elif isinstance(value, staticmethod):
                self.lines.append("    @staticmethod")
                self.function(member, value.__func__.__doc__, "    ")
            elif member == "__hash__":
                self.lines.append(f"    def __hash__(self) -> {self.builtin('int')}: ...")
            elif callable(value):
                self.function(member, value.__doc__, "    ")
            else:
                self.attribute(member, value, "    ")
        self.shadowed = self.outer
        if len(self.lines) == start:
            self.lines[-1] += " ..."
        self.lines.append("")

    def attribute(self, name, value, indent):
        kind = type(value).__name__
        kind = f"list[{type(value[0]).__name__}]" if kind == "list" else "Any" if kind == "module" else kind
        self.annotation(kind)
        kind = self.builtin(kind)
        self.lines.append(f"{indent}{name}: {f'ClassVar[{kind}]' if indent else kind}")
        if indent:
            self.used.add("ClassVar")

    def builtin(self, name):
        return f"builtins.{name}" if name in self.shadowed else name

    def property(self, name, value):
        result = self.signature(value.fget.__doc__)[1]
        self.lines += ["    @property", f"    def {name}(self) -> {result}:"]
        self.docstring(value.__doc__, "        ")

    def function(self, name, doc, indent):
        parameters, result, text = self.signature(doc)
        line = f"{indent}def {name}({parameters}) -> {result}:"
        self.lines.append(line)
        self.docstring(text, indent + "    ")
        if name in OVERRIDES and result != "bool":
            self.lines[-1] += "  # type: ignore[override]"

    def docstring(self, text, indent):
        text = (text or "").strip()
        if not text:
            self.lines[-1] += " ..."
            return
        first, *rest = text.split("\n")
        self.lines.append(f'{indent}"""{first}' + ("" if rest else '"""'))
        self.lines += [f"{indent}{line}".rstrip() for line in rest]
        if rest:
            self.lines.append(f'{indent}"""')

    def signature(self, doc):
        """(parameters, result, the text below) of a docstring that begins with its signature."""
        first, _, text = doc.partition("\n")
        name = first.partition("(")[0]
        if "->" not in first or "::" in first or not re.fullmatch(r"\w*", name):
            sys.exit(f"{self.name}: no signature that Python can read (is a type bound after its use?): {doc!r}")
        function = ast.parse(f"def _{self.annotation(first)}: ...").body[0]
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id in self.shadowed:
                node.id = f"builtins.{node.id}"
                self.used.add("builtins")
        a = function.args
        unnamed = [
            i for i, p in enumerate(a.args, 1) if re.fullmatch(r"arg\d+", p.arg)
        ]  # pybind11's names are not to be used
        split = max(unnamed, default=0)
        a.posonlyargs, a.args = a.posonlyargs + a.args[:split], a.args[split:]
        for p in (a.posonlyargs + a.args)[:1]:
            p.annotation = None if p.arg == "self" else p.annotation
        if [p.arg for p in a.posonlyargs] == ["self"]:
            a.posonlyargs, a.args = [], a.posonlyargs + a.args
        self.used.add("Any" if any(p and not p.annotation for p in (a.vararg, a.kwarg)) else "")
        return written(a), ast.unparse(function.returns), text

    def annotation(self, text):
        """Without module names; what is used is remembered for the imports."""
        for loose, meant in LOOSE.items():
            text = re.sub(loose, meant, text)
        text = re.sub(rf"\bstrata\.(?:layout\.|_strata\.(?:(?:{'|'.join(MODULES)})\.)?)", "", text)
        text = re.sub(r"\b(?:typing|typing_extensions|types|collections\.abc|numpy\.typing|uop)\.(?=[A-Z])", "", text)
        text = re.sub(r"\bnumpy\.", "np.", text)
        self.used |= set(re.findall(r"\b[A-Za-z_]\w*", text))
        return text


def main(folder):
    root = load(folder)
    modules = [root] + [getattr(root, name) for name in sorted(MODULES)]
    defined = {
        name: m.__name__.rsplit(".", 1)[-1]
        for m in modules
        for name, value in vars(m).items()
        if isinstance(value, type)
    }
    names = ast.parse((folder / "_types.pyi").read_text())
    aliases = {node.target.id for node in names.body if isinstance(node, ast.AnnAssign)}
    for module in modules:
        stub = Stub(module, defined, aliases)
        path = folder / f"{stub.name}.pyi"
        path.unlink(missing_ok=True)  # a link, where an older build was
        path.write_text(stub.text())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
