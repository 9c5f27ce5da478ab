"""The pictures of docs/layouts.md are what draw gives; show, banks and what notebooks see.

python test/python/layout/test_pictures.py      draws them again
"""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from strata import layout as lo

FOLDER = Path(__file__).parents[3] / "docs/layouts"
PICTURES = {
    "rows": lambda: lo.draw(lo.Layout((4, 8), (8, 1))),
    "blocks": lambda: lo.draw(lo.Layout((4, (2, 4)), (2, (1, 8)))),
    "threads": lambda: lo.draw(lo.make_layout_tv(lo.Layout((4, 8), (8, 1)), lo.Layout((2, 1)))),
    "swizzled": lambda: lo.draw(lo.composition(lo.Swizzle(3, 0, 3), lo.Layout((8, 8), (8, 1))), bits=32),
}


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_of_the_page_are_drawn_as_they_stand_there(name):
    drawn = PICTURES[name]()
    assert (FOLDER / f"{name}.svg").read_text() == drawn, f"if the new one is right: python {Path(__file__).name}"
    assert ElementTree.fromstring(drawn).tag.endswith("svg")


def test_every_picture_is_one_of_these():
    assert sorted(p.stem for p in FOLDER.iterdir()) == sorted(PICTURES)


def test_a_picture_has_a_cell_an_index():
    layout = lo.Layout((3, 4), (4, 1))
    root = ElementTree.fromstring(lo.draw(layout))
    cells = [e.text for e in root.iter() if e.tag.endswith("}text")][1 + 4 + 3 :]
    assert cells == [str(layout(r, c)) for r in range(3) for c in range(4)]
    assert len([e for e in root.iter() if e.tag.endswith("}rect")]) == 12


def test_threads_have_each_cell_once():
    tiler, tv = lo.make_layout_tv(lo.Layout((4, 8), (8, 1)), lo.Layout((2, 1)))
    root = ElementTree.fromstring(lo.draw((tiler, tv)))
    texts = [e.text for e in root.iter() if e.tag.endswith("}text")]
    assert {t for t in texts if t.startswith("T")} == {f"T{t}" for t in range(32)}
    assert texts.count("V0") == texts.count("V1") == 32


def test_draw_writes_a_file(tmp_path):
    text = lo.draw(lo.Layout(8), str(tmp_path / "a.svg"))
    assert (tmp_path / "a.svg").read_text() == text


def test_notebooks_show_small_layouts_as_pictures():
    assert lo.Layout((4, 4))._repr_html_() == lo.draw(lo.Layout((4, 4)))
    assert lo.Layout(1 << 20)._repr_html_() == "1048576:1"


def test_show_is_a_table_of_indices():
    assert lo.show(lo.Layout((2, 3), (3, 1))) == "(2,3):(3,1)\n   0 1 2\n0 0 1 2\n1 3 4 5".replace("   0", "  0")
    assert lo.show(lo.Layout(3, 2)).splitlines()[-1].split() == ["0", "2", "4"]
    assert "(1,0)" in lo.show(lo.make_identity_layout((2, 2)))


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201", "gfx942"])
def test_banks_are_those_of_the_timing_model(arch):
    tile = lo.Layout((32, 32), (32, 1))
    column = lo.bank_conflicts(tile(None, 3), bits=32, arch=arch)
    assert (column.ways, column.cycles, column.without) == (32, 32, 1) and column.lanes == (tuple(range(32)),)
    assert lo.bank_conflicts(lo.composition(lo.Swizzle(5, 0, 5), tile)(None, 3), bits=32, arch=arch).ways == 1
    assert lo.bank_conflicts(lo.Layout(32, 0), bits=32, arch=arch).ways == 1, "one dword for all"
    assert lo.bank_conflicts(lo.Layout(32, 2), bits=16, arch=arch).ways == 1
    pairs = lo.bank_conflicts(lo.Layout(32, 2), bits=32, arch=arch)
    assert pairs.ways == 2 and pairs.lanes[0] == (0, 16) and len(pairs.lanes) == 16
    wide = lo.bank_conflicts(lo.Layout((32, 4), (4, 1)), bits=32, arch=arch)
    assert (wide.ways, wide.cycles) == (1, 4), "8 lanes of 4 dwords a pass"


def test_waves_have_their_lanes():
    assert lo.bank_conflicts(lo.Layout(64), bits=32, arch="gfx942").cycles == 2


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, picture in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(picture())
