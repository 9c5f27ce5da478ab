"""The node tests of the package onnx, and docs/onnx.md, which says what comes of them.

.venv/bin/python test/python/io/test_onnx_nodes.py     writes the page as the tests go now
"""

import collections
import re
import sys
import warnings
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    import conftest  # noqa: F401

onnx = pytest.importorskip("onnx")
import strata  # noqa: E402
from onnx_nodes import cases, verdicts  # noqa: E402
from tested import QUICK_TARGET  # noqa: E402

PAGE = Path(__file__).resolve().parents[3] / "docs" / "onnx.md"
START = "## The node tests"
SHARDS = 8
NOT_THERE = "is not there"


def operators():
    return sorted({operator for operator, _, _ in cases()})


def reason(words):
    """The refusal, without the node's name."""
    if "operators that are not there" in words:
        return NOT_THERE
    words = re.sub(r"^\[onnx\] |'[^']*' ?| ?with \d+ inputs and [\w, ]+(?=:)", "", " ".join(words.split()))
    return words.partition(" (")[0][:160].replace("|", "/")


def rows(found):
    """operator -> (right, all, what is refused)."""
    out = {}
    for row in found:
        right, every, refused = out.get(row.operator, (0, 0, set()))
        out[row.operator] = (
            right + (row.of == "right"),
            every + 1,
            refused | ({reason(row.words)} if row.of == "refused" else set()),
        )
    return out


def shown(operator, row):
    right, every, refused = row
    return f"| {operator} | {right} of {every} | {'; '.join(sorted(refused))} |"


def of_page():
    """operator -> its line of the page."""
    text = PAGE.read_text()
    lines = {m[1]: m[0] for m in re.finditer(r"^\| ([\w.]+) \| \d+ of \d+ \|.*$", text, re.MULTILINE)}
    whole = re.search(r"^All right: (.*?)\n\n", text, re.MULTILINE | re.DOTALL)
    return lines | {
        name: shown(name, (int(n), int(n), set()))
        for name, n in re.findall(r"([\w.]+) (\d+)", whole[1] if whole else "")
    }


@pytest.mark.parametrize("shard", range(SHARDS))
def test_node_tests_are_right_or_refused_as_the_page_says(shard, monkeypatch):
    mine = set(operators()[shard::SHARDS])
    with strata.config(target=QUICK_TARGET):
        found = verdicts(lambda operator, name: operator in mine)
    wrong = [row for row in found if row.of == "wrong"]
    assert not wrong, "\n".join(f"{row.name}: {row.words[:400]}" for row in wrong)
    if onnx.__version__ == version_of_page():
        page = of_page()
        now = {name: shown(name, row) for name, row in rows(found).items()}
        assert now == {name: page.get(name) for name in now}, (
            f"if this is right: python {Path(__file__).name} writes it into docs/onnx.md"
        )


class Captured:
    """A model whose calls are captured; those that read values, as of sizes that are inputs, are plain."""

    def __init__(self, model, load=strata.onnx.load):
        self.net = load(model)
        self.run = strata.jit(lambda *given: self.net(*given))

    def __call__(self, *given):
        given = [x if isinstance(x, list) else strata.onnx.values.to_tensor(x, "") for x in given]
        if not all(isinstance(x, strata.Tensor) for x in given):
            return self.net(*given)
        try:
            self.run(*given)
            self.run(*given)
            return self.run(*given)
        except strata.UsageError as e:
            assert "are read in a captured function" in str(e)
            return self.net(*given)


@pytest.mark.parametrize("how", ["captured", "on another device"])
def test_some_are_right_captured_and_on_another_device(how, monkeypatch):
    load = strata.onnx.load
    monkeypatch.setattr(
        strata.onnx, "load", Captured if how == "captured" else lambda model: load(model, device="emu:gfx1201")
    )
    some = {test.name for _, test, _ in cases()[3::6]}
    with strata.config(target=QUICK_TARGET):
        found = verdicts(lambda operator, name: name in some)
    assert not [row for row in found if row.of == "wrong"]


def test_the_page_names_every_operator_of_the_tests_and_every_row():
    if onnx.__version__ == version_of_page():
        page = of_page()
        assert page.keys() == set(operators())
        untested = re.search(r"^Without a test there: (.*?)\n\n", PAGE.read_text() + "\n", re.MULTILINE | re.DOTALL)
        assert untested[1].replace("\n", " ") == ", ".join(without_tests(page))


def version_of_page():
    return re.search(r"onnx (\d+\.\d+\.\d+)", PAGE.read_text())[1]


def without_tests(tested):
    return sorted(
        name.removeprefix("ai.onnx.")
        for name in strata.onnx.operators.OPERATORS
        if name.removeprefix("ai.onnx.") not in tested
    )


def wrapped(prefix, items, width=140):
    lines, line = [], prefix
    for item in items:
        if len(line) + len(item) + 2 > width:
            lines.append(line.rstrip())
            line = ""
        line += item + ", "
    return "\n".join([*lines, line.rstrip(", ")])


def written(found):
    all_rows, counts = rows(found), collections.Counter(row.of for row in found)
    whole = [f"{name} {right}" for name, (right, every, _) in sorted(all_rows.items()) if right == every]
    part = [shown(name, row) for name, row in sorted(all_rows.items()) if row[0] != row[1]]
    return (
        f"""{START}

onnx {onnx.__version__} has {len(found)} tests of single operators and of the bodies of those that are functions. Of these {counts["right"]} are right and {counts["refused"]}
are refused, none is wrong. A body's tests count for its operator. A result counts as right within the package's tolerances.
It also does where it is nearer to float64's than what the test expects (Attention once in float16, the inverse DFT). Of
random numbers shapes and types are compared.

{wrapped("All right: ", whole)}

{wrapped("Without a test there: ", without_tests(all_rows))}

| operator | right | what is refused |
|---|---|---|
"""  # noqa: E501
        + "\n".join(part)
        + "\n"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with strata.config(target=QUICK_TARGET):
        found = verdicts()
    for row in found:
        if row.of == "wrong":
            print(f"wrong: {row.name}: {row.words[:400]}")
    PAGE.write_text(PAGE.read_text().partition(START)[0] + written(found))
    print(collections.Counter(row.of for row in found))
