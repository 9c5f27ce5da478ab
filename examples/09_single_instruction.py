#!/usr/bin/env python3
"""One instruction in the emulator: what does it do to the lanes of a wave?

Each lane of v0 holds a letter. Look at v1 after each instruction: how DPP modifiers and permutes move values between
lanes, and which lanes keep their old value ('.').
"""

import numpy as np
from strata import asm, emulator

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEF"
KEPT = ord(".")

INSTRUCTIONS = [
    "v_mov_b32 v1, v0",
    "v_mov_b32_dpp v1, v0 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf",
    "v_mov_b32_dpp v1, v0 row_shr:1 row_mask:0xf bank_mask:0xf",
    "v_mov_b32_dpp v1, v0 row_ror:4 row_mask:0xf bank_mask:0xf",
    "v_mov_b32_dpp v1, v0 row_mirror row_mask:0xf bank_mask:0xf",
    "v_mov_b32_dpp v1, v0 row_half_mirror row_mask:0x1 bank_mask:0xf",
    "v_mov_b32_dpp v1, v0 row_share:2 row_mask:0xf bank_mask:0x5",
    "v_permlanex16_b32 v1, v0, s0, s1",
    "v_mov_b32_dpp v1, v0 dpp8:[7,6,5,4,3,2,1,0]",
    "v_cndmask_b32 v1, v1, v0, vcc_lo",
]


def after(text):
    """v1 as letters, after one instruction on the wave."""
    lanes = np.frombuffer(LETTERS.encode(), np.uint8).astype(np.uint32)
    code = asm.assemble_instructions(text + "\ns_endpgm")
    state = emulator.run_wave(
        "gfx1100", code, vgpr=[lanes, np.full(32, KEPT, np.uint32)], sgpr=[0x76543210, 0xFEDCBA98], vcc=0x0F0F00FF
    )
    return "".join(chr(c) for c in state.vgpr[1])


def main():
    print(f"{'v0':<68} {LETTERS[:16]} {LETTERS[16:]}")
    results = {}
    for text in INSTRUCTIONS:
        got = results[text] = after(text)
        print(f"{text:<68} {got[:16]} {got[16:]}")

    lanes = list(LETTERS)
    rows = LETTERS[:16], LETTERS[16:]
    assert results[INSTRUCTIONS[0]] == LETTERS
    assert results[INSTRUCTIONS[1]] == "".join(lanes[i ^ 3] for i in range(32))
    assert results[INSTRUCTIONS[2]] == "".join("." + row[:-1] for row in rows)
    assert results[INSTRUCTIONS[4]] == "".join(row[::-1] for row in rows)
    assert results[INSTRUCTIONS[7]] == rows[1] + rows[0]
    assert results[INSTRUCTIONS[9]] == "".join(c if 0x0F0F00FF >> i & 1 else "." for i, c in enumerate(LETTERS))

    (what,) = asm.describe("v_permlanex16_b32")[:1]
    print("\nwhat asm.describe says of v_permlanex16_b32:", *(f"{k}: {v}" for k, v in what.items()), sep="\n  ")


if __name__ == "__main__":
    main()
