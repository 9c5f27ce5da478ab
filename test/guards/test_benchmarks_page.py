"""docs/benchmarks.md holds the tables of docs/benchmarks/*.json: each figure has a machine and a command."""

import re
import statistics
import sys

from tree import CHECKOUT, check

sys.path.insert(0, str(CHECKOUT))
from tools.bench import pages  # noqa: E402

COMMANDS = {"| command | measures |": "what there is to measure, no result"}


def unmarked(text):
    """First lines of tables that no mark stands above."""
    tables = re.findall(r"(?:(?<=\n)|^)(?:(?!\|).*\n)?\n?(\|.*)\n(?:\|.*\n)+", pages.MARK.sub("", text))
    return {head: f"no mark stands above {head}" for head in tables}


def test_the_page_is_what_its_results_make():
    text, tables = pages.PAGE.read_text(), pages.read_tables()
    assert pages.page_text(text, tables) == text, "run scripts/benchmarks_page"
    assert set(tables) == {mark[1] for mark in pages.MARK.finditer(text)}, "each result is shown once"


def test_the_front_page_has_the_figures_of_the_table():
    said = re.search(
        r"(\d+) composed programs take ([\d.]+) of torch eager's time in geometric mean. (\d+) of them",
        (CHECKOUT / "README.md").read_text(),
    )
    ratios = [float(row[3]) for row in pages.read_tables()["programs_h200"]["rows"]]
    mean = f"{statistics.geometric_mean(ratios):.2f}"
    assert said.groups() == (str(len(ratios)), mean, str(sum(ratio > 1.1 for ratio in ratios)))


def test_every_result_has_its_machine_and_command():
    wrong = {
        name: f"{name}.json: machine and command, which starts with strata bench"
        for name, table in pages.read_tables().items()
        if not table.get("machine") or not table.get("command", "").startswith("strata bench")
    }
    check(wrong, {}, "Say where and how it was measured.")


def test_every_table_of_the_page_is_made():
    check(unmarked(pages.PAGE.read_text()), COMMANDS, "Put it into docs/benchmarks, and a mark into the page.")


def test_a_new_result_changes_its_table_alone():
    table = {"command": "strata bench a", "machine": "b", "columns": ["x", "y"], "align": ["left", "right"]}
    text = "one\n\n<!-- table: a -->\nold\n\n| x | y |\n|---|---|\n| 0 | 0 |\n\ntwo\n\n| by | hand |\n|---|---|\n"
    made = pages.page_text(text, {"a": {**table, "rows": [["1", "2"]]}})
    assert made == (
        "one\n\n<!-- table: a -->\n`strata bench a`, b.\n\n| x | y |\n| --- | --: |\n| 1 | 2 |\n\ntwo\n\n"
        "| by | hand |\n|---|---|\n"
    )
    assert pages.page_text(made, {"a": {**table, "rows": [["1", "2"]]}}) == made
    assert list(unmarked(made)) == ["| by | hand |"]


def test_what_a_run_puts_there_has_the_page_s_columns():
    from tools.bench import DOCUMENTED, lang, llm, model, programs, search

    row = {"what": "sum", "published": 2.0, "modelled": 1.0, "unit": "ms", "error_percent": -50.0}
    results = {"model": {"mi210": [row]}, "search": {"matmul 256": {"beam_ms": 0.5, "annealed_ms": 0.25}}}
    shares = {name: {"ms": 1.0, "limit_ms": 0.5} for name in ("a", "b")}
    results["programs"] = {"card": "7900xtx", "rows": shares, "geomean": 0.5}
    assert programs.document(results["programs"])["align"] == ["left", "right", "right"]
    shares = {"us": 9.5, "kernels": 1, "allowed": 1, "limited_by": "LDS"}
    shares = {"a": shares | {"share": 0.5, "aim": 0.9}, "b": shares | {"aim_us": 7.0}, "c": {"failed": "Error: why"}}
    results["llm"] = {arch: {"card": arch, "at_aim": "0 of 3", "rows": shares} for arch in ("gfx1100", "gfx942")}
    assert llm.document(results["llm"])["rows"][1] == [
        "b",
        "9.5 us; 9.5 us",
        "7 us; 7 us",
        "1 of 1; 1 of 1",
        "LDS; LDS",
    ]
    assert llm.document(results["llm"])["align"] == pages.read_tables()["llm"]["align"]
    results["lang"] = {
        "call_us": 9.5,
        "sized_call_us": 9.9,
        "asm_call_us": 8.0,
        "code_add_ms": 0.4,
        "code_softmax_ms": 2.3,
        "lines": {"a": 5},
    }
    results["lang"] |= {f"trace_{name}": {"first_ms": 0.6, "ms": 0.1} for name in ("add", "softmax", "matmul")}
    results["lang"] |= {"code_matmul_ms": 5.0, "captured_us": 6.0, "layout_us": 2.0, "first_launch_ms": 4.0}
    results["lang"]["products_tflop_per_s"] = {"gfx942 float32": {"lang": 2, "scheduler": 3, "scheduler_a_b": 4}}
    for name, module in (("lang", lang), ("model", model), ("search", search)):
        made, kept = module.document(results[name]), pages.read_tables()[name]
        assert (made["columns"], made["align"]) == (kept["columns"], kept["align"])
        assert all(len(cells) == len(made["columns"]) for cells in made["rows"])
    assert set(DOCUMENTED) == set(results) and set(model.SPELLED) == set(model.CARDS)
