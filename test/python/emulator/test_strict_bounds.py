"""Scalar loads that are wider than what was asked for: what they read past the end of their memory."""

import numpy as np
import pytest
import strata
from strata import Tensor, emulator

# `used` registers of s[8:11], which hold x[4:8], go into the result. x has six elements: s10 and s11 come from past its
# end.
WIDENED = {
    "gfx1100": """
    s_load_b128 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    s_load_b128 s[8:11], s[6:7], 0x10
    s_waitcnt lgkmcnt(0)
    {used}
    global_store_b32 v1, v2, s[4:5]
    s_endpgm
""",
    "gfx942": """
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32_e32 v1, 2, v0
    s_waitcnt lgkmcnt(0)
    s_load_dwordx4 s[8:11], s[6:7], 0x10
    s_waitcnt lgkmcnt(0)
    {used}
    global_store_dword v1, v2, s[4:5]
    s_endpgm
""",
}


@pytest.mark.parametrize("arch", WIDENED)
@pytest.mark.parametrize("used, found", [
    ("v_mov_b32 v2, s8", ""),
    ("v_mov_b32 v2, s9", ""),
    ("v_mov_b32 v2, s10", "v2 is stored, but comes from past the end"),
    ("v_mov_b32 v2, s11", "v2 is stored, but comes from past the end"),
    ("v_mov_b32 v2, 3\n    v_mul_f32 v2, s10, v2", "v2 is stored, but comes from past the end"),
    ("s_add_u32 s10, s10, s9\n    v_mov_b32 v2, s10", "v2 is stored, but comes from past the end"),
    ("s_and_b32 s10, s10, 0\n    v_mov_b32 v2, s10", ""),
    ("v_mov_b32 v2, 3\n    s_cmp_eq_u32 s11, 0\n    s_cbranch_scc1 0",
        "scc decides where the wave goes on, but comes from past the end"),
])  # fmt: skip
def test_what_a_widened_load_brings_from_behind_its_array_is_found_where_it_is_used(arch, used, found):
    kernel = strata.asm_kernel(
        WIDENED[arch].format(used=used), name="widened", args=["out", "x"], grid=1, block=64, arch=arch
    )
    with strata.config(device=f"emu:{arch}"), emulator.check() as report:
        kernel(Tensor(np.zeros(64, np.int32)), Tensor(np.zeros(6, np.int32)))
    assert [finding.kind for finding in report] == (["out-of-bounds"] if found else []), report
    if found:
        assert found in report[0].what
