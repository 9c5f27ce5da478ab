"""Facts of a mnemonic in the instruction tables."""

import pytest
import strata
from strata import asm


def test_a_vector_operation_has_its_formats_operands_and_cycles():
    small, wide = asm.describe("v_exp_f32")
    assert (small["format"], small["opcode"], wide["format"]) == ("VOP1", 0x25, "VOP3")
    assert small["destinations"] == [{"type": "f32", "dwords": 1, "takes": ["vgpr"]}]
    assert small["sources"][0]["takes"] == ["vgpr", "sgpr", "inline", "literal"]
    assert small["flags"] == ["trans"] and small["counters"] == []
    assert small["latency"] == {"kind": "trans", "issue": 4, "result": 10}
    assert small["reads"] == ["exec", "mode"] and small["writes"] == []
    assert asm.describe("v_exp_f32_e64") == [small, wide]


def test_counters_are_those_of_the_arch():
    def counters(mnemonic, arch):
        return asm.describe(mnemonic, arch)[0]["counters"]

    assert counters("global_load_b32", "gfx1100") == ["vmcnt"]
    assert counters("global_store_b32", "gfx1100") == ["vscnt"]
    assert counters("flat_load_b32", "gfx1201") == ["loadcnt", "dscnt"]
    assert counters("global_store_dword", "gfx942") == ["vmcnt"]


def test_matrix_instructions_have_passes_on_cdna():
    (form,) = asm.describe("v_mfma_f32_32x32x8_f16", "gfx942")
    assert form["latency"]["passes"] == 8 and form["latency"]["issue"] == 32
    assert form["destinations"][0] == {"type": "b512", "dwords": 16, "takes": ["vgpr", "agpr"]}
    assert "destination" in asm.describe("v_smfmac_f32_16x16x32_f16", "gfx942")[0]["reads"]


def test_masks_have_the_width_of_the_wave():
    assert asm.describe("v_cndmask_b32", "gfx1100")[0]["sources"][2]["dwords"] == 1
    assert asm.describe("v_cndmask_b32", "gfx942")[0]["sources"][2]["dwords"] == 2


def test_every_mnemonic_has_a_description():
    for arch in ("gfx1100", "gfx942"):
        for mnemonic in strata._strata._mnemonics(arch):
            assert strata._strata._describe(mnemonic, arch), mnemonic


def test_an_unknown_mnemonic_names_what_is_near():
    with pytest.raises(strata.AssemblyError, match="gfx942 has no instruction v_dual_add_f32; near it: .*v_add_f32"):
        asm.describe("v_dual_add_f32", "gfx942")
    with pytest.raises(strata.Error, match="gfx9999"):
        asm.describe("v_add_f32", "gfx9999")
