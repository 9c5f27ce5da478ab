"""codegen/interpret judges code, and shares none with what makes it: it reaches no folder that renders, decomposes,
lowers or encodes.
"""

from tree import CHECKOUT, Tree, check, make_tree

ADVICE = "What a judge shares with the judged it cannot find: give the interpreter code of its own."
JUDGE = "codegen/interpret"
# asm/isa: the names of architectures, by which rows of matrix_shapes.def and archs.def are chosen.
REACHED = ("core/", "codegen/target", "asm/isa", JUDGE)


def reached(tree):
    out, more = {}, [(JUDGE, JUDGE)]
    seen = set()
    while more:
        folder, path = more.pop()
        if folder in seen:
            continue
        seen.add(folder)
        if not folder.startswith(REACHED):
            out[folder] = f"{path}: the interpreter reaches {folder}, which it judges"
            continue
        more += [(f, f"{path} -> {f}") for f in tree.folders.get(folder, [])]
    return out


def included(tree):
    """Headers of asm that its files include: none but through codegen/target."""
    out = {}
    for file in tree.files:
        if not file.startswith(f"{JUDGE}/"):
            continue
        for line, folder, header in tree.includes(file):
            if folder.startswith("asm") or not folder.startswith(REACHED):
                out[f"{file}:{folder}"] = f"{file}:{line}: includes {folder}/{header}, which it judges"
    return out


def test_the_interpreter_reaches_nothing_that_it_judges():
    check(reached(Tree(CHECKOUT)), {}, ADVICE)
    check(included(Tree(CHECKOUT)), {}, ADVICE)


def test_a_dependency_on_what_is_judged_is_found(tmp_path):
    for folder in ("codegen/render", "codegen/decompose", "codegen/lower", "codegen/linear", "asm/emu"):
        root = tmp_path / folder.replace("/", "_")
        tree = make_tree(
            root,
            {
                "CMakeLists.txt": f"strata_folder({folder})\nstrata_folder(codegen/target DEPENDS {folder})\n"
                f"strata_folder({JUDGE} DEPENDS codegen/target)\n",
                f"{JUDGE}/a.cpp": f'#include "strata/{folder}/a.h"\n',
                f"{folder}/a.h": "#pragma once\n",
            },
        )
        assert set(reached(tree)) == {folder}
        assert included(tree)
