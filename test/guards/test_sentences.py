"""A sentence has at most 25 words: on pages, in texts that users read, in docstrings and in comments (prose.py)."""

import re

import pytest
from prose import comments, docstrings, joined, length, markdown, sentences, texts
from test_style import without_raw_strings
from tree import CHECKOUT, Tree, make_tree

LONGEST = 25  # words
CXX = (".cpp", ".h", ".inc", ".def", ".hip")
# Paragraphs that are lists of names and counts.
LISTS = {"docs/onnx.md: All right: Abs 1, Acos 2": "counts by operator"}


def is_ours(tree, file):
    return not file.startswith(("test/hip/library/programs/", "test/fuzz/corpus/")) and not tree.generated(file)


def pages(tree, file):
    if file.endswith(".md") and (file.startswith("docs/") or "/" not in file):
        yield from markdown(tree.text(file))


def messages(tree, file):
    """Texts of tables and sources: errors, settings, findings, docstrings of the extension."""
    if file.endswith((".def", ".cpp", ".h")) and not file.startswith("test/"):
        yield from texts(without_raw_strings(tree.text(file)))


def documentation(tree, file):
    if file.endswith((".py", ".pyi")):
        quoted = re.findall(r'"""(.*?)"""', text := tree.text(file), re.DOTALL)
        if any(len(said.split()) > LONGEST for said in quoted):  # the others need no parsing
            yield from docstrings(text)


def remarks(tree, file):
    if file.endswith(CXX):
        yield from comments(without_raw_strings(tree.text(file)), "//")
    elif file.endswith((".py", ".pyi", ".cmake", "CMakeLists.txt")):
        yield from comments(tree.text(file), "#")


def too_long(tree, kind):
    """file: beginning of each sentence of more than LONGEST words."""
    return {
        f"{file}: {sentence[:24]}": f"{file}:{paragraph[0][0]}: {length(sentence)} words: {sentence[:60]}..."
        for file in tree.files
        if is_ours(tree, file)
        for paragraph in kind(tree, file)
        if len((text := joined(paragraph)).split()) > LONGEST
        for sentence in sentences(text)
        if length(sentence) > LONGEST
    }


# Sentences that are longer still: the numbers fall, and never grow.
MOST = {pages: 2, messages: 2, documentation: 6, remarks: 310}


@pytest.mark.parametrize("kind", MOST)
def test_sentences_are_short(kind):
    found = {k: v for k, v in too_long(Tree(CHECKOUT), kind).items() if k not in LISTS}
    assert len(found) <= MOST[kind], "\n".join([*found.values(), "Say one idea a sentence, subject first."])


LONG = " ".join(["word"] * 26)


@pytest.mark.parametrize(
    "kind, file, text, found",
    [
        (pages, "docs/a.md", f"{LONG}.\n\n{LONG[:-5]}.\n", 1),
        (pages, "docs/a.md", f"```\n{LONG}\n```\n# {LONG}\n\n    {LONG}\n", 0),
        (pages, "docs/a.md", f"| {LONG[:90]} | {LONG[:90]}; {LONG[:90]} |\n", 0),
        (pages, "docs/a.md", f"- {LONG[:60]}\n  {LONG[:70]}\n- one\n", 1),
        (pages, "docs/a.md", f"{LONG[:90]}.\n{LONG[:90]}. `{LONG}` e.g. it\n", 0),
        (messages, "core/a.def", f'ROW( a, "{LONG[:60]} "\n    "{LONG[:70]}" )\n', 1),
        (messages, "core/a.def", f'ROW( a, "{LONG[:90]}. {LONG[:90]}\\n\\n{LONG[:60]}" )\n// "{LONG}"\n', 0),
        (documentation, "python/a.py", f'def f():\n    """{LONG[:60]}\n    {LONG[:70]}."""\n', 1),
        (documentation, "python/a.py", f'def f():\n    """{LONG[:60]}.\n\n    {LONG[:70]}."""\n    "{LONG}"\n', 0),
        (remarks, "core/a.cpp", f"int x;  ///< {LONG[:60]}\n        ///< {LONG[:70]}\n/// Another {LONG}\n", 2),
        (remarks, "core/a.cpp", f"// {LONG[:60]}\nint x;\n// {LONG[:70]}\n// @ {LONG}\n//   {LONG[:60]}\n", 0),
        (remarks, "cmake/a.cmake", f"set(x 1)\n# {LONG}\n", 1),
        (remarks, "core/a.cpp", f'f(R"(\n// {LONG}\n)");\n', 0),
    ],
)
def test_a_long_sentence_is_found(tmp_path, kind, file, text, found):
    tree = make_tree(tmp_path, {file: text})
    assert sum(count.startswith(file) for count in too_long(tree, kind)) == found


def test_the_counter_counts_words_alone():
    assert length("a `b c d` -> e (f, g): h / i") == 7
    assert sentences("One, e.g. two. Three (cf. four)! Five") == ["One, e.g. two.", "Three (cf. four)!", "Five"]
