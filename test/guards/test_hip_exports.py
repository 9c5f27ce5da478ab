"""Each function of the drop-in libamdhip64 and libhiprtc is called by a test of its own."""

import re

from tree import CHECKOUT, Tree, check, make_tree

TABLE, TESTS = "bindings/hip/exports.def", "test/bindings/hip/"
RTC_TABLE, RTC_TESTS = "bindings/hip/hiprtc.def", "test/bindings/hiprtc/"


def text_of(tree, folder):
    return "".join(tree.text(file) for file in tree.files if file.startswith(folder) and not file.endswith("abi_test.cpp"))


def untested_of_rtc(tree):
    called = set(re.findall(r"\b(hiprtc\w+)(?=\()", text_of(tree, RTC_TESTS)))
    rows = re.findall(r"^RTC\( *[^,]+, *(\w+)", tree.text(RTC_TABLE), re.MULTILINE)
    return {name: f"{RTC_TABLE}: no test calls {name}" for name in rows if name not in called}


def untested(tree):
    """By name: the exports that no test calls. Tables that name them all, of signatures and symbols, are none."""
    text = text_of(tree, TESTS)
    called = set(re.findall(r"\b(\w+)(?=\(|<<<)", text)) | {f"hip{name}" for name in re.findall(r"list\(hip(\w+)", text)}
    launched = {"hipLaunchKernel", "__hipPushCallConfiguration"} if "<<<" in text else set()
    rows = re.findall(r"^EXPORT\( *\w+, *\w+, *[^,]+, *(\w+)", tree.text(TABLE), re.MULTILINE)
    return {name: f"{TABLE}: no test calls {name}" for name in rows if name not in called | launched}


def test_every_export_has_a_test():
    check(untested(Tree(CHECKOUT)), {}, "Call it in test/bindings/hip, with what it does and what it refuses.")


def test_every_export_of_hiprtc_has_a_test():
    check(untested_of_rtc(Tree(CHECKOUT)), {}, "Call it in test/bindings/hiprtc, with what it does and what it refuses.")


def test_an_export_of_hiprtc_without_a_test_is_found(tmp_path):
    rows = "RTC( int, hiprtcGetCode, (void* program, char* code), (program, code) )\nRTC( const char*, hiprtcGetErrorString, (int result), (result) )\n"
    tree = make_tree(tmp_path, {RTC_TABLE: rows, RTC_TESTS + "hiprtc_test.cpp": "EXPECT_EQ(hiprtcGetCode(program, code), 0);"})
    assert list(untested_of_rtc(tree)) == ["hiprtcGetErrorString"]


def test_an_export_without_a_test_is_found(tmp_path):
    rows = "EXPORT( 4_2, memory, int, hipMalloc, (void** out) )\nEXPORT( 4_2, memory, int, hipFree, (void* memory) )\n"
    tree = make_tree(tmp_path, {TABLE: rows, TESTS + "memory_test.cpp": "EXPECT_EQ(hipMalloc(&memory), 0);", TESTS + "abi_test.cpp": "hipFree(1)"})
    assert list(untested(tree)) == ["hipFree"]
