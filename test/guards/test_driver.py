"""One driver goes from a graph to kernels, one from a kernel to machine code: each stage is called from one file."""

import re

from tree import CHECKOUT, Tree, check, make_tree

GRAPHS, KERNELS = "codegen/driver/compile_graph.cpp", "codegen/driver/compile_kernel.cpp"
# stage: (folder that defines it, file that calls it)
STAGES = {
    "make_schedule": ("codegen/schedule/", GRAPHS),
    "place_memory": ("executable/", GRAPHS),
    "build_kernel": ("codegen/kernel/", KERNELS),
    "linearize": ("codegen/linear/", KERNELS),
    "render_hip": ("codegen/render/", KERNELS),
}


def strays(tree):
    out = {}
    for file in tree.product(suffixes=(".cpp", ".h", ".inc")):
        for stage, (home, driver) in STAGES.items():
            if (
                file != driver
                and not file.startswith(home)
                and re.search(rf"^[^/\n]*\b{stage}\(", tree.text(file), re.MULTILINE)
            ):
                out[f"{file}:{stage}"] = f"{file} calls {stage}(), which {driver} is for"
    return out


def test_the_stages_have_one_caller():
    check(strays(Tree(CHECKOUT)), {}, f"Ask {GRAPHS} or {KERNELS} for the product, by their headers.")


def test_the_drivers_call_every_stage():
    tree = Tree(CHECKOUT)
    assert [stage for stage, (_, driver) in STAGES.items() if f"{stage}(" not in tree.text(driver)] == []


def test_a_second_driver_is_found(tmp_path):
    tree = make_tree(
        tmp_path,
        {
            "runtime/a.cpp": "auto p = codegen::linearize(k);",
            "codegen/linear/a.cpp": "x linearize();",
            KERNELS: "linearize(k)",
            GRAPHS: "make_schedule(roots)",
            "runtime/b.cpp": "// linearize(k) makes it",
            "ops/c.cpp": "auto s = make_schedule(roots, storage);",
        },
    )
    assert list(strays(tree)) == ["ops/c.cpp:make_schedule", "runtime/a.cpp:linearize"]
