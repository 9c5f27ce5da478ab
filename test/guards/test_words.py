"""Names of files and passes are the literature's: docs/glossary.md is the list."""

import re

from test_style import without_raw_strings
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
    ],
    "runtime": ["winner"],
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
    r"(?:of|by|with|in|at least|at most|about|after|only the first) so many": "name the count",
}
# A comment or docstring begins with its subject: "Bytes of an operand", not "What an operand takes".
OPENING = re.compile(r'^\s*(?:#+|"""|//[/!]?<?)\s*(?:What|Whose)\b')
WIDTH = 120
# Lines that may be wider: names that a prelude lists; heads of tables, whose columns are those of the rows.
MARKED = re.compile(r"\s*//@ ")
HEAD = re.compile(r"(?:\S {2,}(?=\S).*){3}")


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
    """file:line of a phrase."""
    words = re.compile("|".join(rf"\b(?:{phrase})\b" for phrase in PHRASES))
    found = {}
    for file in tree.files:
        if file.startswith("test/guards/"):
            continue
        for line, text in enumerate(tree.text(file).split("\n"), 1):
            if said := words.search(text):
                instead = next(better for phrase, better in PHRASES.items() if re.fullmatch(phrase, said[0]))
                found[f"{file}:{line}"] = f"{file}:{line}: '{said[0]}': {instead}"
    return found


def openings(tree):
    """file:line of a comment or docstring that names its subject late, or not at all."""
    found = {
        f"{file}:{number}": f"{file}:{number}: begin with the subject"
        for file, number, line in comments(tree)
        if OPENING.match(line[re.search(r"(?<![:\"'\w])//", line).start() :] if spoken(line) else "")
    }
    for file in tree.files:
        if not is_cxx(file) and not file.endswith((".md", ".pyi", ".json", ".svg")):
            for number, line in enumerate(tree.text(file).split("\n"), 1):
                if OPENING.match(line):
                    found[f"{file}:{number}"] = f"{file}:{number}: begin with the subject"
    return found


def spoken(line):
    """The comment of a line, without names in backticks."""
    at = re.search(r"(?<![:\"'\w])//", line)
    return re.sub(r"`[^`]*`", "", line[at.start() :]) if at else ""


def is_cxx(file):
    return file.endswith((".cpp", ".h", ".inc", ".def", ".hip")) and not file.startswith("test/hip/library/programs/")


def comments(tree):
    """(file, number, line) of lines of C++ and tables with a comment; raw strings are text of other programs."""
    for file in filter(is_cxx, tree.files):
        text = without_raw_strings(tree.text(file))
        yield from ((file, number, line) for number, line in enumerate(text.split("\n"), 1) if "//" in line)


def wide_comments(tree):
    return {
        f"{file}:{number}": f"{file}:{number}: {len(line)} columns"
        for file, number, line in comments(tree)
        if len(line) > WIDTH and line.lstrip().startswith("//") and not MARKED.match(line)
        if not (file.endswith(".def") and HEAD.search(line))
    }


def behinds(tree):
    return {
        f"{file}:{number}": f"{file}:{number}: after, of, under or in, not behind"
        for file, number, line in comments(tree)
        if re.search(r"\b[Bb]ehind\b(?!:)", spoken(line))
    }


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


def test_comments_begin_with_their_subject():
    check(openings(Tree(CHECKOUT)), {}, "Name the thing, its unit or its invariant.")


def test_a_comment_without_a_subject_is_found(tmp_path):
    files = {
        "a/b.h": "/// What it holds.\nint x;  ///< What it is\n/// Bytes of what it holds.\n",
        "a/c.py": '"""What it does."""\n# What for\nx = 1  # bytes\n',
    }
    assert list(openings(make_tree(tmp_path, files))) == ["a/b.h:1", "a/b.h:2", "a/c.py:1", "a/c.py:2"]


def test_comments_stay_within_120_columns():
    check(wide_comments(Tree(CHECKOUT)), {}, "Break the line.")


def test_what_comes_later_is_after_and_not_behind():
    check(behinds(Tree(CHECKOUT)), {}, "Say which relation is meant.")


def test_a_wide_comment_is_found(tmp_path):
    long = "word " * 30
    files = {
        "a/b.cpp": f'// {long}\n    /// {long}\nint x;  // {long}\nf(R"(\n// {long}\n)");\n',
        "a/c.def": f"// {long}\n//   name  arch  {' ' * 120}clocks  bytes\n",
        "a/d.hip": f"//@ {long}\n",
    }
    assert list(wide_comments(make_tree(tmp_path, files))) == ["a/b.cpp:1", "a/b.cpp:2", "a/c.def:1"]


def test_behind_for_after_is_found(tmp_path):
    text = '// what stands behind it\nf(behind);  ///< of `behind`\ng(behind, "// behind");\n// Behind the loop\n'
    assert list(behinds(make_tree(tmp_path, {"a/b.cpp": text}))) == ["a/b.cpp:1", "a/b.cpp:4"]


def glossary(tree):
    """(term, file or folder that does it) of each row."""
    rows = re.findall(r"^\| ([^|]+) \| [^|]* \| ([^|]+) \|$", tree.text("docs/glossary.md"), re.MULTILINE)
    return [(term, re.split(r"[;,]", home)[0].strip()) for term, home in rows if not term.startswith(("term", "---"))]


def plain(text):
    """Without markers of comments and signs between words."""
    return re.sub(r"[\s_/-]+", " ", re.sub(r"\n\s*//+ ?", " ", text)).lower()


def silent(tree):
    """Rows of the glossary whose file does not have the term, which is what people search for."""
    out = {}
    for term, home in glossary(tree):
        files = [f for f in tree.files if f == home or f.startswith(home.rstrip("/") + "/")]
        words = [plain(word.strip()) for word in re.split(r",| or ", re.sub(r" \(.*?\)", "", term))]
        if not any(word in plain(tree.text(f)) for f in files for word in words):
            out[term] = f"docs/glossary.md: '{term}' does not occur in {home}"
    return out


def test_files_say_the_terms_that_the_glossary_has_them_for():
    assert len(glossary(Tree(CHECKOUT))) >= 60
    check(silent(Tree(CHECKOUT)), {}, "Begin the comment at the head of the file with the term.")


def test_a_term_that_its_file_does_not_say_is_found(tmp_path):
    rows = "| term | meaning | file |\n| --- | --- | --- |\n"
    rows += "| loop splitting, peeling | x | a.cpp |\n| spill (to lanes) | x | b/ |\n"
    tree = make_tree(
        tmp_path, {"docs/glossary.md": rows, "a.cpp": "// loop\n// splitting: x\n", "b/c.cpp": "int spall;\n"}
    )
    assert list(silent(tree)) == ["spill (to lanes)"]
