"""The Python of README.md and of the pages of docs runs as it stands there, and prints what the page shows.

python test/python/cli/test_pages.py [PAGE ...]     writes what the examples print now into the pages
"""

import contextlib
import io
import linecache
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[3]
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.MULTILINE | re.DOTALL)
STAGES = "docs/internals/stages.md"  # test_stages_page.py holds it
PAGES = [
    page
    for page in ("README.md", *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md")))
    if "```python" in (ROOT / page).read_text() and page != STAGES
]


def run(page):
    """(block, what it printed, the names after it) of each block, in one namespace."""
    names, text = {}, (ROOT / page).read_text()
    # inspect.getsource() of a function finds the page's lines, those of Python alone.
    lines = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        first, code = text.count("\n", 0, block.start("code")), block["code"].splitlines()
        lines[first : first + len(code)] = code
    linecache.cache[page] = (len(text), None, [line + "\n" for line in lines], page)
    for block in BLOCK.finditer(text):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile("\n" * text.count("\n", 0, block.start("code")) + block["code"], page, "exec"), names)
        # A file without a name lies in the working folder.
        yield block, said.getvalue().replace(f"{os.getcwd()}/", "").rstrip("\n") + "\n", names


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run_and_print_what_it_shows(page):
    for block, said, _ in run(page):
        if block["shown"] is not None:
            assert said == block["shown"], f"if the new text is right: python {Path(__file__).name} {page} writes it"


def test_the_pages_of_kernels_compute_the_same_at_every_level():
    scaled = []
    for _, _, names in run("docs/kernels.md"):
        if "y" in names:
            scaled.append(names.pop("y").numpy())
    assert len(scaled) >= 4
    for got in scaled:
        assert np.array_equal(got, names["x"].numpy() * np.float32(3))


def test_every_shown_text_belongs_to_an_example():
    for page in PAGES:
        text = (ROOT / page).read_text()
        assert text.count("```text") == sum(block["shown"] is not None for block in BLOCK.finditer(text)), page


def write(page):
    def again(block, said):
        return f"```python\n{block['code']}```\n" + (f"\n```text\n{said}```\n" if block["shown"] is not None else "")

    printed = iter([again(block, said) for block, said, _ in run(page)])
    path = ROOT / page
    path.write_text(BLOCK.sub(lambda _: next(printed), path.read_text()))


if __name__ == "__main__":
    for page in sys.argv[1:] or PAGES:
        write(page)
