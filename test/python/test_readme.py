"""The Python of README.md runs as it is written there, from top to bottom, and its five levels agree."""

import re
from pathlib import Path

import numpy as np

README = Path(__file__).parents[2] / "README.md"


def test_the_snippets_of_the_readme_run():
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    names, scaled = {}, []
    for block in blocks:
        names.pop("y", None)
        exec(block, names)
        if "y" in names:
            scaled.append(names["y"].numpy())
    assert len(scaled) >= 3
    for got in scaled:
        assert np.array_equal(got, names["x"].numpy() * np.float32(3))
    assert names["artifact"].code_object.startswith(b"\x7fELF")
