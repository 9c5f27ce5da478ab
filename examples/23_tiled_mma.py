#!/usr/bin/env python3
"""One tile of a product of integers: bytes without sign times bytes with sign, in the registers of a block's waves.

Look at `multiply`: an atom is a matrix instruction of the chip, and a tiled product repeats it by waves. Its slice
knows which elements each lane has. CDNA's instructions take signed bytes alone, and say so: set SIGNED to False there.
"""

import numpy as np
import strata
from strata import Tensor, lang

WAVES, SIGNED = (2, 2, 1), {"gfx1100": False, "gfx1201": False, "gfx942": True, "gfx90a": True}


@strata.kernel(grid=1, block=128)
def multiply(c: lang.Tensor, a: lang.Tensor, b: lang.Tensor, signed: lang.Constexpr):
    """c = a @ b.T"""
    mma = lang.make_tiled_mma(lang.MmaAtom("int8", sign_a=signed), WAVES)
    thread = mma.get_slice(lang.thread_idx.x)
    sums = thread.make_fragment_C(c)
    sums.fill(0)
    lang.gemm(mma, sums, thread.load_A(a), thread.load_B(b), sums)
    thread.store_C(sums, c)


def main():
    random = np.random.default_rng(1)
    weights = random.integers(-128, 128, (64, 64)).astype("int8")
    for arch, signed in SIGNED.items():
        kind = "int8" if signed else "uint8"
        pixels = random.integers(0, 128 if signed else 256, (64, 64)).astype(kind)
        expected = pixels.astype("int32") @ weights.astype("int32").T
        with strata.config(device=f"emu:{arch}", check="raise"):
            zeros = Tensor.zeros(64, 64, dtype="int32")
            (c,) = multiply(zeros, Tensor(pixels), Tensor(weights), signed, block=4 * strata.arch(arch).wave_size)
            np.testing.assert_array_equal(c.numpy(), expected)
        atom = lang.MmaAtom("int8", sign_a=signed, arch=arch)
        print(f"{arch}: {kind} times int8 by {atom.name} is exact")


if __name__ == "__main__":
    main()
