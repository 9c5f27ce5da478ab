#!/usr/bin/env python3
"""Keeps hazards_golden.txt: what LLVM's hazard recognizer puts between random instructions.

A line is 'arch wave ; instruction instruction ...', each as its bytes; '+' marks those that LLVM put in.
usage: hazards_golden.py --verify    asks llc-19 again about the sequences of the seed and compares
       hazards_golden.py --write"""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
FILE = HERE / "hazards_golden.txt"
EXEC = "implicit $exec"
FLOAT = "implicit $mode, implicit $exec"
VCC = "implicit $vcc, implicit $exec"

# Instructions in LLVM's machine language. {v} is a vector register, {v2} two of them. {a} is an accumulation register,
# {w} of either file, {s} a scalar one, {m} a mask of the wave. {=} in front means the same as the first of that kind.
COMMON = f"""
{{v}} = V_MOV_B32_e32 {{v}}, {EXEC}
{{v}} = V_MOV_B32_e32 {{s}}, {EXEC}
{{v}} = V_ADD_F32_e32 {{v}}, {{v}}, {FLOAT}
{{v}} = V_RCP_F32_e32 {{v}}, {FLOAT}
{{v}} = V_EXP_F32_e32 {{v}}, {FLOAT}
{{v2}} = V_FMA_F64_e64 0, {{v2}}, 0, {{v2}}, 0, {{v2}}, 0, 0, {FLOAT}
{{s}} = V_READFIRSTLANE_B32 {{v}}, {EXEC}
{{s}} = V_READLANE_B32 {{v}}, {{s}}
{{v}} = V_WRITELANE_B32 {{s}}, 1, {{=v}}
{{v}} = V_WRITELANE_B32 3, {{s}}, {{=v}}
{{s}} = S_MOV_B32 0
{{s}} = S_ADD_I32 {{s}}, {{s}}, implicit-def $scc
{{m}} = V_CMP_EQ_U32_e64 {{v}}, {{v}}, {EXEC}
V_CMP_EQ_U32_e32 {{v}}, {{v}}, implicit-def $vcc, {EXEC}
{{v}} = V_CNDMASK_B32_e32 {{v}}, {{v}}, {VCC}
{{v}} = V_CNDMASK_B32_e64 0, {{v}}, 0, {{v}}, {{m}}, {EXEC}
{{v}} = V_DIV_FMAS_F32_e64 0, {{v}}, 0, {{v}}, 0, {{v}}, 0, 0, implicit $mode, {VCC}
{{v}} = GLOBAL_LOAD_DWORD_SADDR {{s2}}, {{v}}, 0, 0, {EXEC}
{{v4}} = GLOBAL_LOAD_DWORDX4 {{v2}}, 0, 0, {EXEC}
GLOBAL_STORE_DWORDX4 {{v2}}, {{v4}}, 0, 0, {EXEC}
GLOBAL_STORE_DWORDX2_SADDR {{v}}, {{v2}}, {{s2}}, 0, 0, {EXEC}
"""
CDNA = (
    COMMON
    + f"""
{{v}} = V_MOV_B32_dpp {{=v}}, {{v}}, 273, 15, 15, 0, {EXEC}
{{v}} = V_ADD_U32_dpp {{=v}}, {{v}}, {{v}}, 273, 15, 15, 0, {EXEC}
{{v}} = V_FMAC_F32_e32 {{v}}, {{v}}, {{=v}}, {FLOAT}
{{v2}} = V_FMAC_F64_e32 {{v2}}, {{v2}}, {{=v2}}, {FLOAT}
{{v2}} = V_RCP_F64_e32 {{v2}}, {FLOAT}
{{v2}} = V_LSHLREV_B64_e64 {{s}}, {{v2}}, {EXEC}
{{v}} = V_MUL_LO_U32_e64 {{v}}, {{s}}, {EXEC}
{{v}}, {{m}} = V_ADD_CO_U32_e64 {{v}}, {{v}}, 0, {EXEC}
{{v}}, {{m}} = V_DIV_SCALE_F32_e64 0, {{=v}}, 0, {{=v}}, 0, {{v}}, 0, 0, {FLOAT}
{{v}} = V_ADD_U32_sdwa 0, {{v}}, 0, {{v}}, 0, 5, 0, 6, 6, {EXEC}
{{v}} = V_ADD_U32_sdwa 0, {{v}}, 0, {{v}}, 0, 6, 0, 4, 6, {EXEC}
{{v}} = V_ACCVGPR_READ_B32_e64 {{a}}, {EXEC}
{{a}} = V_ACCVGPR_WRITE_B32_e64 {{v}}, {EXEC}
{{v}} = V_DOT4_I32_I8 8, {{v}}, 8, {{v}}, 8, {{v}}, 0, 0, 0, 0, 0, {EXEC}
{{v}} = V_DOT2_F32_F16 8, {{v}}, 8, {{v}}, 8, {{v}}, 0, 0, 0, 0, 0, {FLOAT}
{{v}} = V_DOT4C_I32_I8_e32 {{v}}, {{v}}, {{=v}}, {EXEC}
$m0 = S_MOV_B32 {{s}}
$m0 = V_READFIRSTLANE_B32 {{v}}, {EXEC}
S_SENDMSG 1, implicit $exec, implicit $m0
{{s}} = S_MOVRELS_B32 {{s}}, implicit $m0
{{v}} = DS_READ_ADDTID_B32 0, 0, implicit $m0, {EXEC}
S_SETREG_B32 {{s}}, 2049, implicit-def $mode, implicit $mode
S_SETREG_B32 {{s}}, 2054, implicit-def $mode, implicit $mode
S_SETREG_IMM32_B32 1, 2051, implicit-def $mode, implicit $mode
{{s}} = S_GETREG_B32 2049, implicit $mode
{{s}} = S_GETREG_B32 2054, implicit $mode
S_RFE_B64 {{s2}}
{{v}} = BUFFER_LOAD_DWORD_OFFEN {{v}}, {{s4}}, {{s}}, 0, 0, 0, {EXEC}
BUFFER_STORE_DWORDX4_OFFEN {{v4}}, {{v}}, {{s4}}, 0, 0, 0, 0, {EXEC}
BUFFER_STORE_DWORDX4_OFFEN {{v4}}, {{v}}, {{s4}}, {{s}}, 0, 0, 0, {EXEC}
GLOBAL_STORE_DWORDX3_SADDR {{v}}, {{v3}}, {{s2}}, 0, 0, {EXEC}
GLOBAL_ATOMIC_CMPSWAP_X2 {{v2}}, {{v4}}, 0, 0, {EXEC}
FLAT_STORE_DWORDX4 {{v2}}, {{v4}}, 0, 0, {EXEC}, implicit $flat_scr
{{v}} = DS_READ_B32_gfx9 {{v}}, 0, 0, {EXEC}
DS_WRITE_B32_gfx9 {{v}}, {{v}}, 0, 0, {EXEC}
DS_WRITE_B128_gfx9 {{v}}, {{v4}}, 0, 0, {EXEC}
{{s}} = S_LOAD_DWORD_IMM {{s2}}, 0, 0
{{s2}} = S_LOAD_DWORDX2_IMM {{s2}}, 0, 0
{{s4}} = S_LOAD_DWORDX4_SGPR_IMM {{s2}}, {{s}}, 0, 0
"""
)
MATRIX = {  # name: registers of sum, first and second factor
    "gfx90a": {
        "F32_4X4X1F32": (4, 1),
        "F32_16X16X4F32": (4, 1),
        "F32_32X32X2F32": (16, 1),
        "F32_4X4X4F16": (4, 2),
        "F32_16X16X16F16": (4, 2),
        "F32_32X32X8F16": (16, 2),
        "I32_4X4X4I8": (4, 1),
        "I32_16X16X16I8": (4, 1),
        "F32_16X16X4F16": (16, 2),
        "F64_4X4X4F64": (2, 2),
        "F64_16X16X4F64": (8, 2),
        "F32_32X32X4BF16_1K": (32, 2),
    },
    "gfx942": {
        "F32_4X4X1F32": (4, 1),
        "F32_16X16X4F32": (4, 1),
        "F32_32X32X2F32": (16, 1),
        "F32_4X4X4F16": (4, 2),
        "F32_16X16X16F16": (4, 2),
        "F32_32X32X8F16": (16, 2),
        "I32_16X16X32I8": (4, 2),
        "I32_4X4X4I8": (4, 1),
        "F32_16X16X8XF32": (4, 2),
        "F32_16X16X32_FP8_FP8": (4, 2),
        "F64_4X4X4F64": (2, 2),
        "F64_16X16X4F64": (8, 2),
        "F32_32X32X1F32": (32, 1),
    },
}


def matrix(arch):
    forms = []
    for name, (total, factor) in MATRIX[arch].items():
        for files, suffix in (("v", "_vgprcd"), ("a", "")):
            same = [
                f"{{{files}{total}}} = V_MFMA_{name}{suffix}_e64 {{w{factor}}}, {{w{factor}}}, "
                f"{{{sign}{files}{total}}}, "
                f"0, 0, 0, {FLOAT}"
                for sign in ("", "=")
            ]
            forms += same
    if arch == "gfx942":
        forms += [
            f"{{v4}} = V_SMFMAC_F32_16X16X32_F16_e64 {{v2}}, {{v4}}, {{v}}, 0, 0, {{=v4}}, {FLOAT}",
            f"{{a16}} = V_SMFMAC_F32_32X32X16_F16_e64 {{v2}}, {{v4}}, {{v}}, 0, 0, {{=a16}}, {FLOAT}",
        ]
    return forms


def lines(text):
    return [line for line in text.splitlines() if line]


RDNA = lines(COMMON) + lines(f"""
V_CMPX_EQ_U32_nosdst_e32 {{v}}, {{v}}, implicit-def $exec, {EXEC}
V_CMPX_EQ_U32_nosdst_e64 {{v}}, {{s}}, implicit-def $exec, {EXEC}
V_NOP_e32 {EXEC}
{{v}} = V_PERMLANE16_B32_e64 0, {{v}}, 0, {{s}}, 0, {{s}}, {{=v}}, 0, {EXEC}
{{v}} = V_PERMLANEX16_B32_e64 0, {{v}}, 0, {{s}}, 0, {{s}}, {{=v}}, 0, {EXEC}
{{v}} = V_PERMLANE64_B32 {{v}}, {EXEC}
$exec_lo = S_MOV_B32 -1
DS_WRITE_B32_gfx9 {{v}}, {{v}}, 0, 0, {EXEC}
""")
WMMA = {
    ("gfx1100", 32): (8, 8, "w32"),
    ("gfx1100", 64): (4, 8, "w64"),
    ("gfx1151", 32): (8, 8, "w32"),
    ("gfx1151", 64): (4, 8, "w64"),
    ("gfx1201", 32): (8, 4, "w32"),
    ("gfx1201", 64): (4, 2, "w64"),
}


def forms(arch, wave):
    if arch in MATRIX:
        return lines(CDNA) + matrix(arch)
    total, factor, suffix = WMMA[arch, wave]
    found = list(RDNA)
    for kind in ("F16", "BF16"):
        name = (
            f"V_WMMA_F32_16X16X16_{kind}_twoaddr_{suffix}"
            if arch != "gfx1201"
            else f"V_WMMA_F32_16X16X16_{kind}_{suffix}_twoaddr"
        )
        found.append(f"{{v{total}}} = {name} 8, {{v{factor}}}, 8, {{v{factor}}}, 8, {{=v{total}}}, 0, 0, {EXEC}")
    if wave == 64:
        found = [form.replace("$exec_lo = S_MOV_B32", "$exec = S_MOV_B64") for form in found]
    if arch == "gfx1201":
        found += [
            f"{{v}} = V_PERMLANE16_VAR_B32_e64 0, {{v}}, 0, {{v}}, {{=v}}, 0, {EXEC}",
            f"{{v{total}}} = V_SWMMAC_F32_16X16X32_F16_{suffix}_twoaddr 8, {{v{factor}}}, 8, {{v{2 * factor}}}, "
            f"{{=v{total}}}, {{v}}, 0, 0, 0, {EXEC}",
        ]
    return found


def register(kind, count, wave, rng, crowded):
    if kind == "m":
        return (
            rng.choice(("$vcc", "$sgpr0_sgpr1", "$sgpr2_sgpr3"))
            if wave == 64
            else rng.choice(("$vcc_lo", "$sgpr0", "$sgpr2"))
        )
    if kind == "w":
        kind = rng.choice("vva")
    limit = 6 if kind == "s" else 8 if crowded else 24
    align = 1 if count == 1 else 4 if kind == "s" and count > 2 else 2
    first = rng.randrange(0, max(limit - 0, 1), align)
    name = {"s": "sgpr", "v": "vgpr", "a": "agpr"}[kind]
    return "$" + "_".join(f"{name}{first + i}" for i in range(count))


def instruction(form, wave, rng):
    crowded, first = rng.random() < 0.8, {}

    def fill(match):
        same, kind, count = match[1], match[2], int(match[3] or 1)
        if same:
            return first[kind, count]
        text = register(kind, count, wave, rng, crowded)
        first.setdefault((kind, count), text)
        return text

    return re.sub(r"\{(=?)([vaswm])(\d*)\}", fill, form)


SPECIAL = {
    True: ("MFMA", "DOT", "SMFMAC"),
    False: ("WMMA", "S_MOV", "V_CNDMASK_B32_e64", "V_ADD_F32", "V_CMPX", "PERMLANE"),
}


def sequence(arch, wave, all_forms, rng):
    special = [form for form in all_forms if any(name in form for name in SPECIAL[arch in MATRIX])]
    count = rng.choice((2, 2, 2, 3, 4) if arch in MATRIX else (2, 3, 4, 5, 6))
    body = []
    for _ in range(count):
        body.append(
            instruction(
                rng.choice(special if rng.random() < (0.35 if arch in MATRIX else 0.6) else all_forms), wave, rng
            )
        )
        if rng.random() < 0.25:
            body += [
                rng.choice(("$sgpr90 = S_MOV_B32 0", "S_WAITCNT 0" if arch != "gfx1201" else "S_WAIT_KMCNT 0"))
            ] * rng.randrange(1, 6)
    return body


def compile_all(arch, wave, bodies, where):
    """-> for each body its instructions' bytes as llc-19 writes them, or None where it fails."""
    text = "".join(
        f"---\nname: f{i}\nbody: |\n  bb.0:\n" + "".join(f"    {line}\n" for line in body) + "    S_ENDPGM 0\n...\n"
        for i, body in enumerate(bodies)
    )
    with tempfile.NamedTemporaryFile("w", suffix=".mir") as file:
        file.write(text)
        file.flush()
        command = [
            "llc-19",
            "-march=amdgcn",
            "-mcpu=" + arch,
            where + "=post-RA-hazard-rec",
            "--show-mc-encoding",
            "-amdgpu-enable-delay-alu=0",
            file.name,
            "-o",
            "-",
        ]
        if wave == 64 and arch not in MATRIX:
            command.insert(3, "-mattr=+wavefrontsize64")
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        return None
    found, current = [], None
    for line in result.stdout.splitlines():
        if re.match(r"f\d+:", line):
            current = []
            found.append(current)
        match = re.search(r"encoding: \[(.*?)\]", line)
        if match and current is not None:
            current.append(bytes(int(byte, 16) for byte in match[1].split(",")).hex())
    return found


def marked(plain, guarded):
    """The guarded instructions, '+' in front of those that are not among the plain ones."""
    out, at = [], 0
    for one in guarded:
        if at < len(plain) and one == plain[at]:
            out.append(one)
            at += 1
        else:
            out.append("+" + one)
    return out if at == len(plain) else None


SETS = (
    ("gfx90a", 64, 1500),
    ("gfx942", 64, 1800),
    ("gfx1100", 32, 500),
    ("gfx1100", 64, 1200),
    ("gfx1151", 32, 200),
    ("gfx1151", 64, 300),
    ("gfx1201", 32, 400),
    ("gfx1201", 64, 250),
)


def usable(arch, wave):
    rng, found = random.Random(1), []
    for form in forms(arch, wave):
        if compile_all(arch, wave, [[instruction(form, wave, rng)]], "-start-after"):
            found.append(form)
        else:
            print(f"{arch} wave{wave}: llc-19 does not take: {form}", file=sys.stderr)
    return found


def golden():
    out = ["// Written by hazards_golden.py from llc-19; do not edit."]
    for arch, wave, count in SETS:
        rng, all_forms = random.Random(11), usable(arch, wave)
        bodies = [sequence(arch, wave, all_forms, rng) for _ in range(count)]
        seen = set()
        for start in range(0, count, 500):
            part = bodies[start : start + 500]
            plain, guarded = (compile_all(arch, wave, part, where) for where in ("-start-after", "-start-before"))
            assert plain and guarded and len(plain) == len(guarded) == len(part), (arch, wave, start)
            for bare, full in zip(plain, guarded):
                line = marked(bare[:-1], full[:-1])
                guards = sum(one[0] == "+" for one in line or ())
                if line and " ".join(line) not in seen and (guards or rng.random() < 0.15):
                    seen.add(" ".join(line))
                    out.append(f"{arch} {wave} ; " + " ".join(line))
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = golden()
    if options.write:
        FILE.write_text(text)
    elif text != FILE.read_text():
        sys.exit(f"{FILE.name} is not what llc-19 says: run with --write")


if __name__ == "__main__":
    main()
