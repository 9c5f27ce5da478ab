"""Names of CuTe, FlyDSL, Triton and HIP are answered with Strata's; facts of architectures."""

import re

import pytest
import strata
from strata import lang, layout
from strata.lang._foreign import LANG


def test_every_foreign_name_is_answered_and_is_not_there():
    for name, text in LANG.items():
        with pytest.raises(AttributeError, match=re.escape(f"strata.lang has no '{name}': {text}")):
            getattr(lang, name)


def test_what_the_answers_name_exists():
    for text in LANG.values():
        for name in re.findall(r"\blang\.(\w+)", text):
            assert hasattr(lang, name), text
        for name in re.findall(r"\blo\.(\w+)", text):
            assert hasattr(layout, name), text
        for name in re.findall(r"\bdtypes\.(\w+)", text):
            assert hasattr(strata.dtypes, name), text
        for name in re.findall(r"@?\bstrata\.(\w+)", text):
            assert hasattr(strata, name), text


def test_a_misspelt_name_suggests_the_right_one():
    with pytest.raises(AttributeError, match="'barier'; close: .*barrier"):
        lang.barier  # noqa: B018


@pytest.mark.parametrize(
    "name, wave, lds", [("gfx1100", 32, 65536), ("gfx1201", 32, 65536), ("gfx942", 64, 65536), ("gfx90a", 64, 65536)]
)
def test_facts_of_an_architecture(name, wave, lds):
    arch = strata.arch(name)
    assert (arch.name, arch.wave_size, arch.lds_bytes) == (name, wave, lds)
    assert arch.max_block == 1024 and arch.registers >= 256 and arch.access_bytes == 16
    assert ("universal", 128) in arch.copy_atoms
    assert any(atom.dtype == strata.dtypes.float16 and atom.threads == wave for atom in arch.mma_atoms)
    assert name in repr(arch)


def test_facts_of_nvidia_s_chips_and_of_the_default_device():
    assert strata.arch("sm_90").wave_size == 32 and strata.arch("sm_90").registers is None
    with strata.config(device="emu:gfx942"):
        assert strata.arch().name == "gfx942"
    with pytest.raises(strata.Error, match="gfx9999"):
        strata.arch("gfx9999")
