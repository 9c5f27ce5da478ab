"""The emulator's time for single instructions. strata bench emu reports the middle and the slowest, so that an
operation whose lanes no longer run as vectors shows up."""

import statistics
import time

import numpy as np

COPIES, TURNS = 64, 150
LOOP = """\
    s_mov_b32 s90, {turns}
next:
{body}
    {subtract} s90, s90, 1
    s_cmp_lg_u32 s90, 0
    s_cbranch_scc1 next
    s_endpgm
"""
BASE = 0x10000  # device address of the memory that memory instructions touch, in s[2:3] and, as a buffer, s[8:11]
# Offsets of a lane: v0 side by side, v1 one for all, v2 16 bytes apart, v3 anywhere.
MEMORY = {
    "global load": "global_load_b32 v20, v0, s[2:3]",
    "global load, 16 bytes": "global_load_b128 v[20:23], v2, s[2:3]",
    "global load, a byte": "global_load_u8 v20, v0, s[2:3]",
    "global load, gathered": "global_load_b32 v20, v3, s[2:3]",
    "global store": "global_store_b32 v0, v20, s[2:3]",
    "global store, scattered": "global_store_b32 v3, v20, s[2:3]",
    "global atomic add": "global_atomic_add_u32 v0, v20, s[2:3]",
    "global atomic add, one address": "global_atomic_add_u32 v1, v20, s[2:3]",
    "global atomic add, floats": "global_atomic_add_f32 v0, v20, s[2:3]",
    "buffer load": "buffer_load_b32 v20, v0, s[8:11], 0 offen",
    "buffer load, gathered": "buffer_load_b32 v20, v3, s[8:11], 0 offen",
    "buffer store": "buffer_store_b32 v20, v0, s[8:11], 0 offen",
    "local load": "ds_load_b32 v20, v0",
    "local load, 16 bytes": "ds_load_b128 v[20:23], v2",
    "local load, gathered": "ds_load_b32 v20, v3",
    "local store": "ds_store_b32 v0, v20",
    "local atomic add": "ds_add_u32 v0, v20",
    "local atomic add, returned, one address": "ds_add_rtn_u32 v20, v1, v21",
    "local permute": "ds_bpermute_b32 v20, v0, v21",
    "scalar load": "s_load_b128 s[20:23], s[2:3], 0x10",
}
# Instructions whose results are the chips' bit for bit, or wide sums: by mnemonic, those that an architecture has.
EXACT = (
    "v_rcp_f32",
    "v_rsq_f32",
    "v_sqrt_f32",
    "v_exp_f32",
    "v_log_f32",
    "v_sin_f32",
    "v_cos_f32",
    "v_rcp_f16",
    "v_rsq_f16",
    "v_sqrt_f16",
    "v_dot2_f32_f16",
    "v_dot2_f32_bf16",
    "v_dot2_f16_f16",
    "v_dot2_bf16_bf16",
    "v_wmma_f32_16x16x16_f16",
    "v_wmma_f32_16x16x16_bf16",
    "v_wmma_f16_16x16x16_f16",
    "v_wmma_bf16_16x16x16_bf16",
    "v_mfma_f32_16x16x16_f16",
    "v_mfma_f32_32x32x8_f16",
)
CDNA = {
    "global_load_b32": "global_load_dword",
    "global_load_b128": "global_load_dwordx4",
    "global_load_u8": "global_load_ubyte",
    "global_store_b32": "global_store_dword",
    "global_atomic_add_u32": "global_atomic_add",
    "buffer_load_b32": "buffer_load_dword",
    "buffer_store_b32": "buffer_store_dword",
    "ds_load_b32": "ds_read_b32",
    "ds_load_b128": "ds_read_b128",
    "ds_store_b32": "ds_write_b32",
    "s_load_b128": "s_load_dwordx4",
}


def nanoseconds(arch, text, wait="", repeat=3, **state):
    """The time of one instruction, in a loop over many copies of it, less the loop of one without them."""
    from strata import asm, emulator

    best, subtract = [], "s_sub_co_u32" if arch.startswith("gfx12") else "s_sub_u32"
    for body in ([text] * COPIES + [wait], [wait]):
        code = asm.assemble_instructions(LOOP.format(turns=TURNS, subtract=subtract, body="\n".join(body)), arch)
        times = []
        for _ in range(repeat):
            start = time.perf_counter()
            emulator.run_wave(arch, code, **state)
            times.append(time.perf_counter() - start)
        best.append(min(times))
    return max(best[0] - best[1], 0) / (COPIES * TURNS) * 1e9


def register(operand, number, wave):
    """The text of an operand: vector registers from `number` on where it takes them; None where it takes numbers
    only.
    """
    count, kinds = operand["dwords"], operand["takes"]
    if "vgpr" in kinds:
        return f"v{number}" if count == 1 else f"v[{number}:{number + count - 1}]"
    if operand["type"] == "lanes":
        return "vcc" if wave == 64 else "vcc_lo"
    if "sgpr" in kinds:
        return f"s{number % 64}" if count == 1 else f"s[{number % 64}:{number % 64 + count - 1}]"
    return "0x3fc00000" if "literal" in kinds else None


def vector_forms(arch, wave):
    """(mnemonic, text) of every vector instruction in its smallest format, no modifiers."""
    from strata import _strata, asm

    for mnemonic in _strata._mnemonics(arch):
        if not mnemonic.startswith("v_") or mnemonic.startswith(("v_dual_", "v_cmpx_")):
            continue
        form = asm.describe(mnemonic, arch)[0]
        operands = [register(o, 160 + 32 * i, wave) for i, o in enumerate(form["destinations"])]
        operands += [register(o, 32 * i, wave) for i, o in enumerate(form["sources"])]
        if form["destinations"] and None not in operands:
            yield mnemonic, f"{mnemonic} " + ", ".join(operands)


def registers(mnemonic, wave):
    """Random normal numbers in the precision that the mnemonic names."""
    rng = np.random.default_rng(1)
    if "f64" in mnemonic:
        pairs = rng.standard_normal((128, wave)).view(np.uint32).reshape(128, wave, 2)
        return np.ascontiguousarray(pairs.transpose(0, 2, 1)).reshape(256, wave)
    if "f16" in mnemonic.replace("bf16", ""):
        return rng.standard_normal((256, 2 * wave)).astype(np.float16).view(np.uint32)
    return rng.standard_normal((256, wave), dtype=np.float32).view(np.uint32)


def as_dwords(numbers, kind):
    """Rows of numbers as registers hold them: a single, or two narrow ones, a dword."""
    if kind == "f32":
        return np.ascontiguousarray(numbers[:, ::2]).view(np.uint32)
    if kind == "f16":
        return numbers.astype(np.float16).view(np.uint32)
    return np.ascontiguousarray((numbers.view(np.uint32) >> 16).astype(np.uint16)).view(np.uint32)


def exact_operands(mnemonic, wave):
    """Random normal numbers of the types that the mnemonic names, result (and addend, from v64 on) before factors;
    positive ones of what has one operand."""
    kinds = [part for part in mnemonic.split("_") if part in ("f32", "f16", "bf16")]
    numbers = np.random.default_rng(1).standard_normal((256, 2 * wave), dtype=np.float32)
    rows = as_dwords(np.abs(numbers) if len(kinds) == 1 else numbers, kinds[-1])
    rows[64:] = as_dwords(numbers[64:], kinds[0])
    return rows


def exact_instructions(arch, wave, repeat):
    forms = {mnemonic: text for mnemonic, text in vector_forms(arch, wave) if mnemonic in EXACT}
    return {
        name: round(nanoseconds(arch, forms[name], repeat=repeat, vgpr=exact_operands(name, wave)), 1)
        for name in EXACT
        if name in forms
    }


def vector_instructions(arch, wave, repeat):
    from strata import Error

    costs, refused = {}, []
    for mnemonic, text in vector_forms(arch, wave):
        try:
            costs[mnemonic] = nanoseconds(arch, text, repeat=repeat, vgpr=registers(mnemonic, wave))
        except Error:  # operands that have to be even, or differ
            refused.append(mnemonic)
    plain = {
        name: cost for name, cost in costs.items() if not name.startswith(("v_mfma", "v_smfmac", "v_wmma", "v_swmmac"))
    }
    slowest = sorted(plain, key=plain.get, reverse=True)[:8]
    return {
        "measured": len(costs),
        "not_measured": len(refused),
        "median_ns": round(statistics.median(costs.values()), 1),
        "slowest_ns": {name: round(plain[name], 1) for name in slowest},
    }


def memory_instructions(arch, wave, repeat):
    lanes = np.arange(wave, dtype=np.uint32)
    vgpr = np.zeros((32, wave), np.uint32)
    vgpr[0], vgpr[2], vgpr[3] = 4 * lanes, 16 * lanes, 4 * np.random.default_rng(2).permutation(4096)[:wave]
    sgpr = np.zeros(16, np.uint32)
    sgpr[2] = sgpr[8] = BASE
    sgpr[10], sgpr[11] = 1 << 16, 0x31016000 if wave == 32 else 0x00027000
    wait = "s_waitcnt vmcnt(0) lgkmcnt(0)"
    out = {}
    for name, text in MEMORY.items():
        mnemonic, operands = text.split(" ", 1)
        text = f"{CDNA.get(mnemonic, mnemonic) if wave == 64 else mnemonic} {operands}"
        memory = {BASE: np.zeros(1 << 16, np.uint8)}
        out[name] = round(nanoseconds(arch, text, wait, repeat, vgpr=vgpr, sgpr=sgpr, memory=memory), 1)
    return out


def instruction_costs(quick):
    """Nanoseconds a wave instruction, by architecture."""
    repeat, waves = 1 if quick else 5, {"gfx1100": 32, "gfx1201": 32, "gfx942": 64}
    out = {arch: {"exact_ns": exact_instructions(arch, wave, repeat)} for arch, wave in waves.items()}
    for arch in ("gfx1100", "gfx942")[: 1 if quick else 2]:
        out[arch] |= {
            "vector": vector_instructions(arch, waves[arch], repeat),
            "memory_ns": memory_instructions(arch, waves[arch], repeat),
        }
    return out
