"""The extension imports no module of the package, which imports the extension: package.def has what it calls."""

import re

from tree import CHECKOUT, Tree, check, make_tree

IMPORT = re.compile(r'(?:\bimport|\bimport_|PyImport_\w+)\(\s*"strata\b([\w.]*)')


def imports_of_the_package(tree):
    out = {}
    for file in tree.product(suffixes=(".cpp", ".h", ".inc")):
        for found in IMPORT.finditer(tree.text(file)):
            out[f"{file}:strata{found[1]}"] = f"{file} imports strata{found[1]}"
    return out


def test_no_cpp_imports_the_package():
    check(
        imports_of_the_package(Tree(CHECKOUT)),
        set(),
        "Add a row to bindings/python/package.def, register it in python/strata/__init__.py, and call it.",
    )


def test_an_import_of_the_package_is_found(tmp_path):
    tree = make_tree(
        tmp_path,
        {
            "bindings/python/a.cpp": 'py::module_::import("strata.linalg").attr("norm");\n',
            "bindings/python/b.cpp": 'PyImport_ImportModule("strata");\n',
            "bindings/python/c.cpp": 'py::module_::import("numpy"); py::module_::import("stratagem");\n',
        },
    )
    assert set(imports_of_the_package(tree)) == {
        "bindings/python/a.cpp:strata.linalg",
        "bindings/python/b.cpp:strata",
    }
