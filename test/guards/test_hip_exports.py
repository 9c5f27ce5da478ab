"""Each function of the drop-in libamdhip64 is called by a test in which it succeeds, and by a row of refusals. Each of
libhiprtc is called by a test.
"""

import re
from pathlib import Path

from tree import CHECKOUT, Tree, check, make_tree

TABLE, TESTS, REFUSALS = "hip/api/exports.def", "test/hip/library/", "test/hip/library/refusals/"
RTC_TABLE, RTC_TESTS = "hip/api/hiprtc.def", "test/hip/rtc/"

OF_CLANG = "clang's code calls it with what it made, and it returns nothing"
CANNOT_FAIL = {
    "hipDeviceReset": "it gives back what there is, a lost device too",
    "hipDeviceGetStreamPriorityRange": "it tells what it is asked for, and nothing where that is null",
    "hipMemGetInfo": "it tells what it is asked for, and nothing where that is null",
    "hipGetErrorName": "a number that is no code is hipErrorUnknown",
    "hipGetErrorString": "a number that is no code is hipErrorUnknown",
    "hipGetLastError": "its code is another call's",
    "hipPeekAtLastError": "its code is another call's",
    "hipExtGetLastError": "its code is another call's",
    "hipConfigureCall": "what it keeps is looked at by the launch",
    "__hipPushCallConfiguration": "what it keeps is looked at by the launch",
    "hipCreateChannelDesc": "it returns its arguments",
    "__gnu_h2f_ieee": "each half is a float",
    "__gnu_f2h_ieee": "each float has a nearest half",
    "__hipRegisterFunction": OF_CLANG,
    "__hipRegisterVar": OF_CLANG,
    "__hipRegisterManagedVar": OF_CLANG,
    "__hipRegisterTexture": OF_CLANG,
    "__hipRegisterSurface": OF_CLANG,
    "__hipUnregisterFatBinary": OF_CLANG,
}
# Functions that return no code: any call in a test, beside rows of refusals, shows what they do.
NO_CODE = {name for name in CANNOT_FAIL if name.endswith("LastError")} | {"hipGetStreamDeviceId"}


def text_of(tree, folder):
    """The text of its tests; tables that name all functions, of signatures and symbols, call none."""
    return "".join(
        tree.text(file)
        for file in tree.files
        if file.startswith(folder) and not file.startswith(REFUSALS) and not file.endswith("abi_test.cpp")
    )


def untested_of_rtc(tree):
    called = set(re.findall(r"\b(hiprtc\w+)(?=\()", text_of(tree, RTC_TESTS)))
    rows = re.findall(r"^RTC\( *[^,]+, *(\w+)", tree.text(RTC_TABLE), re.MULTILINE)
    return {name: f"{RTC_TABLE}: no test calls {name}" for name in rows if name not in called}


def exports(tree):
    """(what it returns, name) of each."""
    return re.findall(r"^EXPORT\( *\w+, *\w+, *([^,]+), *(\w+)", tree.text(TABLE), re.MULTILINE)


def never_refuses(tree):
    """By name: the exports that no row of refusals calls."""
    rows = "".join(tree.text(file) for file in tree.files if file.startswith(REFUSALS))
    refused = set(re.findall(r"^(?:REFUSES|IS|LEAVES)\( *[\w-]+, *(\w+)\(", rows, re.MULTILINE))
    return {name: f"{TABLE}: no row of {REFUSALS} has {name} fail" for _, name in exports(tree) if name not in refused}


def behind(text, start):
    """The text after the brackets that open before `start`."""
    depth, end = 1, start
    while depth and end < len(text):
        depth += (text[end] == "(") - (text[end] == ")")
        end += 1
    return text[end : end + 200]


def called(text):
    """name -> (what stands in front of it, what after its brackets) of each call."""
    out = {}
    for call in re.finditer(r"\b((?:__)?(?:hip|gnu|_Z)\w*)\(", text):
        out.setdefault(call[1], []).append((text[max(0, call.start() - 8) : call.start()], behind(text, call.end())))
    return out


def has_success(calls):
    return any(
        re.match(r"\s*(, hipSuccess\b|,\s+hipSuccess\b|== hipSuccess\b)", after) or re.search(r"\bOK\($", before)
        for before, after in calls
    )


def never_succeeds(tree):
    """By name: the exports that no test has succeed."""
    text = text_of(tree, TESTS)
    calls = called(text)
    listed = set(re.findall(r"\blist\((hip\w+)", text))  # of graph_test.cpp, which expects success
    launched = (
        {"hipLaunchKernel", "__hipPushCallConfiguration", "__hipPopCallConfiguration"} if "<<<" in text else set()
    )
    out = {}
    for result, name in exports(tree):
        any_call = result != "int" or name in NO_CODE
        if not (name in listed | launched or (name in calls and (any_call or has_success(calls[name])))):
            out[name] = f"{TABLE}: no test expects hipSuccess of {name}"
    return out


def test_every_export_succeeds_in_a_test():
    check(
        never_succeeds(Tree(CHECKOUT)),
        {},
        "Call it in test/hip/library and look at what it does: EXPECT_EQ(hip...(...), hipSuccess).",
    )


def test_every_export_has_a_row_of_what_it_refuses_or_cannot_fail():
    check(
        never_refuses(Tree(CHECKOUT)),
        CANNOT_FAIL,
        f"Give {REFUSALS} a row with the code that ROCm/clr has, or name it in CANNOT_FAIL with the reason.",
    )


def test_every_export_of_hiprtc_has_a_test():
    check(untested_of_rtc(Tree(CHECKOUT)), {}, "Call it in test/hip/rtc, with what it does and what it refuses.")


def test_an_export_of_hiprtc_without_a_test_is_found(tmp_path):
    rows = (
        "RTC( int, hiprtcGetCode, (void* program, char* code), (program, code) )\nRTC( const char*, "
        "hiprtcGetErrorString, (int result), (result) )\n"
    )
    tree = make_tree(
        tmp_path, {RTC_TABLE: rows, RTC_TESTS + "hiprtc_test.cpp": "EXPECT_EQ(hiprtcGetCode(program, code), 0);"}
    )
    assert list(untested_of_rtc(tree)) == ["hiprtcGetErrorString"]


def tree_of(path, test, refusals=""):
    """Two functions and a test of them."""
    rows = "EXPORT( 4_2, memory, int, hipMalloc, (void** out) )\nEXPORT( 4_2, memory, int, hipFree, (void* memory) )\n"
    return make_tree(
        path,
        {
            TABLE: rows,
            TESTS + "memory_test.cpp": test,
            TESTS + "abi_test.cpp": "EXPECT_EQ(hipFree(1), hipSuccess)",
            REFUSALS + "memory.def": refusals,
        },
    )


def test_an_export_that_never_succeeds_is_found(tmp_path):
    good = "EXPECT_EQ(hipMalloc(f(&memory)),\n          hipSuccess);"
    assert list(
        never_succeeds(tree_of(tmp_path / "a", good + "EXPECT_EQ(hipFree(f(memory)), hipErrorInvalidValue);"))
    ) == ["hipFree"]
    assert list(never_succeeds(tree_of(tmp_path / "b", good, "REFUSES( InvalidValue, hipFree(none) )\n"))) == [
        "hipFree"
    ]
    assert not never_succeeds(tree_of(tmp_path / "c", good + "OK(hipFree(memory));"))


def test_an_export_without_a_refusal_is_found(tmp_path):
    assert list(
        never_refuses(
            tree_of(
                tmp_path,
                "EXPECT_EQ(hipFree(none), hipErrorInvalidValue)",
                "REFUSES( InvalidValue, hipMalloc(nullptr) )\n",
            )
        )
    ) == ["hipFree"]


CANNOT_THROW = {
    "hipGetErrorName", "hipGetErrorString", "hipGetLastError", "hipPeekAtLastError", "hipExtGetLastError",
    "hipCreateChannelDesc", "__gnu_h2f_ieee", "__gnu_f2h_ieee",
    "hiprtcGetErrorString", "hiprtcVersion",
}  # fmt: skip


def bodies(text):
    """name -> body of each function that is defined at the left edge, or by a macro there."""
    out = {}
    for head in re.finditer(
        r"^(?!\s)(?:[\w:<>*& ]+?[ *&])?(\w+)\([^;{}]*\)(?: const| noexcept)? \{", text, re.MULTILINE
    ):
        depth, end = 1, head.end()
        while depth and end < len(text):
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
        out[head[1]] = text[head.end() : end]
    return out


def calls(body):
    return set(re.findall(r"\b(\w+)(?:<[\w*, ]+>)?\(", body))


def unguarded(tree):
    """By name: the functions of C whose body runs under no guard against exceptions, neither by itself nor in what
    alone it calls.
    """
    areas = {
        Path(file).stem: file
        for file in tree.files
        if re.fullmatch(r"hip/\w+/\w+\.cpp", file) and not file.startswith("hip/rtc/")
    }
    files = {
        name: areas[area]
        for area, name in re.findall(r"^EXPORT\( *\w+, *(\w+), *[^,]+, *(\w+)", tree.text(TABLE), re.MULTILINE)
    }
    files |= {
        name: "hip/rtc/exports.cpp" for name in re.findall(r"^RTC\( *[^,]+, *(\w+)", tree.text(RTC_TABLE), re.MULTILINE)
    }
    out = {}
    for name, file in files.items():
        text = tree.text(file)
        own = bodies(text)
        guards = {"entry", "guarded"}
        while (
            more := {function for function, body in own.items() if calls(body) & guards} - guards
        ):  # what calls one of them
            guards |= more
        by_macro = name not in own and re.search(r"^#define \w+_CALLS(?:.*\\\n)*.*\bentry\(", text, re.MULTILINE)
        if not (name in guards or by_macro or name in CANNOT_THROW or calls(own.get(name, "")) & set(files)):
            out[name] = f"{file}: {name} lets exceptions out"
    return out


def test_no_exception_leaves_a_function_of_c():
    check(unguarded(Tree(CHECKOUT)), {}, "Run its body in entry(), or in guarded() where it returns no code.")


def test_a_function_without_a_guard_is_found(tmp_path):
    rows = (
        "EXPORT( 4_2, memory, int, hipMalloc, (void** out) )\nEXPORT( 4_2, memory, int, hipFree, (void* memory) "
        ")\nEXPORT( 4_2, memory, int, hipHostFree, (void* memory) )\n"
    )
    code = (
        "Code give(void* memory) {\n    return entry([&] { return free(memory); });\n}\nint hipMalloc(void** "
        "out) {\n    return take(out);\n}\n"
        "int hipFree(void* memory) {\n    return give(memory);\n}\nint hipHostFree(void* memory) { return "
        "hipFree(memory); }\n"
    )
    assert list(unguarded(make_tree(tmp_path, {TABLE: rows, RTC_TABLE: "", "hip/memory/memory.cpp": code}))) == [
        "hipMalloc"
    ]
