"""All that README, ARCHITECTURE, CONTRIBUTING and the pages of docs name exists: files, folders, options, settings,
tests, names of code, links."""

import fnmatch
import posixpath
import re

import pytest
from tree import CHECKOUT, CXX, Tree, check, make_tree

ADVICE = "Say what is there now; if the sentence describes what does not exist, delete it."
# Names that the documents may have and the tree lacks.
EXAMPLES = {
    "asm/emu/foo.cpp": "any file",
    "test/asm/emu/foo_test.cpp": "the test of any file",
    "_p.h": "how private headers end",
    "member_": "how members end",
    "kName": "any constant",
    "hip_runtime.h": "HIP's",
    "hip/hip_runtime.h": "HIP's",
    "oob.hip": "a kernel of README's",
    "saxpy.hip": "the program of docs/hip-programs.md",
    "kernel.hip": "HIP source that came without a file",
}
LONGEST = {"README.md": 150, "ARCHITECTURE.md": 150}  # lines
FILE_NAME = r"[\w*<>-]+\.(?:cpp|h|def|inc|py|pyi|hip|txt|cmake|patch)\b"


def documents(tree):
    return {
        f: tree.text(f)
        for f in tree.files
        if f.endswith(".md") and f.rpartition("/")[0] in ("", "docs", "docs/internals")
    }


def report(found):
    """{document:thing: message} of (document, line, thing, what is wrong)."""
    return {f"{thing}": f"{doc}:{line}: {thing}: {wrong}" for doc, line, thing, wrong in found if thing not in EXAMPLES}


def words(tree, pattern):
    """(document, line, match) of a pattern in every document."""
    for doc, text in documents(tree).items():
        for m in re.finditer(pattern, text, re.MULTILINE):
            yield doc, text.count("\n", 0, m.start()) + 1, m


def missing_paths(tree):
    tops = {f.split("/")[0] for f in tree.files}
    folders = {p for f in tree.files for p in [f.rsplit("/", n)[0] for n in range(1, f.count("/") + 1)]}
    bases = {f.rsplit("/", 1)[-1] for f in tree.files}
    generated = {
        t for f in tree.files if f.endswith("CMakeLists.txt") for t in re.findall(r"OUTPUT (\S+)", tree.text(f))
    }
    for doc, line, m in words(tree, r"(?<![\w/$.-])((?:\.?[\w*<>-]+/)+[\w.*<>-]*|" + FILE_NAME + ")"):
        path = re.sub(r"<\w+>", "*", m[1]).rstrip("./")
        if "/" in path and path.split("/")[0] in tops:
            if not any(fnmatch.fnmatchcase(f, path) for f in (*tree.files, *folders)):
                yield doc, line, m[1].rstrip("./"), "no such file or folder"
        elif re.fullmatch(FILE_NAME, m[1]) and not any(fnmatch.fnmatchcase(b, path) for b in (*bases, *generated)):
            yield doc, line, m[1], "no file of this name"


def missing_options(tree):
    """--options of our scripts in command lines, -D options of CMake."""
    cmake = "\n".join(tree.text(f) for f in tree.files if f.endswith(("CMakeLists.txt", ".cmake", "CMakePresets.json")))
    for doc, line, m in words(tree, r"^ {4}(\S.*)$"):
        script = next((w for w in m[1].split() if w in tree.files and not w.startswith("test/fuzz/corpus")), None)
        if script:
            for option in re.findall(r"(?<!\S)--[\w-]+", m[1].split(script, 1)[1].split("    ")[0]):
                if option not in tree.text(script):
                    yield doc, line, f"{script} {option}", "the script has no such option"
    for doc, line, m in words(tree, r"-D(\w+)="):
        if not re.search(rf"\b{m[1]}\b", cmake):
            yield doc, line, "-D" + m[1], "no such option of CMake"


def missing_tests(tree):
    names = {
        f"{a}.{b}"
        for f in tree.files
        if f.endswith("_test.cpp")
        for a, b in re.findall(r"^TEST\w*\((\w+),\s*(\w+)\)", tree.text(f), re.MULTILINE)
    }
    for doc, line, m in words(tree, r"--gtest_filter='?([\w.*:]+)'?"):
        for part in m[1].split(":"):
            if not any(fnmatch.fnmatchcase(n, part) or fnmatch.fnmatchcase("X/" + n, part) for n in names):
                yield doc, line, part, "no test matches"
    for doc, line, m in words(tree, r"\btest_([a-z]+(?:_[a-z]+)*)\b(?!\.)"):
        folders = {f.replace("/", "_") for f in tree.tests} | {"programs"}
        if m[1] not in folders and not any(
            f"test_{m[1]}" in tree.text(f) for f in tree.files if f.endswith((".py", "CMakeLists.txt"))
        ):
            yield doc, line, m[0], "no such test program"


def missing_names(tree):
    """Identifiers in backticks, and settings, that no file but the documents has."""
    every = set()
    for f in tree.files:
        if (
            f.endswith((*CXX, ".py", ".pyi", ".txt", ".cmake", ".hip", ".json", ".toml"))
            or "." not in f.rsplit("/", 1)[-1]
        ):
            if not f.startswith("test/fuzz/corpus") and not f.startswith("test/guards"):
                every.update(re.findall(r"\w+", tree.text(f)))
        if f.endswith("settings.def"):
            every.update(
                "STRATA_" + name.upper() for name in re.findall(r"^SETTING\( (\w+)", tree.text(f), re.MULTILINE)
            )
    for doc, line, m in words(tree, r"`([^`\n]+)`|\b(STRATA_[A-Z_]+)\b"):
        text = m[2] or (m[1] if re.fullmatch(r"[\w:.]+(?:<\w+>)?(?:\([^()]*\))?", m[1]) else "")
        for name in re.findall(r"[A-Za-z_]\w{2,}", text.split("(")[0]):
            if name not in every and not re.search(FILE_NAME, text):
                yield doc, line, name, "no such name in the sources"


def missing_links(tree):
    """Links of the text: in a block of code brackets before parentheses are a call."""
    for doc, line, m in words(tree, r"^```.*\n(?:(?!```).*\n)*```|\]\(([^)#\s]+)[^)]*\)"):
        if m[1] is None:
            continue
        to = posixpath.normpath(posixpath.join(posixpath.dirname(doc), m[1]))
        if "://" not in m[1] and to not in tree.files and not any(f.startswith(to + "/") for f in tree.files):
            yield doc, line, m[1], "the link leads nowhere"


def long_front_pages(tree):
    for doc, lines in LONGEST.items():
        if doc in tree.files and (there := tree.text(doc).count("\n")) > lines:
            yield doc, lines, doc, f"has {there} lines, more than {lines}: move what is not for a first reader to docs/"


RULES = [long_front_pages, missing_paths, missing_options, missing_tests, missing_names, missing_links]


@pytest.mark.parametrize("rule", RULES)
def test_what_the_documents_name_exists(rule):
    check(report(rule(Tree(CHECKOUT))), {}, ADVICE)


@pytest.mark.parametrize(
    "rule, text, missing",
    [
        (missing_paths, "core/a.cpp, core/b.cpp, `core/*.h`, core/, test/run.", ["core/b.cpp", "core/*.h"]),
        (missing_paths, "a.cpp and b_*.inc", ["b_*.inc"]),
        (missing_options, "    scripts/tool --good --bad    comment --other\n", ["scripts/tool --bad"]),
        (missing_options, "-DSTRATA_GOOD=1 -DSTRATA_BAD=ON", ["-DSTRATA_BAD"]),
        (missing_tests, "--gtest_filter='Good*' --gtest_filter='*Bad*'", ["*Bad*"]),
        (missing_tests, "test_core test_none", ["test_none"]),
        (
            missing_names,
            "`known_name`, `unknown_name`, `Known::other_name(x)`, STRATA_UNKNOWN",
            ["unknown_name", "Known", "other_name", "STRATA_UNKNOWN"],
        ),
        (long_front_pages, "\n" * 151, ["README.md"]),
        (missing_links, "[a](core/a.cpp) [b](core#x) [c](none.md) [d](https://llvm.org)", ["none.md"]),
        (missing_links, "```py\nf[grid](x)\n```\n[c](none.md)\n```\n", ["none.md"]),
    ],
)
def test_what_is_missing_is_found(tmp_path, rule, text, missing):
    tree = make_tree(
        tmp_path,
        {
            "README.md": text,
            "core/a.cpp": "int known_name;",
            "scripts/tool": "case --good",
            "test/run": "",
            "CMakeLists.txt": "option(STRATA_GOOD)\nstrata_tests(core)",
            "test/core/a_test.cpp": "TEST(GoodSuite, Test) {}",
        },
    )
    assert list(report(rule(tree))) == missing
