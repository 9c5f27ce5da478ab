"""test/run --tiers counts each test once, by the most that it needs."""

import importlib.util
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("tiers", Path(__file__).parents[2] / "tiers.py")
tiers = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tiers)


@pytest.mark.parametrize(
    "words, tier",
    [
        ("test/python/layout/test_algebra.py\nassert lo.size(L) == 4", "numpy"),
        ("x = Tensor([1.0])", "emulator"),
        ("strata.asm_kernel(TEXT)\nTensor", "llvm"),
        ('target="hip"\nTensor', "clang"),
        ("its text, where NVRTC is there\nTensor", "nvrtc"),
        ("test/guards/test_sizes.py", "checkout"),
    ],
)
def test_a_python_test_is_in_the_tier_of_the_most_that_it_needs(words, tier):
    assert tiers.tier_of(words, 2) == tier


@pytest.mark.parametrize(
    "headers, tier",
    [
        ('#include "strata/core/uop/uop.h"', "numpy"),
        ('#include "strata/asm/emu/gpu.h"\n#include "strata/asm/llvm/assemble.h"', "llvm"),
        ('#include "strata/codegen/toolchain/prelude.h"', "clang"),
        ('#include "strata/asm/emu/gpu.h"', "emulator"),
    ],
)
def test_a_cpp_test_is_in_the_tier_of_its_headers(headers, tier):
    assert tiers.tier_of(headers, 3) == tier


def test_every_tier_says_what_it_needs():
    assert len({tier for tier, *_ in tiers.TIERS}) == len(tiers.TIERS) and all(
        meaning for _, meaning, *_ in tiers.TIERS
    )
