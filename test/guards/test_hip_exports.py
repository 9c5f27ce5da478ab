"""Each function of the drop-in libamdhip64 is called by a test of its own."""

import re

from tree import CHECKOUT, Tree, check, make_tree

TABLE, TESTS = "bindings/hip/exports.def", "test/bindings/hip/"


def untested(tree):
    """By name: the exports that no test calls. Tables that name them all, of signatures and symbols, are none."""
    text = "".join(tree.text(file) for file in tree.files if file.startswith(TESTS) and not file.endswith("abi_test.cpp"))
    called = set(re.findall(r"\b(\w+)(?=\(|<<<)", text)) | {f"hip{name}" for name in re.findall(r"list\(hip(\w+)", text)}
    launched = {"hipLaunchKernel", "__hipPushCallConfiguration"} if "<<<" in text else set()
    rows = re.findall(r"^EXPORT\( *\w+, *\w+, *[^,]+, *(\w+)", tree.text(TABLE), re.MULTILINE)
    return {name: f"{TABLE}: no test calls {name}" for name in rows if name not in called | launched}


def test_every_export_has_a_test():
    check(untested(Tree(CHECKOUT)), {}, "Call it in test/bindings/hip, with what it does and what it refuses.")


def test_an_export_without_a_test_is_found(tmp_path):
    rows = "EXPORT( 4_2, memory, int, hipMalloc, (void** out) )\nEXPORT( 4_2, memory, int, hipFree, (void* memory) )\n"
    tree = make_tree(tmp_path, {TABLE: rows, TESTS + "memory_test.cpp": "EXPECT_EQ(hipMalloc(&memory), 0);", TESTS + "abi_test.cpp": "hipFree(1)"})
    assert list(untested(tree)) == ["hipFree"]
