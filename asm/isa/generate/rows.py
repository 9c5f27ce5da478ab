"""The instruction columns of a family's table, one row an instruction form, from llvm-mc-19 alone.

Method: for each format, every value of the opcode field is disassembled with several fillings of the operand fields.
The filling that shows the most operands is the row's base. Register numbers are distinct, so each printed operand names
its field, and its register range gives the width. The base is then varied to learn which operand kinds a source takes
(VGPR, SGPR, inline constant, literal) and which modifier bits the instruction accepts.
The interpretation of the bits (f16, i32, ...) comes from the mnemonic (operands.py)."""

import argparse
import itertools
import re
import subprocess
import sys

import operands
import tables

LLVM_MC = ["llvm-mc-19", "-triple=amdgcn-amd-amdhsa", "--disassemble", "--show-encoding"]
BATCH = 30000
GRAPHICS, SCALAR = tables.formats("graphics"), tables.formats("scalar")
VGPR, SGPR, INLINE, LITERAL = 1, 2, 4, 8
LITERAL_WORD = 0x12345


def disassemble(target, values, words):
    """Values are little-endian integers of `words` dwords, target a module of encodings. -> list of (text, bytes) or
    None. Each candidate is a block of its own followed by a marker branch, so that leftovers cannot shift the
    attribution.
    """
    out = []
    for start in range(0, len(values), BATCH):
        part = values[start : start + BATCH]
        lines = []
        for index, value in enumerate(part):
            for block, size in ((value, 4 * words), (target.MARKER | index, 4)):
                lines.append("[" + " ".join(f"0x{byte:02x}" for byte in block.to_bytes(size, "little")) + "]")
        options = ["-mcpu=" + target.CPU, "-mattr=" + getattr(target, "FEATURES", "")]
        text = subprocess.run(
            LLVM_MC + options, input="\n".join(lines), capture_output=True, text=True, check=False
        ).stdout
        out += attribute(text, len(part))
    return out


def attribute(text, count):
    result, current, marker = [None] * count, None, 0
    for line in text.splitlines():
        match = re.match(r"\s+(.*?)\s*(?:;|//) encoding: \[(.*?)\]", line)
        if not match:
            continue
        branch = re.fullmatch(r"s_branch (\d+)", match[1])
        if branch and int(branch[1]) == marker:
            result[marker], current, marker = current, None, marker + 1
        elif current is None and "/*Invalid" not in match[1]:
            current = (match[1], len(match[2].split(",")))
    return result


def base_name(mnemonic):
    return re.sub(r"_(e32|e64|dpp|sdwa|e64_dpp)$", "", mnemonic)


def registers(text):
    """{register number: (file letter, dwords, position)} of the operands printed."""
    found = {}
    for position, match in enumerate(re.finditer(r"\b([vsa])(?:(\d+)|\[(\d+):(\d+)\])", text)):
        low = int(match[2] or match[3])
        found.setdefault(low, (match[1], int(match[4]) - low + 1 if match[4] else 1, position))
    return found


class Form:
    """The chosen base encoding of one opcode."""

    def __init__(self, opcode, mnemonic, text, size, value, letters):
        self.opcode, self.mnemonic, self.text, self.size, self.value = opcode, mnemonic, text, size, value
        self.letters = letters  # field name -> register file it was filled with
        self.operands, self.mods, self.ignored, self.kinds = {}, set(), set(), {}
        self.dpp, self.sdwa, self.wave64, self.later = False, False, False, False


def candidates(fmt):
    for choice in itertools.product(*(field.options() for field in fmt.fields)):
        yield ({field.name: letter for field, (letter, _) in zip(fmt.fields, choice)}, sum(bits for _, bits in choice))


def discover(target, name, fmt):
    fillings = list(candidates(fmt))
    if name.startswith("MIMG"):
        fillings = [({}, bits) for bits in target.MIMG_FILLINGS]
    if name == "VOPD":  # the X half is a plain v_dual_mul; Y's destination is odd
        fixed = 3 << 22 | 272 | 34 << 9 | 64 << 56 | 32 << 49
        fillings = [(letters, bits | fixed) for letters, bits in fillings]
    words = fmt.words + 1
    keys, values = [], []
    for opcode in range(1 << fmt.op_bits):
        for letters, bits in fillings:
            keys.append((opcode, letters))
            values.append(fmt.base | opcode << fmt.op_shift | bits)
    best = {}
    for (opcode, letters), value, answer in zip(keys, values, disassemble(target, values, words)):
        if not answer or answer[1] < 4 * fmt.words:
            continue
        text, size = answer
        if name == "VOPD":
            text = text.split(" :: ")[1] if " :: " in text else text
        shown = registers(text)
        hits = sum(
            1
            for f in fmt.fields
            if letters.get(f.name) in ("v", "s")
            and f.number in shown
            and (f.name == "vdst" or shown[f.number][0].replace("a", "v") == letters[f.name])
        )
        vectors = sum(1 for letter in letters.values() if letter == "v")
        filled = sum(1 for letter in letters.values() if letter in ("v", "s", "flag"))
        score = (hits, -filled, vectors)
        if opcode not in best or score > best[opcode][0]:
            best[opcode] = (score, Form(opcode, base_name(text.split()[0]), text, size, value, letters))
    return [form for _, form in sorted(best.values(), key=lambda item: item[1].opcode)]


def describe(fmt, forms):
    for form in forms:
        shown = registers(form.text)
        for field in fmt.fields:
            if form.letters.get(field.name) in ("v", "s") and field.number in shown:
                form.operands[field.name] = shown[field.number]


def probe(target, name, fmt, forms):
    """Fills in the kinds of the sources and the modifiers by varying one thing at a time."""
    trials = []
    for form in forms:
        for field in fmt.fields:
            if not field.name.startswith("src") or field.name not in form.operands or name in ("DS", "SMEM"):
                continue
            rest = form.value & ~(((1 << field.bits) - 1) << field.shift)
            for kind, code in ((VGPR, 256 + field.number), (SGPR, field.number), (INLINE, 128), (LITERAL, 255)):
                if code < 1 << field.bits and field.kind != "v":
                    value = rest | code << field.shift | LITERAL_WORD << 32 * fmt.words
                    trials.append((form, field.name, kind, value))
            if field.kind == "v":
                form.kinds[field.name] = VGPR
        for modifier, shift in fmt.mods.items():
            trials.append((form, modifier, 0, form.value ^ 1 << shift))
    answers = disassemble(target, [value for *_, value in trials], fmt.words + 1)
    for (form, what, kind, _), answer in zip(trials, answers):
        if not answer:
            continue
        text = answer[0].split(" :: ")[-1] if name == "VOPD" else answer[0]
        if base_name(text.split()[0]) != form.mnemonic:
            continue
        if kind:
            if kind == LITERAL and answer[1] <= 4 * fmt.words and "0x12345" not in text:
                continue
            form.kinds[what] = form.kinds.get(what, 0) | kind
        else:
            (form.ignored if without_sext(answer[0]) == form.text else form.mods).add(what)


def without_sext(text):
    """LLVM 19 prints the negation bit of an integer source as a sign extension, which these encodings do not have."""
    return re.sub(r"sext\(([^()]*)\)", r"\1", text)


def probe_dpp(target, name, fmt, forms):
    """Whether the instruction takes DPP: source 0 becomes the DPP16 escape and the DPP word follows."""
    if name not in ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD", "VOP3P"):
        return
    shift = 32 if fmt.words == 2 else 0
    trials = []
    for form in forms:
        cleared = form.value & ~(0x1FF << shift)
        dpp16 = 16 | 0x111 << 8 | 0xFF << 24
        if name == "VOP3P":  # what takes DPP wants the default op_sel_hi
            cleared |= 3 << 59 | 1 << 14
        trials.append(cleared | 0xFA << shift | dpp16 << 32 * fmt.words)
        trials.append(cleared | 0xE9 << shift | (16 | 0x53977 << 8) << 32 * fmt.words)
    answers = disassemble(target, trials, fmt.words + 1)
    for index, form in enumerate(forms):
        both = [
            bool(answer) and base_name(answer[0].split()[0]) == form.mnemonic
            for answer in answers[2 * index : 2 * index + 2]
        ]
        if both[0] != both[1]:
            print(f"{form.mnemonic}: DPP16 {both[0]}, DPP8 {both[1]}", file=sys.stderr)
        form.dpp = both[0] and both[1]
    if fmt.words == 2:
        return
    bits = {"neg0": 20, "abs0": 21, "neg1": 22, "abs1": 23}  # of the DPP16 word
    keys = [
        (form, name, trials[2 * index] | 1 << 32 + bit)
        for index, form in enumerate(forms)
        if form.dpp
        for name, bit in bits.items()
    ]
    for (form, name, _), answer in zip(keys, disassemble(target, [value for *_, value in keys], fmt.words + 1)):
        if answer and base_name(answer[0].split()[0]) == form.mnemonic:
            shown = "-" in answer[0] if name[:3] == "neg" else "|" in answer[0]
            (form.mods if shown else form.ignored).add(name)


def learn(target, name, fmt):
    """The forms of a format, with all facts that the disassembler has of them."""
    forms = operands.select(name, discover(target, name, fmt))
    describe(fmt, forms)
    if name not in GRAPHICS:
        probe(target, name, fmt, forms)
        getattr(target, "probe_dpp", probe_dpp)(target, name, fmt, forms)
    return forms


def matrix_forms_of_wave64(target, fmt):
    """RDNA's matrix products spread a matrix over the lanes of a wave: in wave64 their operands have fewer
    registers.
    """
    wave64 = argparse.Namespace(**vars(target), FEATURES="-wavefrontsize32,+wavefrontsize64")
    forms = [form for form in learn(wave64, "VOP3P", fmt) if operands.is_matrix(form.mnemonic)]
    for form in forms:
        form.wave64 = True
    return forms


def forms_of_later_chips(target, name, fmt, forms):
    """Scalar forms that the family's first chip lacks."""
    later = argparse.Namespace(**{**vars(target), "CPU": target.LATER})
    opcodes = {form.opcode for form in forms}
    added = [form for form in learn(later, name, fmt) if form.opcode not in opcodes]
    for form in added:
        form.later = True
    return added


def buffer_formats(target):
    """The names of MTBUF's format numbers."""
    names = []
    for number, answer in enumerate(
        disassemble(target, [target.BUFFER_FORMATS | number << 19 for number in range(128)], 3)
    ):
        match = re.search(r"BUF_FMT_(\w+)", answer[0]) if answer else None
        default = "BUF_FMT" not in answer[0] and "format:" not in answer[0]
        if match or default:
            names.append(f"BUFFER_FORMAT( {number}, {match[1] if match else '8_UNORM'} )")
    assert len(names) == 64 and names[63].startswith("BUFFER_FORMAT( 63,")
    head = "// The formats of MTBUF instructions and buffer descriptors. Written by generate/generate.py; do not edit."
    return "\n".join([head] + names) + "\n"


def files(family):
    """The table with rewritten instruction columns; rows that were there keep their facts."""
    target = tables.target_of(family)
    known = {row.key(): row.facts for row in tables.read_table(family)}
    found = []
    for key, fmt in target.FORMATS.items():
        name = key.split()[0]
        forms = learn(target, name, fmt)
        if name == "VOP3P" and not tables.is_cdna(family):
            forms = sorted(forms + matrix_forms_of_wave64(target, fmt), key=lambda form: form.opcode)
        if name in SCALAR and hasattr(target, "LATER"):
            forms = sorted(forms + forms_of_later_chips(target, name, fmt, forms), key=lambda form: form.opcode)
        found += [tables.Row(operands.row(target, name, form, fmt)) for form in forms]
    for row in found:
        row.facts = known.get(row.key(), tables.NO_FACTS)
    result = {tables.ISA / f"{family}.def": tables.table_text(family, found)}
    if hasattr(target, "BUFFER_FORMATS"):
        result[tables.ISA / f"{family}_buffer_formats.def"] = buffer_formats(target)
    return result
