"""A sentence has at most 25 words: on pages, in texts that users read, in docstrings and in comments (prose.py)."""

import re

import pytest
from prose import CODE, comments, docstrings, joined, length, markdown, sentences, texts
from test_style import without_raw_strings
from tree import CHECKOUT, Tree, check, make_tree

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
        yield from docstrings(tree.text(file))


def remarks(tree, file):
    if file.endswith(CXX):
        yield from comments(without_raw_strings(tree.text(file)), "//")
    elif file.endswith((".py", ".pyi", ".cmake", "CMakeLists.txt")):
        yield from comments(tree.text(file), "#")


def may_be_long(tree, kind, file):
    """Files whose docstrings are all short need no parsing."""
    quoted = re.findall(r'"""(.*?)"""', tree.text(file), re.DOTALL) if kind is documentation else ["word " * 26]
    return any(len(said.split()) > LONGEST for said in quoted)


def too_long(tree, kind):
    """file: beginning of each sentence of more than LONGEST words."""
    return {
        f"{file}: {sentence[:24]}": f"{file}:{paragraph[0][0]}: {length(sentence)} words: {sentence[:60]}..."
        for file in tree.files
        if is_ours(tree, file) and may_be_long(tree, kind, file)
        for paragraph in kind(tree, file)
        if len((text := joined(paragraph)).split()) > LONGEST
        for sentence in sentences(text)
        if length(sentence) > LONGEST
    }


@pytest.mark.parametrize("kind", [pages, messages, documentation, remarks])
def test_sentences_are_short(kind):
    found = too_long(Tree(CHECKOUT), kind)
    check(found, {k: why for k, why in LISTS.items() if kind is pages}, "Say one idea a sentence, subject first.")


# Words of no engineer, and what they say instead.
ODD = {
    r"told": "reported, printed, passed",
    r"what (?:is|was|are|were) made of": "name the value",
    r"so many": "name the count",
    r"anew": "again",
}


def odd_words(tree, kinds=(pages, messages, documentation, remarks)):
    pattern = re.compile("|".join(rf"\b{word}\b" for word in ODD), re.IGNORECASE)
    likely = re.compile(rf"(?://|\").*(?:{pattern.pattern})", re.IGNORECASE)  # else it is a name of code
    return {
        f"{file}:{paragraph[0][0]}": f"{file}:{paragraph[0][0]}: '{found[0]}'"
        for file in tree.files
        if is_ours(tree, file) and (likely if file.endswith(CXX) else pattern).search(tree.text(file))
        for kind in kinds
        for paragraph in kind(tree, file)
        if (found := pattern.search(CODE.sub("", joined(paragraph))))
    }


def test_words_are_those_of_engineers():
    check(odd_words(Tree(CHECKOUT)), {}, "\n".join(f"{word}: {better}" for word, better in ODD.items()))


def test_an_odd_word_is_found(tmp_path):
    files = {"core/a.cpp": "// told of it\nbool told;\n// `told`\n", "docs/a.md": "Made anew.\n", "b.py": "told = 1\n"}
    assert list(odd_words(make_tree(tmp_path, files))) == ["core/a.cpp:1", "docs/a.md:1"]


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
