#!/usr/bin/env python3
"""Keeps <family>_golden.txt: lines 'hex ; asm' whose bytes llvm-mc-19 made from the text.

usage: golden.py [--family rdna4] --verify    reassembles every text of the file and compares the bytes
       golden.py [--family rdna4] --write     makes new lines: one of each instruction form with random operands
         (fixed seed), then the
                             texts of <family>_extra.txt
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "asm" / "isa" / "generate"))
import operands  # noqa: E402
import rows  # noqa: E402
import tables  # noqa: E402


def assemble(target, texts):
    """-> hex of each text's bytes, or None where llvm-mc refuses it."""
    marked = "\n".join(f"{text}\ns_nop {index & 0x7FFF | 0x8000}" for index, text in enumerate(texts))
    result = subprocess.run(
        ["llvm-mc-19", "-triple=amdgcn-amd-amdhsa", "-mcpu=" + target.CPU, "--show-encoding"],
        input=marked,
        capture_output=True,
        text=True,
        check=False,
    )
    out, current = [], None
    for line in result.stdout.splitlines():
        match = re.search(r"encoding: \[(.*?)\]", line)
        if not match:
            continue
        data = bytes(int(byte, 16) for byte in match[1].split(","))
        if data == (0xBF808000 | len(out) & 0x7FFF).to_bytes(4, "little"):
            out.append(current)
            current = None
        else:
            current = data.hex()
    return out


def random_field(field, form, rng):
    letter = form.operands[field.name][0] if field.name in form.operands else form.letters.get(field.name)
    limit = 100 if letter == "s" else 112 if form.half else 240
    number = 4 * rng.randrange(limit // 4)
    if field.kind == "any":
        kinds = [k for k in (1, 2, 4) if form.kinds.get(field.name, 1) & k]
        kind = rng.choice(kinds + [1] * (1 in kinds))
        return 256 + number if kind == 1 else number % 100 if kind == 2 else rng.choice((128, 193, 240, 242, 248, 160))
    return number // field.scale


def second_word(form, rng):
    """DPP or SDWA after a native form of CDNA -> (code of source 0, the word), or None."""
    kinds = ["dpp"] * form.dpp + ["sdwa"] * form.sdwa
    kind = rng.choice(kinds + ["none"])
    if kind == "none":
        return None
    if kind == "dpp":  # row_newbcast is the one control that 64-bit operations know
        control = rng.choice((0xE4, 0x111, 0x12F, 0x130, 0x13C, 0x140, 0x142, 0x143, 0x157, 0x157, 0x157))
        return 0xFA, rng.randrange(100) | control << 8 | rng.randrange(2) << 19 | 0xF3 << 24
    one_source = "src1" not in form.operands
    compares = "vdst" not in form.operands
    word = rng.randrange(100) | rng.randrange(7) << 16 | (6 if one_source else rng.randrange(7)) << 24
    whole = re.search("[fb][fp]8$", form.mnemonic)  # these conversions select in the source only
    word |= 0 if compares else 6 << 8 if whole else rng.randrange(7) << 8 | rng.randrange(3) << 11
    signs = rng.choice((0, 1 << 19, 1 << 20, 1 << 21)) | (0 if one_source else rng.choice((0, 1 << 27, 1 << 28)))
    return 0xF9, word | signs


def variants(target, name, fmt, form, rng, count):
    cdna = tables.is_cdna(target.FAMILY)
    form.half = name in ("VOP1", "VOP2", "VOPC")
    for _ in range(count):
        value = form.value
        for field in fmt.fields:
            if form.letters.get(field.name) in ("v", "s") and (field.name in form.operands or rng.random() < 0.3):
                value &= ~(((1 << field.bits) - 1) << field.shift)
                value |= random_field(field, form, rng) << field.shift
        for modifier, shift in fmt.mods.items():
            if modifier in form.mods and rng.random() < 0.25:
                value ^= 1 << shift
        extra = second_word(form, rng) if cdna else None
        if extra:
            value = value & ~0x1FF | extra[0] | extra[1] << 32
        elif not cdna and form.dpp and rng.random() < 0.3:
            shift = 32 if fmt.words == 2 else 0
            value = value & ~(0x1FF << shift) | rng.choice((0xFA, 0xE9)) << shift
            value |= (
                rng.randrange(100) | rng.choice((0xE4, 0x111, 0x12F, 0x140, 0x15F)) << 8 | 0xF3 << 24
            ) << 32 * fmt.words
        else:
            value |= rng.randrange(0x10000, 1 << 32) << 32 * fmt.words
        yield value


def can_be_golden(answer):
    """LLVM prints sext() outside SDWA where it means nothing."""
    return answer and "/*" not in answer[0] and ("sext(" not in answer[0] or "_sdwa" in answer[0])


def one_of_each_form(target, rng, tries=12):
    texts = []
    for key, fmt in target.FORMATS.items():
        name = key.split()[0]
        if name in rows.GRAPHICS or name == "VOPD":
            continue
        forms = [f for f in rows.learn(target, name, fmt) if not re.match(operands.GRAPHICS_ONLY, f.mnemonic)]
        values = [value for form in forms for value in variants(target, name, fmt, form, rng, tries)]
        answers = rows.disassemble(target, values, fmt.words + 1)
        shown = [answer[0] if can_be_golden(answer) else "invalid" for answer in answers]
        good = [text if data else None for text, data in zip(shown, assemble(target, shown))]
        for index in range(len(forms)):
            found = [text for text in good[index * tries : (index + 1) * tries] if text]
            texts += found[:1]
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", default="rdna3", choices=tables.families())
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--verify", action="store_true")
    action.add_argument("--write", action="store_true")
    options = parser.parse_args()
    target = tables.target_of(options.family)
    target.CPU = getattr(target, "LATER", target.CPU)
    golden, extra = HERE / f"{options.family}_golden.txt", HERE / f"{options.family}_extra.txt"
    if options.write:
        texts = one_of_each_form(target, random.Random(1)) + extra.read_text().splitlines()
        lines = list(zip(texts, assemble(target, texts)))
        refused = [text for text, data in lines if not data]
        assert not refused, refused
        golden.write_text("".join(f"{data} ; {text}\n" for text, data in lines))
        return
    lines = golden.read_text().splitlines()
    made = assemble(target, [line.split(" ; ")[1] for line in lines])
    bad = [line for line, data in zip(lines, made) if line.split(" ; ")[0] != data]
    sys.exit("\n".join(bad[:20]) if bad or len(made) != len(lines) else 0)


if __name__ == "__main__":
    main()
