"""docs/strict.md shows what its examples print, to the letter.

    python test/python/test_strict_page.py     writes what they print now into the page
"""

import contextlib
import io
import os
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "strict.md"
EXAMPLE = re.compile(r"^```python\n(?P<code>.*?)^```\n\n```text\n(?P<shown>.*?)^```\n", re.MULTILINE | re.DOTALL)


def printed_by_the_examples(page):
    names, out = {}, []
    for example in EXAMPLE.finditer(page):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(example["code"], "strict.md", "exec"), names)
        out.append(said.getvalue().replace(f"{os.getcwd()}/", ""))  # a file without a name lies in the working folder
    return out


def test_the_page_shows_what_its_examples_print():
    page = PAGE.read_text()
    shown = [example["shown"] for example in EXAMPLE.finditer(page)]
    assert len(shown) == page.count("```python") == page.count("```text") >= 4
    assert shown == printed_by_the_examples(page), f"if the new texts are right: python {Path(__file__).name} writes them into the page"


if __name__ == "__main__":
    page = PAGE.read_text()
    texts = iter(printed_by_the_examples(page))
    PAGE.write_text(EXAMPLE.sub(lambda example: f"```python\n{example['code']}```\n\n```text\n{next(texts)}```\n", page))
