"""Names of files and passes are the literature's: docs/glossary.md is the list."""

import re

from tree import CHECKOUT, CXX, Tree, check, make_tree

PASSES = ("codegen/lower/opt", "codegen/lower/regalloc", "codegen/lower/finish")
# Names that files had before the literature's. A word is free for another meaning: the folder says whose name it was.
RETIRED = {
    "codegen": [
        "online",
        "pieces",
        "join_steps",
        "reuse",
        "hoist",
        "walk_addresses",
        "remake",
        "under_way",
        "shorten",
        "draft",
        "variations",
        "stage_ahead",
        "structure",
        "winner",
        "gate_lanes",
        "swaps",
        "fetch_ahead",
    ]
}


# Headers of others that comments of codegen name.
FOREIGN = {"hip_runtime.h", "math.h", "oclc.h", "stdint.h"}
COMMENT = re.compile(r"//.*")
# Phrases that comments, messages and pages do not use, and what they say instead.
PHRASES = {
    r"what there is of": "name the thing",
    r"who names no": "name the subject",
    r"behind one another|one behind the other": "one after the other, contiguous",
    r"(?:is|are|be) told (?:of|that|by|it)": "gets, sees, is reported",
    r"(?:of|by|with|in|at least|at most) so many": "name the count",
}
PLAIN = ("hip/", "python/", "test/", "docs/", "tools/", "examples/", "scripts/")


def stale(tree):
    """Files that comments name and the tree has not."""
    known = FOREIGN | {f.rsplit("/", 1)[-1] for f in tree.files}
    return {
        f"{file}: {name}": f"{file}: a comment names {name}, which does not exist"
        for file in tree.files
        if file.startswith(("codegen/", "test/codegen/")) and file.endswith((*CXX, ".hip"))
        for comment in COMMENT.findall(tree.text(file))
        for name in re.findall(r"\b[a-z]\w*\.(?:cpp|def|h|inc)\b", comment)
        if name not in known
    }


def phrases(tree):
    """file:line of a phrase in rooms whose words are plain, and in the pages of the root."""
    words = re.compile("|".join(rf"\b(?:{phrase})\b" for phrase in PHRASES))
    files = [f for f in tree.files if (f.startswith(PLAIN) or "/" not in f) and not f.startswith("test/guards/")]
    found = {}
    for file in files:
        for line, text in enumerate(tree.text(file).split("\n"), 1):
            if said := words.search(text):
                instead = next(better for phrase, better in PHRASES.items() if re.fullmatch(phrase, said[0]))
                found[f"{file}:{line}"] = f"{file}:{line}: '{said[0]}': {instead}"
    return found


def retired(tree):
    return {
        f: f"{f}: docs/glossary.md has another word for it"
        for folder, words in RETIRED.items()
        for f in tree.files
        if f.startswith(folder + "/") and re.sub(r"(_p)?\.\w+$", "", f.rsplit("/", 1)[-1]) in words
    }


def passes(tree, table):
    return re.findall(r"^PASS\( *(\w+)", tree.text(table), re.MULTILINE)


def test_a_pass_is_a_file_of_its_name():
    tree = Tree(CHECKOUT)
    found = passes(tree, "codegen/machine/passes.def")
    assert found
    check(
        {
            p: f"no file is called {p}.cpp"
            for p in found
            if not any(f"{folder}/{p}.cpp" in tree.files for folder in PASSES)
        },
        {},
        "Give the pass a file of its own.",
    )


def test_no_file_has_a_retired_name():
    check(retired(Tree(CHECKOUT)), {}, "Rename it.")


def test_files_that_comments_of_codegen_name_exist():
    check(stale(Tree(CHECKOUT)), {}, "Write the file's name of today.")


def test_the_readme_has_at_most_150_lines():
    assert len(Tree(CHECKOUT).text("README.md").splitlines()) <= 150


def test_a_retired_name_is_found(tmp_path):
    tree = make_tree(tmp_path, {"codegen/kernel/online_p.h": "", "codegen/kernel/scopes.cpp": "", "ops/online.cpp": ""})
    assert list(retired(tree)) == ["codegen/kernel/online_p.h"]


def test_a_stale_name_in_a_comment_is_found(tmp_path):
    tree = make_tree(
        tmp_path, {"codegen/kernel/a.cpp": "// see b.h, online.h and hip_runtime.h\n", "codegen/kernel/b.h": ""}
    )
    assert list(stale(tree)) == ["codegen/kernel/a.cpp: online.h"]


def test_words_are_plain():
    check(phrases(Tree(CHECKOUT)), {}, "Say it as an engineer would: subject first, nouns where there are nouns.")


def test_a_phrase_is_found(tmp_path):
    files = {
        "hip/a.h": "// of so many bytes\n",
        "python/b.py": "x = 1\n# who is told of it\n",
        "codegen/c.h": "// so many\n",
    }
    assert list(phrases(make_tree(tmp_path, files))) == ["hip/a.h:1", "python/b.py:2"]
