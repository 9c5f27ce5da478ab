"""Mutated texts, mutated code objects and random words through the public functions: whatever they are, the answer is a
result or an error of Strata's. STRATA_FUZZ_SECONDS: how long each of them runs; STRATA_FUZZ_SEED: where it starts."""

import os
import random
import resource
import time

import numpy as np
import pytest
import strata
from strata import asm, emulator
from test_custom_kernel import ADD_ONE

SECONDS = float(os.environ.get("STRATA_FUZZ_SECONDS", "4"))
SEED = int(os.environ.get("STRATA_FUZZ_SEED", "1"))
ARCHS = ["gfx1100", "gfx1201", "gfx942", "gfx90a"]

INSTRUCTIONS = {
    "gfx1100": "s_load_b64 s[4:5], s[0:1], 0x0\nv_mov_b32 v1, 1.0\nloop:\nv_add_f32_e64 v0, -v1, |v2| clamp\n"
    "ds_store_b64 v1, v[2:3] offset:8\n"
    "v_dual_mov_b32 v0, 1 :: v_dual_mov_b32 v3, 2\ns_waitcnt vmcnt(0) lgkmcnt(0)\ns_cbranch_scc1 loop\n"
    "global_store_b32 v1, v0, s[4:5]\ns_endpgm\n",
    "gfx1201": (
        "s_load_b64 s[4:5], s[0:1], 0x0\nv_mov_b32 v1, ttmp9\nglobal_load_b32 v2, v1, s[4:5] th:TH_LOAD_NT "
        "scope:SCOPE_DEV\ns_wait_loadcnt 0x0\ns_endpgm\n"
    ),
    "gfx942": (
        "s_load_dwordx2 s[4:5], s[0:1], 0x0\nv_mfma_f32_32x32x8_f16 a[0:15], v[4:5], v[6:7], 0 cbsz:1\n"
        "v_add_u32_sdwa v1, v2, v3 dst_sel:BYTE_0\ns_endpgm\n"
    ),
    "gfx90a": (
        "s_set_gpr_idx_on s2, gpr_idx(SRC0)\nv_mov_b32 v20, v1\ns_set_gpr_idx_off\nbuffer_load_dword v1, v2, "
        "s[4:7], 0 offen offset:4\ns_endpgm\n"
    ),
}
PIECES = [
    ".byte 1",
    ".p2align 4",
    ".p2align 31",
    ".zero 1<<40",
    '.ascii "a',
    '.asciz "hi"',
    ".uleb128 a-b",
    ".size f, nowhere",
    ".long 1+",
    ".set a, b",
    "/*",
    "*/",
    '"',
    "'",
    "(",
    ")" * 9,
    "[",
    "]",
    "-",
    ",,",
    ":",
    "::",
    "\\",
    "\0",
    "\t",
    "é",
    "0x",
    "1e999",
    "s[",
    "v[5:",
    "v256",
    "neg(",
    "|",
    ".rept 99\ns_nop 0\n.endr",
    ".macro m\n.endm",
    ".if 1",
    ".amdhsa_kernel k",
    ".end_amdhsa_kernel",
    ".amdgpu_metadata",
    "---\n...",
    ".org 1<<30",
    ".fill 9,8,1",
    ".loc 1 1",
    '.file 1 "x"',
]


class Clock:
    """Rounds of a fuzzer until its time is up, and its line of figures."""

    def __init__(self, name):
        self.name, self.rounds, self.results = name, 0, {}
        self.start, self.memory = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def __iter__(self):
        while time.monotonic() - self.start < SECONDS:
            yield random.Random(f"{self.name} {SEED} {self.rounds}")
            self.rounds += 1
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self.memory) >> 10
        print(
            f"\n{self.name}: {self.rounds} rounds in {time.monotonic() - self.start:.0f} s from seed {SEED}, "
            f"{self.results}, {grown} MiB more at most"
        )

    def attempt(self, call):
        """Nothing but an error of Strata's may come out; it says something."""
        begin = time.monotonic()
        try:
            call()
            outcome = "done"
        except strata.Error as error:
            assert str(error).strip() and not isinstance(error, strata.InternalError), error
            outcome = type(error).__name__
        assert time.monotonic() - begin < 60
        self.results[outcome] = self.results.get(outcome, 0) + 1


def mutated(text, rng):
    for _ in range(rng.randint(1, 4)):
        at, size = rng.randrange(len(text) + 1), rng.randint(0, 12)
        kind = rng.randrange(4)
        insert = [
            rng.choice(PIECES),
            f"\n{rng.choice(PIECES)}\n",
            text[rng.randrange(len(text) or 1) :][:size],
            chr(rng.randrange(1, 0x250)) * rng.randint(1, 3),
        ][kind]
        text = text[:at] + insert + text[at + (size if rng.random() < 0.5 else 0) :]
    return text


def test_mutated_texts_are_assembled_or_refused():
    clock = Clock("texts")
    for rng in clock:
        arch = rng.choice(ARCHS)
        text = mutated(ADD_ONE if rng.random() < 0.4 else INSTRUCTIONS[arch], rng)
        call = rng.choice([asm.assemble, asm.assemble_instructions])
        clock.attempt(lambda: call(text, arch))
        clock.attempt(
            lambda: strata.asm_kernel(text, args=["x"], arch=arch, grid=1, block=32) if ".amdhsa" not in text else None
        )
    assert asm.assemble_instructions("s_endpgm") == bytes.fromhex("0000b0bf")
    assert len(clock.results) > 1


def test_mutated_code_objects_are_run_or_refused():
    clock = Clock("code objects")
    x = strata.Tensor(np.arange(256, dtype=np.float32)).realize()
    images = [asm.assemble(ADD_ONE), strata.compile(x * 2 + 1).code_object]
    for rng in clock:
        image = bytearray(rng.choice(images))
        for _ in range(rng.randint(1, 5)):
            at, size = rng.randrange(len(image)), rng.choice([1, 1, 2, 4, 8])
            value = rng.choice([rng.getrandbits(8 * size), 0, (1 << 8 * size) - 1, 1 << rng.randrange(8 * size)])
            image[at : at + size] = value.to_bytes(size, "little")
        with strata.config(emu_budget=20_000, emu_threads=1):
            clock.attempt(lambda: asm.disassemble(bytes(image)))
            clock.attempt(
                lambda: (
                    strata.Tensor.empty(256)
                    .custom_kernel(x, kernel=strata.asm_kernel(bytes(image), grid=2, block=64))[0]
                    .numpy()
                )
            )
    # The kernel may write x and all else of its own; the next one is right.
    after = strata.Tensor.empty(256).custom_kernel(
        strata.Tensor(np.arange(256, dtype=np.float32)), kernel=strata.asm_kernel(images[0], grid=4, block=64)
    )[0]
    np.testing.assert_array_equal(after.numpy(), np.arange(256) + 1)
    assert clock.results["done"] and len(clock.results) > 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - clock.memory < 3 << 20


@pytest.mark.parametrize("arch", ARCHS)
def test_random_words_are_listed_and_run_or_refused(arch):
    clock = Clock(f"words of {arch}")
    for rng in clock:
        code = rng.randbytes(rng.choice([4, 8, 64, 4096]))
        lines = asm.disassemble_instructions(code, arch)
        assert sum(size for _, size, _ in lines) == len(code)
        sizes = [{}, {"lds": 65536, "scratch": 256}]
        for at, size, _ in lines[:64]:
            clock.attempt(
                lambda: emulator.run_wave(arch, code[at : at + size], max_instructions=1000, **rng.choice(sizes))
            )
    assert clock.results["done"]
