"""One driver goes from a kernel to machine code: each stage of the compiler is called from one file."""

import re

from tree import CHECKOUT, Tree, check, make_tree

DRIVER = "codegen/driver/compile_kernel.cpp"
STAGES = {"build_kernel": "codegen/kernel/", "linearize": "codegen/linear/", "render_hip": "codegen/render/"}


def strays(tree):
    out = {}
    for file in tree.product(suffixes=(".cpp", ".h", ".inc")):
        for stage, home in STAGES.items():
            if (
                file != DRIVER
                and not file.startswith(home)
                and re.search(rf"^[^/\n]*\b{stage}\(", tree.text(file), re.MULTILINE)
            ):
                out[f"{file}:{stage}"] = f"{file} calls {stage}(), which {DRIVER} is for"
    return out


def test_the_stages_have_one_caller():
    check(strays(Tree(CHECKOUT)), {}, "Ask codegen/driver/compile_kernel.h for the product.")


def test_the_driver_calls_every_stage():
    text = Tree(CHECKOUT).text(DRIVER)
    assert [stage for stage in STAGES if f"{stage}(" not in text] == []


def test_a_second_driver_is_found(tmp_path):
    tree = make_tree(
        tmp_path,
        {
            "runtime/a.cpp": "auto p = codegen::linearize(k);",
            "codegen/linear/a.cpp": "x linearize();",
            DRIVER: "linearize(k)",
            "runtime/b.cpp": "// linearize(k) makes it",
        },
    )
    assert list(strays(tree)) == ["runtime/a.cpp:linearize"]
