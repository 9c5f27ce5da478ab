"""The column `keys` of settings.def: a launch plan serves every value of a setting that has `none`, and no other.

So no such setting changes what the kernels of a graph are."""

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest
import strata

ROWS = re.findall(
    r"^SETTING\( ?(\w+),.*?((?:anything|range|one_of|switch_of)(?:\(.*?\))?), *(none|device|route|plan|search),",
    (Path(__file__).parents[3] / "core/support/settings.def").read_text(),
    re.MULTILINE,
)
# Settings of `none` that the test leaves as they are, with the reason.
LEFT = {
    "tools": "where programs are looked for",
    "cache_dir": "where files are kept",
    "dump": "where stages of kernels are written",
    "emu_simd": "chosen when the first kernel is loaded",
}


def another(name, accepts):
    """A value that is not the default, or None."""
    if name == "device":
        return "emu:gfx942"
    if name == "target":
        return "hip"  # `auto` would be `asm` without compilers; the word leaves this file out of that pass of test/run
    now = strata.settings()[name]
    if isinstance(now, bool):
        return not now
    if isinstance(now, str):
        return next((w for w in re.findall(r'"(\w+)"', accepts) if w != now), "w7900" if name == "emu_model" else None)
    return type(now)(now + (2**33 if "budget" in name else 1))


def made(number, name, value):
    """(plans made, plans found) for a graph of its own in the default setting, and then in another."""
    counts = []
    for setting in ({}, {name: value}):
        with strata.config(**{"device": "emu:gfx1100", "target": "asm", "no_cache": True, **setting}):
            x = strata.Tensor(np.ones((4, 40 + number), np.float32))
            strata.reset_stats()
            ((x + 1).exp().sum(1) * 2).realize()
            counts.append((strata.stats().plans_made, strata.stats().plans_found))
    return counts


def text(name, value):
    x = strata.Tensor(np.ones((4, 6), np.float32))
    with strata.config(**{name: value}):
        return strata.compile((x + 3).exp().sum(1) * 2, "gfx1100", "asm").assembly


@pytest.mark.parametrize("name, accepts, keys", [row for row in ROWS if row[0] not in LEFT])
def test_a_plan_serves_the_values_that_its_key_says(name, accepts, keys):
    value = another(name, accepts)
    first, second = made(list(strata.settings()).index(name), name, value)
    assert first == (1, 0)
    assert second == ((0, 1) if keys in ("none", "search") else (1, 0))
    if keys == "none" and name != "run_only":  # under which nothing new is compiled
        assert text(name, value) == text(name, strata.settings()[name])


def test_rows_are_all_there():
    assert {row[0] for row in ROWS} == set(strata.settings())
    assert set(LEFT) <= {name for name, _, keys in ROWS if keys == "none"}


def test_a_profile_has_operations_and_the_plan_serves_who_profiles_no_more():
    with strata.config(device="emu:gfx1100", target="asm", no_cache=True):
        x = strata.Tensor(np.ones((4, 39), np.float32)).realize()
        counts, profiles = [], []
        for profiles_it in (False, True, True, False):
            strata.reset_stats()
            with strata.profile() if profiles_it else contextlib.nullcontext() as profile:
                ((x + 5).exp().sum(1) * 2).realize()
            profiles.append(profile)
            counts.append((strata.stats().plans_made, strata.stats().plans_found))
    assert [made for made, _ in counts] == [1, 1, 0, 0]
    for profile in profiles[1:3]:
        (launch,) = profile.launches
        assert any(one["origin"] for one in launch["instructions"])
