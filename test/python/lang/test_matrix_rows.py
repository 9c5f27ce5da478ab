"""Every row of matrix_shapes.def as an atom of the language: in the interpreter, and by NVIDIA's compiler."""

import re
from pathlib import Path

import numpy as np
import pytest
import strata
from strata import Tensor, lang
from tested import TARGETS

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


def test_an_arch_lists_its_rows():
    for chip in ("gfx1100", "gfx1201", "gfx942", "gfx90a"):
        listed = [(a.name, a.shape_mnk, a.dtype.name, a.acc.name) for a in strata.arch(chip).mma_atoms]
        assert listed == [row[1:] for row in rows("MATRIX") if row[0] == chip]
    listed = [(a.name, a.shape_mnk) for a in strata.arch("sm_90").mma_atoms]
    groups = [(name, (4 * mnk[0], *mnk[1:])) for _, name, mnk, _, _ in rows("WGMMA")]
    assert sorted(listed) == sorted([*groups, *(row[1:3] for row in rows("MMA"))])


SIGNS = [(a, b, clamp) for a in (True, False) for b in (True, False) for clamp in (False, True)]
MIXED = [
    row for kind in ("MATRIX", "MMA") for row in rows(kind) if row[3] == "int8" and row[0] not in ("gfx942", "gfx90a")
]


@strata.kernel(grid=1, block=32)
def mixed(c: lang.Tensor, a: lang.Tensor, b: lang.Tensor, signs: lang.Constexpr):  # c += a @ b.T
    sign_a, sign_b, clamp = signs
    atom = lang.MmaAtom("int8", sign_a=sign_a, sign_b=sign_b, clamp=clamp)
    mma = lang.make_tiled_mma(atom, (1, 1, 1))
    thread = mma.get_slice(lang.thread_idx.x)
    sums = thread.make_fragment_C(c)
    lang.autovec_copy(thread.partition_C(c), sums)
    lang.gemm(mma, sums, thread.load_A(a), thread.load_B(b), sums)
    thread.store_C(sums, c)


def bytes_of(rng, shape, signed):
    return rng.integers(*((-128, 128) if signed else (0, 256)), shape).astype("int8" if signed else "uint8")


def mixed_operands(rng, mnk, signs):
    """Sums near both ends of int32, so that they leave it by wrapping or stay at its ends."""
    (m, n, k), (sign_a, sign_b, _) = mnk, signs
    c = rng.choice([-(2**31), 2**31 - 1, 0], (m, n)).astype("int32")
    return c, bytes_of(rng, (m, k), sign_a), bytes_of(rng, (n, k), sign_b)


def wanted(c, a, b, clamp):
    exact = c.astype("int64") + a.astype("int64") @ b.astype("int64").T
    return np.clip(exact, -(2**31), 2**31 - 1).astype("int32") if clamp else exact.astype("int32")


@pytest.mark.parametrize("signs", SIGNS, ids=str)
@pytest.mark.parametrize("chip, name, mnk, operand, acc", MIXED, ids=[row[1] for row in MIXED])
def test_integers_of_each_sign_multiply_and_saturate_as_numpy_s(rng, chip, name, mnk, operand, acc, signs):
    c, a, b = mixed_operands(rng, mnk, signs)
    (got,) = mixed.interpret(Tensor(c), Tensor(a), Tensor(b), signs, block=strata.arch(chip).wave_size, arch=chip)
    np.testing.assert_array_equal(got.numpy(), wanted(c, a, b, signs[2]))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("signs", SIGNS, ids=str)
@pytest.mark.parametrize("chip", ["gfx1100", "gfx1201"])
def test_machine_code_and_hip_take_the_signs_too(rng, chip, target, signs):
    c, a, b = mixed_operands(rng, (16, 16, 16), signs)
    with strata.config(device=f"emu:{chip}", target=target, check="raise"):
        (got,) = mixed(Tensor(c), Tensor(a), Tensor(b), signs)
        np.testing.assert_array_equal(got.numpy(), wanted(c, a, b, signs[2]))


@pytest.mark.parametrize("signs", SIGNS, ids=str)
def test_nvidia_s_compiler_takes_the_signs(signs):
    """Its text, where NVRTC is there. No card runs it here."""
    kinds = ["int8" if sign else "uint8" for sign in signs[:2]]
    specs = [lang.TensorSpec((16, 16), "int32"), *(lang.TensorSpec((16, 32), kind) for kind in kinds)]
    with strata.config(target="hip"):
        try:
            made = strata.compile(mixed, *specs, signs, block=32, arch="sm_80")
        except strata.DeviceError as missing:
            pytest.skip(str(missing))
    letters = "".join(kind[0].replace("i", "s") for kind in kinds)
    variant = (f"_{letters}" if "u" in letters else "") + ("_clamp" if signs[2] else "")
    assert f"mma_i32_16x16x32_s8{variant}(" in made.source


@pytest.mark.parametrize("chip", ["gfx942", "gfx90a"])
def test_chips_with_signed_bytes_alone_list_what_they_have(chip):
    for signs, says in (({"sign_a": False}, "A without sign"), ({"sign_b": False}, "B without sign"),
                        ({"clamp": True}, "sums that saturate")):  # fmt: skip
        with pytest.raises(
            strata.Unsupported, match=rf"{chip} has no matrix instruction for int8 to int32, {says}; it"
        ):
            lang.MmaAtom("int8", arch=chip, **signs)
    with pytest.raises(strata.Unsupported, match=r"int8 16x16x16 to int32 \(with sign_a, sign_b, clamp\)"):
        lang.MmaAtom("float16", arch="gfx1201", clamp=True)
    atom = lang.MmaAtom("int8", sign_b=False, clamp=True, arch="gfx1100")
    assert (atom.dtype_A.name, atom.dtype_B.name, atom.clamp) == ("int8", "uint8", True)


def test_operands_have_the_signs_of_their_atom():
    spec = lang.TensorSpec((16, 16), "int32"), lang.TensorSpec((16, 16), "int8"), lang.TensorSpec((16, 16), "int8")
    with pytest.raises(strata.DTypeError, match="B of v_wmma_i32_16x16x16_iu8 is uint8, and the view is int8"):
        strata.compile(mixed, *spec, (True, False, False), arch="gfx1100")
