"""docs/internals/stages.md is what `strata explain --stages` prints.

python test/python/cli/test_stages_page.py     writes what it prints now
"""

from pathlib import Path

import pytest
from strata.cli.stages import stages

PAGE = Path(__file__).parents[3] / "docs" / "internals" / "stages.md"


def test_the_page_is_what_the_command_prints():
    assert PAGE.read_text() == stages(), f"if the new text is right: python {Path(__file__).name} writes it"


@pytest.mark.parametrize("arch, sign", [("gfx1201", "s_wait_"), ("gfx942", "s_waitcnt"), ("gfx90a", "s_waitcnt")])
def test_every_arch_has_its_walk(arch, sign):
    page = stages(arch)
    assert "v_exp_f32" in page and sign in page and "s_endpgm" in page and "%v" in page


if __name__ == "__main__":
    PAGE.write_text(stages())
