"""A file has at most 450 lines and a function at most 60, unless it is listed here with the reason."""

import ast
import collections
import re

import pytest
from tree import CHECKOUT, Tree, check, make_tree

MOST_LINES, MOST_BODY = 450, 60
ADVICE = (
    "Two ideas in one: split it. If it is a list of rows that cannot be split, name it in this guard with the reason."
)

MOST_FILES = 40  # of a folder
LONG_FILES = {}
LONG_FUNCTIONS = {}
CROWDED = {
    "test/fuzz/corpus/code_object": "data: inputs that once told something, named by their contents",
    "test/programs": "data: one whole program a file, which a table of all of them compiles",
}


def is_code(file):
    return (
        file.endswith((".cpp", ".h", ".inc", ".py", ".hip"))
        or (file.count(".") == 0 and not file.startswith("LICENSE"))
        or file == ".ci/run"
    )


def code(tree):
    return [f for f in tree.files if is_code(f) and not f.startswith("test/fuzz/corpus/") and not tree.generated(f)]


def long_files(tree):
    counts = {f: tree.text(f).count("\n") for f in code(tree)}
    return {f: f"{f}: {n} lines, {MOST_LINES} are the most" for f, n in counts.items() if n > MOST_LINES}


def blank(match):
    """As many lines, nothing in them."""
    return "\n" * match[0].count("\n") or " "


def cxx_functions(text):
    """(name, first line, lines) of every outermost function body."""
    text = re.sub(
        r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', blank, text, flags=re.DOTALL
    )
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.MULTILINE)
    head, name, start, line, depth, parens, values = "", "", 0, 1, 0, 0, 0
    for c in text:
        line += c == "\n"
        if name:  # inside a body: look for its end alone
            depth += (c == "{") - (c == "}")
            if depth == 0:
                yield name, start, line - start + 1
                head, name = "", ""
            continue
        parens += (c == "(") - (c == ")")
        if c == "{" and (values or is_value(head, parens)):
            values += 1
        elif c == "{":
            name, start, depth = body_name(head), line, 1
            head = ""
        elif c == "}" and values:
            values -= 1
        elif c in ";}" and not parens and not values:
            head = ""
        else:
            head += c


def is_value(head, parens):
    """Do the braces after `head` hold values? (The initialiser of a variable, member or argument.)"""
    if re.search(r"[\])]\s*(const|noexcept|override|final|mutable|try|&|->[^;]*|\s)*$", head):
        return False
    return bool(parens or re.search(r"[=,(]\s*$|\w\[\]\s*$|\)\s*:[^;]*[\w>]\s*$", head))


def body_name(head):
    """The name of the function whose body begins after `head`, or "" for a namespace, class or enumeration."""
    if test := re.search(r"\bTEST\w*\((\w+),\s*(\w+)\)", head):
        return f"{test[1]}.{test[2]}"
    called = re.findall(r"(~?[\w:]+|operator\S+)\s*\(", head)
    return "" if not called or re.match(r"\s*(namespace|enum|extern)\b", head) else called[0]


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno, node.end_lineno - node.body[0].lineno + 2  # a list of parameters is one line


def shell_functions(text):
    for m in re.finditer(r"^(\w+)\(\) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        yield m[1], text.count("\n", 0, m.start()) + 1, m[2].count("\n") + 2


def functions(tree, file):
    text = tree.text(file)
    kind = (
        cxx_functions
        if file.endswith((".cpp", ".h", ".inc", ".hip"))
        else python_functions
        if file.endswith(".py")
        else shell_functions
    )
    return kind(text)


def long_functions(tree):
    out = {}
    for file in code(tree):
        for name, line, count in functions(tree, file):
            if count > MOST_BODY:
                out[f"{file}:{name}"] = f"{file}:{line}: {name} has {count} lines, {MOST_BODY} are the most"
    return out


def crowded_rooms(tree):
    rooms = collections.Counter(f.rpartition("/")[0] for f in tree.files if not tree.generated(f))
    return {room: f"{room}: {n} files, {MOST_FILES} are the most" for room, n in rooms.items() if n > MOST_FILES}


def test_rooms_are_small():
    check(crowded_rooms(Tree(CHECKOUT)), CROWDED, "Make a room of what belongs together.")


def test_a_crowded_room_is_found(tmp_path):
    files = {
        f"{room}/test_{i}.py": ""
        for room, n in (("test/python/a", 41), ("core/b", 41), ("core/c", 40))
        for i in range(n)
    }
    written = {f"core/c/{i}.inc": "// Written by generate.py; do not edit.\n" for i in range(9)}
    assert list(crowded_rooms(make_tree(tmp_path, files | written))) == ["core/b", "test/python/a"]


def test_files_have_one_idea():
    check(long_files(Tree(CHECKOUT)), LONG_FILES, ADVICE)


def test_functions_have_one_idea():
    check(long_functions(Tree(CHECKOUT)), LONG_FUNCTIONS, ADVICE)


def test_a_long_file_is_found_and_a_generated_one_is_not(tmp_path):
    rows = "int a;\n" * 451
    tree = make_tree(
        tmp_path,
        {"core/a.cpp": rows, "core/b.inc": "// Written by generate.py; do not edit.\n" + rows, "core/c.h": rows[7:]},
    )
    assert list(long_files(tree)) == ["core/a.cpp"]


@pytest.mark.parametrize(
    "file, head, line, tail",
    [
        ("a.cpp", 'namespace n {\nint f(const char* s = "{", int x = {}) {\n', "    if (s) { x++; }\n", "}\n}\n"),
        (
            "a.h",
            "struct S : T<int> {\n    S(int a) : a_{a}, b_(2) {\n",
            "        call([&] { return '{'; });\n",
            "    }\n    int a_{};\n};\n",
        ),
        ("a.inc", "ROW(v_add, [](auto a) {\n", "    a += 1;  // }\n", "})\n"),
        ("a.py", "class A:\n    def f(self):\n", "        a = 1\n", ""),
        ("run", "say() {\n", "  echo a\n", "}\n"),
    ],
)
def test_a_long_function_is_found(tmp_path, file, head, line, tail):
    assert len(long_functions(make_tree(tmp_path, {"core/" + file: head + line * 60 + tail}))) == 1
    assert not long_functions(make_tree(tmp_path, {"core/" + file: head + line * 55 + tail}))


def test_a_long_table_is_no_function(tmp_path):
    table = (
        "const Row rows[] = {\n" + "    {1, f(2)},\n" * 100 + "};\nstruct S {\n" + "    int f(int);\n" * 100 + "};\n"
    )
    assert not long_functions(make_tree(tmp_path, {"core/a.cpp": table}))
