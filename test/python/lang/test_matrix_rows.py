"""Every row of matrix_shapes.def as an atom of the language, in the interpreter against NumPy and by NVRTC."""

import re
from pathlib import Path

import numpy as np
import pytest
import strata
from strata import Tensor, lang

TABLE = (Path(__file__).parents[3] / "codegen/target/matrix_shapes.def").read_text()
CHIP_OF = {"rdna3": "gfx1100", "rdna4": "gfx1201", "cdna3": "gfx942", "cdna2": "gfx90a"}


def rows(kind):
    """(chip, name, (m, n, k), operand, accumulator) of the table's rows of a kind."""
    for row in re.findall(rf"^{kind}\( (.*) \)", TABLE, re.M):
        chip, name, m, n, k, operand, acc, *_ = re.split(r",\s*", row)
        yield CHIP_OF.get(chip, chip), name, (int(m), int(n), int(k)), operand, acc


def of_rows(*kinds):
    found = [row for kind in kinds for row in rows(kind)]
    return pytest.mark.parametrize("chip, name, mnk, operand, acc", found, ids=[f"{r[0]}-{r[1]}" for r in found])


@strata.kernel(grid=1, block=32)
def multiply(c: lang.Tensor, a: lang.Tensor, b: lang.Tensor, atom: lang.Constexpr):  # c = a @ b.T
    acc, mnk, name = atom
    row = lang.MmaAtom(a.dtype, acc, mnk)
    assert row.name == name and row.threads == lang.wave_size()
    mma = lang.make_tiled_mma(row, (1, 1, 1))
    thread = mma.get_slice(lang.thread_idx.x)
    sums = thread.make_fragment_C(c)
    sums.fill(0)
    lang.gemm(mma, sums, thread.load_A(a), thread.load_B(b), sums)
    thread.store_C(sums, c)


def drawn(rng, shape, dtype):
    """Small numbers of one sign, whose products and sums are exact in every type."""
    return Tensor(rng.integers(0, 4, shape).astype(np.float32)).cast(dtype).realize()


def float64(t):
    return t.numpy() if t.dtype.name == "float64" else t.cast("float64").numpy()


def operands(rng, mnk, operand, acc):
    m, n, k = mnk
    return Tensor.zeros(m, n).cast(acc).realize(), drawn(rng, (m, 2 * k), operand), drawn(rng, (n, 2 * k), operand)


@of_rows("MATRIX", "MMA")
def test_the_interpreter_multiplies_by_every_row(rng, chip, name, mnk, operand, acc):
    c, a, b = operands(rng, mnk, operand, acc)
    (got,) = multiply.interpret(c, a, b, (acc, mnk, name), block=strata.arch(chip).wave_size, arch=chip)
    np.testing.assert_array_equal(float64(got), float64(a) @ float64(b).T)


def specs(mnk, operand, acc):
    m, n, k = mnk
    return lang.TensorSpec((m, n), acc), lang.TensorSpec((m, 2 * k), operand), lang.TensorSpec((n, 2 * k), operand)


@of_rows("MMA")
def test_nvidia_s_compiler_takes_every_row(chip, name, mnk, operand, acc):
    """Its text, where NVRTC is there. No card runs it here."""
    with strata.config(target="hip"):
        try:
            made = strata.compile(multiply, *specs(mnk, operand, acc), (acc, mnk, name), block=32, arch=chip)
        except strata.DeviceError as missing:
            pytest.skip(str(missing))
    assert f"{name}(" in made.source


@of_rows("WGMMA")
def test_rows_of_four_waves_are_refused_with_those_that_there_are(chip, name, mnk, operand, acc):
    with pytest.raises(
        strata.Unsupported, match=rf"no matrix instruction for {operand} \d+x\d+x16 .* float16 16x16x16"
    ):
        lang.MmaAtom(operand, acc, (64, *mnk[1:]), arch=chip)


def test_an_arch_lists_its_rows():
    for chip in ("gfx1100", "gfx1201", "gfx942", "gfx90a"):
        listed = [(a.name, a.shape_mnk, a.dtype.name, a.acc.name) for a in strata.arch(chip).mma_atoms]
        assert listed == [row[1:] for row in rows("MATRIX") if row[0] == chip]
    assert {a.name for a in strata.arch("sm_90").mma_atoms} == {row[1] for row in rows("MMA")}
