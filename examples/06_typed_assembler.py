#!/usr/bin/env python3
"""The typed assembler: machine instructions as Python calls, checked one by one.

A kernel for the emulated gfx1100 that reverses each block through local memory. Arguments and LDS are declared, the
counts of registers follow. Look at the last lines: what an operand that an instruction cannot take says.
"""

import numpy as np
import strata
from strata import Tensor, asm
from strata.asm import Assembler, rdna3 as r

THREADS, BLOCKS = 64, 4


def reversed_blocks():
    """out[i] = 2 * x[j]: each block's numbers in reverse, by way of local memory."""
    v, s = r.v, r.s
    a = Assembler("gfx1100", name="reversed_blocks", block=THREADS, grid=BLOCKS)
    out, x = s[4:5], s[6:7]
    tile = a.lds(THREADS * 4)
    a.emit(r.s_load_b64(out, s[0:1], a.argument("out")), r.s_load_b64(x, s[0:1], a.argument("x")))
    a.emit(r.s_lshl_b32(s[3], s[2], 8), r.v_lshl_add_u32(v[1], v[0], 2, s[3]))  # s2: block; v1: this thread's byte
    a.emit(r.s_waitcnt(r.waits(lgkmcnt=0)), r.global_load_b32(v[2], v[1], x))
    a.emit(r.v_lshlrev_b32(v[3], 2, v[0]), r.v_sub_nc_u32(v[4], 4 * (THREADS - 1), v[3]))
    a.emit(r.s_waitcnt(r.waits(vmcnt=0)), r.v_add_f32(v[2], v[2], v[2]))
    a.emit(r.ds_store_b32(v[4], v[2], offset=tile), r.s_waitcnt(r.waits(lgkmcnt=0)), r.s_barrier())
    a.emit(r.ds_load_b32(v[2], v[3], offset=tile), r.s_waitcnt(r.waits(lgkmcnt=0)))
    a.emit(r.global_store_b32(v[1], v[2], out), r.s_endpgm())
    return a


def main():
    host = np.arange(THREADS * BLOCKS, dtype=np.float32)
    kernel = strata.asm_kernel(reversed_blocks())
    out, _ = Tensor.empty(host.size).custom_kernel(Tensor(host), kernel=kernel)
    np.testing.assert_array_equal(out.numpy(), 2 * host.reshape(BLOCKS, THREADS)[:, ::-1].reshape(-1))
    print("out of block 0:", *(f"{x:g}" for x in out.numpy()[:6]), "...\n")

    print(asm.disassemble(strata.compile(kernel).code_object))

    print("what does not fit is refused where it is written:")
    for wrong in (lambda: r.v_add_f32(r.s[0], r.v[1], r.v[2]), lambda: r.s_load_b64(r.s[5:6], r.s[0:1], 0)):
        try:
            Assembler("gfx1100", name="wrong", block=32, grid=1).emit(wrong())
            raise SystemExit("a wrong operand was taken")
        except strata.Error as e:
            print(f"  {type(e).__name__}: {e}")


if __name__ == "__main__":
    main()
