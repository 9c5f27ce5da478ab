"""Every column of a .def table has a reader: a fact that nobody reads is not checked by anything and drifts."""

import re

import pytest
from tree import CHECKOUT, Tree, check, make_tree

ADVICE = "Delete the column, or let what decides this fact read it."
DEAD_COLUMNS = {
    "hip/api/exports.def:EXPORT:area": "CMake looks for the file of that name",
    "hip/library/attributes.def:ATTRIBUTE:name": "test/hip/library/abi_test.cpp compares the code with the header's",
}
DEAD_FIELDS = {
    "codegen/decompose/functions.def:Decomposition.ulps": "a promise, which test/codegen/decompose measures",
}


def without_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def expansions(tree):
    """(table, macro, parameters, body, file, text before the include) of every macro that is defined where a table is
    included.
    """
    for file in tree.product():
        text = without_comments(tree.text(file)).replace("\\\n", "\n" if file.endswith(".def") else " ")
        for include in re.finditer(r'#\s*include\s+"strata/([^"]+\.def)"', text):
            table, before = include[1], text[: include.start()]
            rows = (
                set(re.findall(r"^\s*(\w+)\s*\(", without_comments(tree.text(table)), re.MULTILINE))
                if table in tree.files
                else set()
            )
            for m in re.finditer(r"#\s*define\s+(\w+)\(([^)]*)\)([^\n]*)", before):
                if m[1] in rows and f"#undef {m[1]}" not in before[m.end() :]:
                    yield table, m[1], [p.strip() for p in m[2].split(",")], m[3], file, before


def read(parameters, body):
    """Which columns an expansion reads: their numbers, and the first of those that __VA_ARGS__ stands for."""
    named = {i for i, p in enumerate(parameters) if p != "..." and re.search(rf"\b{re.escape(p)}\b", body)}
    rest = parameters.index("...") if "..." in parameters and "__VA_ARGS__" in body else None
    return named, rest


def dead_columns(tree):
    names, readers = {}, {}
    for table, macro, parameters, body, *_ in expansions(tree):
        key = (table, macro)
        if len(parameters) > len(names.get(key, [])) or "..." not in parameters:
            names[key] = parameters
        readers.setdefault(key, []).append(read(parameters, body))
    out = {}
    for (table, macro), parameters in names.items():
        for i, name in enumerate(parameters):
            alive = any(i in named or (rest is not None and i >= rest) for named, rest in readers[table, macro])
            if name != "..." and name != "ignored" and not alive:
                out[f"{table}:{macro}:{name}"] = f"{table}: no expansion of {macro} reads column {i + 1}, '{name}'"
    return out


def row_types(tree):
    """(table, file, struct) of the arrays that are made of a table: `constexpr Row rows[] = {`, the macro, the
    include.
    """
    out = set()
    for table, *_, file, before in expansions(tree):
        array = re.findall(r"(\w+)(?:<[^>]*>)?\s+\w+\[\w*\]\s*=?\s*\{(?=[^;]*\Z)", before)
        if array:
            out.add((table, file, array[-1]))
    return out


def fields(struct):
    body = re.sub(r"\([^()]*\)\s*(const)?\s*\{[^{}]*\}", "();", struct)
    body = re.sub(r"\{[^{}]*\}", "", body)
    declarations = (
        re.sub(r"=.*", "", d, flags=re.DOTALL) for d in body.split(";") if "(" not in d and "using" not in d
    )
    return [
        n
        for d in declarations
        for n in re.findall(r"(\w+)(?:\[[^\]]*\])?\s*(?=,|$)", d.strip())
        if re.search(r"\w\s+\S", d.strip())
    ]


def dead_fields(tree):
    """Fields of a table's struct that no code names after a point or an arrow, and no function of the struct by
    itself.
    """
    sources = {f: without_comments(tree.text(f)) for f in tree.product() if not f.endswith(".def")}
    every = "\n".join(sources.values())
    headers = "\n".join(text for f, text in sources.items() if f.endswith(".h"))
    used = set(re.findall(r"(?:\.|->)\s*(\w+)\b(?!\s*=[^=])", every)) | set(re.findall(r"::(\w+)\b", every))
    out = {}
    for table, file, name in sorted(row_types(tree)):
        struct = re.compile(rf"\bstruct {name}\s*\{{(.*?)\n\s*\}};", re.DOTALL)
        for m in struct.finditer(sources[file]) if struct.search(sources[file]) else struct.finditer(headers):
            own = set(re.findall(r"\w+", " ".join(re.findall(r"\)\s*(?:const)?\s*\{([^{}]*)\}", m[1]))))
            for field in fields(m[1]):
                if field not in used | own:
                    out[f"{table}:{name}.{field}"] = f"{table}: nothing reads {name}::{field}, which it fills"
    return out


def test_every_column_is_read():
    check(dead_columns(Tree(CHECKOUT)), DEAD_COLUMNS, ADVICE)


def test_every_field_that_a_row_fills_is_read():
    check(dead_fields(Tree(CHECKOUT)), DEAD_FIELDS, ADVICE)


def test_the_tables_are_seen():
    tables = {table for table, *_ in expansions(Tree(CHECKOUT))}
    assert {"core/uop/ops.def", "asm/isa/archs.def", "ops/elementwise.def", "codegen/optimize/actions.def"} <= tables


@pytest.mark.parametrize(
    "macros, dead",
    [
        (["OP(name, arity, hip) name, arity"], ["hip"]),
        (["OP(name, ...) name", "OP(name, arity, hip) arity + hip"], []),
        (["OP(name, arity, ...) {name, __VA_ARGS__}"], ["arity"]),
        (["OP(name, ...) {name, __VA_ARGS__}", "OP(a, b, c) #a"], []),
        (["OP(name, arity, hip) F(name##x, #arity, \\\n        hip)"], []),
    ],
)
def test_a_column_that_every_expansion_drops_is_found(tmp_path, macros, dead):
    text = "".join(f'#define {m}\n#include "strata/core/t.def"\n#undef OP\n' for m in macros)
    tree = make_tree(tmp_path, {"core/t.def": 'OP(add, 2, "+")\n', "core/a.cpp": text})
    assert [key.split(":")[-1] for key in dead_columns(tree)] == dead


def test_a_field_without_a_reader_is_found(tmp_path):
    text = """struct Row {
    const char* name;
    int arity = 0, bits, width;
    std::string_view hip, numpy;
    bool is(int x) const { return arity == x && width; }
};
constexpr Row rows[] = {
#define OP(name, arity, bits, width, hip, numpy) {name, arity, bits, width, hip, numpy},
#include "strata/core/t.def"
};
auto f(const Row& r) { return r.name + r.numpy + rows[0].bits; }
auto g(Row* r) { r->hip = ""; return r->arity == 2; }
"""
    tree = make_tree(tmp_path, {"core/t.def": 'OP(add, 2, "+")\n', "core/a.cpp": text})
    assert list(dead_fields(tree)) == ["core/t.def:Row.hip"]
