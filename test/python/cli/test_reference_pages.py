"""docs/settings.md and docs/errors.md are made of core/support/settings.def and errors.def.

python test/python/cli/test_reference_pages.py     writes both pages
"""

import re
from pathlib import Path

import pytest
import strata

ROOT = Path(__file__).parents[3]
TYPES = {"std::string": "text", "int": "integer", "uint64_t": "integer", "double": "number", "bool": "switch"}
SETTING = re.compile(
    r'^SETTING\(\s*(\w+),\s*([\w:]+),\s*(.+?),\s*((?:anything|range|one_of|switch_of)(?:\(.*?\))?),\s*(?:none|plan|search|device|route),\s*"(.*)"\s*\)',
    re.MULTILINE,
)
ERROR = re.compile(r'^ERROR\(\s*\w+,\s*(\w+),\s*(\w+),\s*"(.*)"\s*\)', re.MULTILINE)
WRITTEN = {
    '""': "none",
    "true": "on",
    "false": "off",
    "default_cache_dir()": "`$XDG_CACHE_HOME/strata` or `~/.cache/strata`",
    "setting::in_debug_builds": "on in debug builds",
}


def default(text):
    if shifted := re.fullmatch(r"(\d+)ull << (\d+)", text):
        return str(int(shifted[1]) << int(shifted[2]))
    return WRITTEN.get(text, text.strip('"'))


def accepted(cpp_type, rule):
    if rule.startswith("range"):
        low, high = (str(eval(end.replace("ull", ""))) for end in rule[len("range(") : -1].split(","))
        return f"{TYPES[cpp_type]}, {low} to {high}"
    words = re.findall(r'"(\w+)"', rule)
    return ", ".join(f"`{word}`" for word in words) if words else TYPES[cpp_type]


def settings_page():
    rows = SETTING.findall((ROOT / "core/support/settings.def").read_text())
    lines = [
        "# Settings",
        "",
        (
            "A setting holds inside `with strata.config(name=value):`, for the thread or asyncio task of the "
            "block. Outside of blocks it is the"
        ),
        "environment variable `STRATA_<NAME>`, else the default. `strata info` prints the values that hold now.",
        "",
        "| setting | default | values | meaning |",
        "|---------|---------|--------|---------|",
    ]
    lines += [
        f"| `{name}` | {default(value)} | {accepted(kind, rule)} | {meaning} |"
        for name, kind, value, rule, meaning in rows
    ]
    return "\n".join(lines) + "\n", rows


def errors_page():
    rows = ERROR.findall((ROOT / "core/support/errors.def").read_text())
    lines = [
        "# Errors",
        "",
        (
            "Every error is a `strata.Error` and one of the classes below, which are also Python's own. A "
            "message says where, and what to"
        ),
        (
            "do. It has both shapes, clang's message at the line and column of your text, or the "
            "instruction, lane and address of an"
        ),
        "access. After a fault the process lives on.",
        "",
        "| error | also | raised for |",
        "|-------|------|------------|",
    ]
    lines += [f"| `{name}` | `{base}` | {meaning} |" for name, base, meaning in rows]
    lines += [
        "",
        "`strata.layout.LayoutError` is a `ShapeError` about layouts; it has `operation`, `mode` and `operands`.",
    ]
    return "\n".join(lines) + "\n", rows


PAGES = {"settings.md": settings_page, "errors.md": errors_page}


@pytest.mark.parametrize("page", PAGES)
def test_the_page_is_made_of_the_table(page):
    assert (ROOT / "docs" / page).read_text() == PAGES[page]()[0], f"python {Path(__file__).name} writes it"


def test_every_setting_and_error_has_a_row():
    assert [row[0] for row in settings_page()[1]] == list(strata.settings())
    for name, base, _ in errors_page()[1]:
        assert issubclass(
            getattr(strata, name),
            (strata.Error, __builtins__[base] if isinstance(__builtins__, dict) else getattr(__builtins__, base)),
        )


if __name__ == "__main__":
    for page, make in PAGES.items():
        (ROOT / "docs" / page).write_text(make()[0])
