"""The tree can be read and built anywhere. It has no path of one machine, no host of one network, and no reference to a
tracker or a chat. Nothing at its root was left there by mistake.
"""

import re

import pytest
from tree import CHECKOUT, Tree, check, make_tree

PATTERNS = {
    "a path of one machine": r"(?<![\w.$}])/(?:home|root|work|mnt|srv|media|Users)/\w|(?<![\w.$}])/tmp/\w{1,6}/",
    "a host of one network": r"\b(?:localhost|\d+\.\d+\.\d+\.\d+):\d+|https?://[^/\s\"']*(?:internal|intranet|mirror|proxy|registry|localhost)|--(?:extra-)?index-url",
    "a number of a tracker": (
        r"(?i)\b(?:in|of|see|from|closes|fixes) (?:issue|ticket|pull request) #?\d+|\(#\d+\)|\b(?:issue|PR|MR) "
        r"?#\d+"
    ),
    "talk about how it was written": (
        r"(?i)\b(?:claude|chatgpt|copilot|language model|ai agent|"
        r"as requested|per the brief)\b"
    ),
}
AT_ROOT = r"\..*|[A-Z]+(\.md)?|CMake\w+\.\w+|pyproject\.toml"  # documents, what builds
SKIP = ("test/fuzz/corpus/", "test/guards/test_portable.py", "LICENSE")


def local_words(tree):
    out = {}
    for file in (f for f in tree.files if not f.startswith(SKIP)):
        for number, line in enumerate(tree.text(file).split("\n"), 1):
            for what, pattern in PATTERNS.items():
                if m := re.search(pattern, line):
                    out[f"{file}:{m[0]}"] = f"{file}:{number}: '{m[0]}' is {what}"
    return out


def test_the_tree_speaks_of_itself_only():
    check(
        local_words(Tree(CHECKOUT)),
        {},
        "Say it without: paths relative to the checkout, facts with the public document's section.",
    )


@pytest.mark.parametrize(
    "line, found",
    [
        ("open('/home/me/x')", 1),
        ("see /work/notes", 1),
        ("(issue #7)", 1),
        ("/tmp/w/x", 1),
        ('"/tmp/strata-cache"', 0),
        ("$ROOT/home/x", 0),
        ("/usr/lib/llvm-19", 0),
        ("pip --index-url http://x", 1),
        ("http://127.0.0.1:80", 1),
        ("https://llvm.org/docs", 0),
        ("fixed in issue 12", 1),
        ("llvm-project issue 55591", 0),
        ("cannot issue 2 instructions", 0),
        ("(#12)", 1),
        ("Claude", 1),
    ],
)
def test_a_local_word_is_found(tmp_path, line, found):
    assert len(local_words(make_tree(tmp_path, {"a.py": line + "\n"}))) == found


def strays(tree):
    return {f: f"{f}: its place is a folder" for f in tree.files if "/" not in f and not re.fullmatch(AT_ROOT, f)}


def test_the_root_holds_documents_and_what_builds_alone():
    check(strays(Tree(CHECKOUT)), {}, "Put it where its kind is, or delete it.")


def test_a_file_that_was_forgotten_is_found(tmp_path):
    tree = make_tree(
        tmp_path,
        {
            "try.py": "",
            "log.txt": "",
            "README.md": "",
            "LICENSE": "",
            "CMakeLists.txt": "",
            ".gitignore": "",
            "core/a.py": "",
        },
    )
    assert list(strays(tree)) == ["log.txt", "try.py"]
