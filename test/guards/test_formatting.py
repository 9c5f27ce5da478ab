"""C++ looks as clang-format-19 with .clang-format writes it. Tables are laid out by hand: .def files, and .inc files
whose first line describes a row.
"""

import re
import subprocess

from tree import CHECKOUT, Tree, check, make_tree


def formatted_by_tool(tree, file):
    if not file.endswith((".cpp", ".h", ".inc")) or tree.generated(file):
        return False
    return not (file.endswith(".inc") and re.match(r"// \w+\( ", tree.text(file)))


def unformatted(tree):
    files = [f for f in tree.files if formatted_by_tool(tree, f)]
    run = subprocess.run(["clang-format-19", "--dry-run", *files], cwd=tree.root, capture_output=True, text=True)
    found = re.findall(r"^(\S+?):(\d+):\d+: (?:warning|error)", run.stderr, re.MULTILINE)
    assert run.returncode == 0, run.stderr
    return {f: f"{f}:{line}: not formatted" for f, line in reversed(found)}


def test_the_sources_are_formatted():
    bad = unformatted(Tree(CHECKOUT))
    check(bad, {}, "clang-format-19 -i " + " ".join(sorted(bad)))


def test_unformatted_code_is_found_and_tables_are_left_alone(tmp_path):
    rows = "ROW( a,   1 )\n"
    tree = make_tree(
        tmp_path,
        {
            ".clang-format": "BasedOnStyle: Google\n",
            "a.cpp": "int  a;\n",
            "b.cpp": "int b;\n",
            "a.inc": "// ROW( name, n ): a row\n" + rows,
            "b.inc": "int  b;\n",
            "c.inc": "// Written by generate.py.\n" + rows,
            "d.def": rows,
        },
    )
    assert sorted(unformatted(tree)) == ["a.cpp", "b.inc"]
