"""A folder includes what it lists, nothing above it, and of other folders' headers the public ones only."""

import graphlib
import re

import pytest
from tree import CHECKOUT, CXX, LAYERS, Tree, check, make_tree

PRIVATE = ("_p.h", "_p.inc")


def granted(tree, file):
    """(folders that the file may include, folders whose private headers it may include too)."""
    if file.startswith("test/") and (tested := innermost(tree.tests, file[len("test/") :])):
        depends, opens = tree.tests[tested]
        return {tested, *depends, *opens, *tree.folders[tested]}, {tested, *opens}
    if not file.startswith("test/") and (folder := tree.folder_of(file)):
        if file.rsplit("/", 1)[0] == folder:
            return {folder, *tree.folders[folder]}, {folder, *([tree.houses[folder]] if folder in tree.houses else [])}
    return of_other_targets(tree, file)


def innermost(folders, file):
    parents = file.split("/")[:-1]
    return next((p for n in range(len(parents), 0, -1) if (p := "/".join(parents[:n])) in folders), "")


def of_other_targets(tree, file):
    """A program or the Python module links targets by name: what its CMakeLists.txt names, and all below that."""
    parents = file.split("/")[:-1]
    scripts = ("/".join([*parents[:n], "CMakeLists.txt"]) for n in range(len(parents), 0, -1))
    script = next((s for s in scripts if s in tree.files), "")
    text = re.sub(r"#.*", "", tree.text(script)) if script else ""
    opened = {f for call in re.findall(r"strata_opens\(\S+([^)]*)\)", text) for f in call.split()}
    linked, words = set(opened), set(re.findall(r"strata_\w+", text))
    more = [f for f in tree.folders if "strata_" + f.replace("/", "_") in words]
    while more:
        linked.update(more)
        more = [d for f in more for d in tree.folders.get(f, []) if d not in linked]
    return linked, opened


def unlisted(tree):
    out = {}
    for file in (f for f in tree.files if f.endswith(CXX)):
        for line, folder, header in tree.includes(file):
            allowed, opened = granted(tree, file)
            if folder not in tree.folders:
                out[f"{file}:{folder}"] = f"{file}:{line}: no strata_folder({folder}) is declared"
            elif folder not in allowed:
                out[f"{file}:{folder}"] = f"{file}:{line}: includes {folder}/{header}, which its target does not list"
            elif header.endswith(PRIVATE) and folder not in opened:
                out[f"{file}:{folder}:{header}"] = f"{file}:{line}: {header} is private to {folder}"
    return out


def upward(tree):
    out = {}
    for file in tree.product():
        for line, folder, _ in tree.includes(file):
            own, other = file.split("/")[0], folder.split("/")[0]
            if other in LAYERS and LAYERS.index(other) > LAYERS.index(own):
                out[f"{file}:{folder}"] = f"{file}:{line}: {own} includes {folder}, which stands above it"
    return out


def cycles(tree):
    """Folders that depend on each other; CMake would link them."""
    try:
        tuple(graphlib.TopologicalSorter(tree.folders).static_order())
    except graphlib.CycleError as error:
        ring = " <- ".join(error.args[1])
        return {ring: f"folders depend on each other: {ring}"}
    return {}


def strangers(tree):
    """Rooms that open another folder than the one they stand in."""
    return {
        room: f"{room} opens {house}, which it does not stand in"
        for room, house in tree.houses.items()
        if not room.startswith(house + "/")
    }


def unused(tree):
    """Folders that a folder lists and no file of it includes."""
    used = {(tree.folder_of(file), folder) for file in tree.product() for _, folder, _ in tree.includes(file)}
    return {
        f"{f}:{d}": f"{f} lists {d} and includes nothing of it"
        for f, depends in tree.folders.items()
        for d in depends
        if (f, d) not in used
    }


def test_every_include_is_listed():
    check(
        unlisted(Tree(CHECKOUT)),
        {},
        "List the folder under DEPENDS (OPENS for private headers of a tested folder) in CMakeLists.txt, or "
        "make the header public.",
    )


def test_nothing_includes_upward():
    check(upward(Tree(CHECKOUT)), {}, "Layers: " + " <- ".join(LAYERS) + ". Move what both need into the lower one.")


def test_folders_stand_below_their_users():
    check(cycles(Tree(CHECKOUT)), {}, "Move what both need into a folder below them.")


def test_a_room_opens_its_own_house_alone():
    check(strangers(Tree(CHECKOUT)), {}, "Make the header public.")


def test_everything_listed_is_used():
    check(unused(Tree(CHECKOUT)), {}, "Delete it from DEPENDS.")


CMAKE = """strata_folder(core/low)
strata_folder(core/high DEPENDS core/low)  # core/other
strata_tests(core/high OPENS core/low)
"""
ROOM = "strata_folder(core/low/room DEPENDS core/low OPENS core/low)\n"


@pytest.mark.parametrize(
    "file, include, found",
    [
        ("core/high/a.cpp", "core/low/x.h", 0),
        ("core/high/a.cpp", "core/low/x_p.h", 1),
        ("core/low/a.cpp", "core/high/x.h", 1),
        ("core/low/a_p.inc", "core/low/x_p.inc", 0),
        ("core/low/room/a.cpp", "core/low/x_p.h", 0),
        ("core/low/a.h", "core/none/x.h", 1),
        ("test/core/high/a_test.cpp", "core/low/x_p.h", 0),
        ("test/core/high/a_test.cpp", "core/high/x_p.h", 0),
        ("test/core/low/a_test.cpp", "core/high/x.h", 1),
    ],
)
def test_an_unlisted_include_is_found(tmp_path, file, include, found):
    tree = make_tree(tmp_path, {"CMakeLists.txt": CMAKE + ROOM, file: f'#include "strata/{include}"\n'})
    assert len(unlisted(tree)) == found


def test_a_stranger_is_found(tmp_path):
    tree = make_tree(
        tmp_path, {"CMakeLists.txt": CMAKE + ROOM + "strata_folder(core/high/room DEPENDS core/low OPENS core/low)"}
    )
    assert list(strangers(tree)) == ["core/high/room"]


def test_an_upward_include_is_found(tmp_path):
    tree = make_tree(
        tmp_path, {"core/low/a.h": '#include "strata/ops/x.h"\n', "ops/a.h": '#include "strata/core/low/x.h"\n'}
    )
    assert list(upward(tree)) == ["core/low/a.h:ops"]


def test_a_cycle_is_found(tmp_path):
    tree = make_tree(tmp_path, {"CMakeLists.txt": "strata_folder(a DEPENDS b)\nstrata_folder(b DEPENDS a)\n"})
    assert len(cycles(tree)) == 1


def test_a_dependence_without_a_use_is_found(tmp_path):
    tree = make_tree(tmp_path, {"CMakeLists.txt": CMAKE, "core/high/a.h": "int a;\n"})
    assert list(unused(tree)) == ["core/high:core/low"]
