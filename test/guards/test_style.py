"""Rules of CONTRIBUTING.md that clang-format does not see: names of tests, loops."""

import re

import pytest
from tree import CHECKOUT, Tree, check, make_tree


def cxx(tree):
    return [f for f in tree.files if f.endswith((".cpp", ".h", ".inc"))]


def test_names(tree):
    out = {}
    for file in cxx(tree):
        for m in re.finditer(r"^ *TEST(?:_[FP])?\((\w+),\s*(\w+)\)", tree.text(file), re.MULTILINE):
            if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", m[2]):
                out[f"{file}:{m[1]}.{m[2]}"] = f"{file}: {m[1]}.{m[2]}"
    return out


test_names.__test__ = False


def without_raw_strings(text):
    """Raw strings are other programs' texts; lines keep their numbers."""
    return re.sub(r'R"(\w*)\(.*?\)\1"', lambda m: "\n" * m[0].count("\n"), text, flags=re.DOTALL)


def postfix_loops(tree):
    out = {}
    for file in cxx(tree):
        for number, line in enumerate(without_raw_strings(tree.text(file)).split("\n"), 1):
            if m := re.search(r"\bfor \(.*; [\w.>-]+(?:\+\+|--)\)", line):
                out[f"{file}:{number}"] = f"{file}:{number}: {m[0]}"
    return out


def open_state(tree):
    """Variables that whoever includes a public header may write."""
    pattern = re.compile(r"^(?:extern|inline)\b(?!.*\bconst(?:expr)?\b)[^(\n]*\bthread_local\b.*", re.MULTILINE)
    return {
        f"{file}:{m[0]}": f"{file}: {m[0]}"
        for file in tree.product(suffixes=(".h",))
        if not file.endswith("_p.h")
        for m in pattern.finditer(tree.text(file))
    }


def test_a_tests_name_is_a_sentence_in_pascal_case():
    check(test_names(Tree(CHECKOUT)), {}, "Write the name of a test as TheCacheKeepsWhatItIsGiven.")


def test_loops_count_with_a_prefix():
    check(postfix_loops(Tree(CHECKOUT)), {}, "Write `++i`.")


def test_public_headers_open_no_state_of_a_thread():
    check(open_state(Tree(CHECKOUT)), {}, "Keep the variable in its file, and give functions that read and set it.")


@pytest.mark.parametrize(
    "text, found",
    [
        ("extern constinit thread_local bool open;", 1),
        ("inline thread_local int depth = 0;", 1),
        ("extern const thread_local int fixed;", 0),
        ("struct A {\n    static thread_local int own_;\n};", 0),
    ],
)
def test_state_in_a_public_header_is_found(tmp_path, text, found):
    tree = make_tree(tmp_path, {"ops/a.h": text, "ops/b_p.h": text})
    assert len(open_state(tree)) == found


@pytest.mark.parametrize(
    "text, found",
    [("TEST(A, a_name) {}", 1), ("TEST_P(A,\n       ANameOf2Words) {}", 0), ("INSTANTIATE_TEST_SUITE_P(a_b, A, x)", 0)],
)
def test_a_name_in_another_style_is_found(tmp_path, text, found):
    assert len(test_names(make_tree(tmp_path, {"test/a_test.cpp": text}))) == found


def test_a_loop_in_another_style_is_found(tmp_path):
    tree = make_tree(
        tmp_path,
        {
            "a.cpp": "for (int i = 0; i < n; i++)\nfor (int i = 0; i < n; ++i)\nfor (; i < n; f(i++))\n",
            "b.cpp": 'f(R"(\nfor (int i = 0; i < n; i++)\n)");\nfor (int i = 0; i < n; i++)\n',
        },
    )
    assert list(postfix_loops(tree)) == ["a.cpp:1", "b.cpp:4"]
