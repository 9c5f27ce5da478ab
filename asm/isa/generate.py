#!/usr/bin/env python3
"""Writes the instruction table of a family, one row an instruction form, from llvm-mc-19 alone.

usage: generate.py [--family rdna3] [--verify]

Method: for each format, every value of the opcode field is disassembled with several fillings of the operand fields.
The filling that shows the most operands is the row's base; register numbers are distinct, so each printed operand names
the field it came from and its register range gives the width. The base is then varied to learn which operand kinds a
source takes (VGPR, SGPR, inline constant, literal) and which modifier bits the instruction accepts.
The interpretation of the bits (f16, i32, ...) comes from the mnemonic. --verify compares with the checked-in table."""
import argparse
import itertools
import pathlib
import re
import subprocess
import sys

LLVM_MC = ['llvm-mc-19', '-triple=amdgcn-amd-amdhsa', '--disassemble', '--show-encoding']
BATCH = 30000
GRAPHICS = ('MIMG', 'EXP', 'VINTERP', 'LDSDIR')
VGPR, SGPR, INLINE, LITERAL = 1, 2, 4, 8
LITERAL_WORD = 0x12345


class Field:
    """A register field: where it sits, what it takes and the register number it is filled with."""

    def __init__(self, name, shift, bits, kind, number, scale=1):
        self.name, self.shift, self.bits, self.kind, self.number, self.scale = name, shift, bits, kind, number, scale

    def options(self):
        encoded = self.number // self.scale
        values = {'any': [('v', 256 + self.number), ('s', self.number)], 'v': [('v', encoded)], 's': [('s', encoded)],
                  'flag': [('flag', 1)], 'null': [('null', 124), ('s', encoded)], 'opt': [('s', encoded)]}[self.kind]
        return [(letter, value << self.shift) for letter, value in values] + [('', 0)]


class Format:
    def __init__(self, base, op_shift, op_bits, fields=(), mods=None, words=1):
        self.base, self.op_shift, self.op_bits, self.fields = base, op_shift, op_bits, fields
        self.mods, self.words = mods or {}, words


def mask_bits(name, *shifts):
    return {f'{name}{index}': shift for index, shift in enumerate(shifts)}


VOP3_SOURCES = [Field('src0', 32, 9, 'any', 16), Field('src1', 41, 9, 'any', 32), Field('src2', 50, 9, 'any', 48)]
VOP3_MODS = {**mask_bits('neg', 61, 62, 63), **mask_bits('abs', 8, 9, 10), **mask_bits('op_sel', 11, 12, 13, 14),
             'clamp': 15, 'omod': 59}
VOP3P_MODS = {**mask_bits('neg', 61, 62, 63), **mask_bits('neg_hi', 8, 9, 10), **mask_bits('op_sel', 11, 12, 13),
              **mask_bits('op_sel_hi', 59, 60, 14), 'clamp': 15}
VDST, SDST7 = Field('vdst', 0, 8, 'v', 64), Field('sdst', 16, 7, 's', 64)
BUFFER = [Field('vdata', 40, 8, 'v', 64), Field('offen', 54, 1, 'flag', 1), Field('vaddr', 32, 8, 'v', 16),
          Field('srsrc', 48, 5, 's', 8, 4), Field('soffset', 56, 8, 's', 4)]
BUFFER_MODS = {'offset': 3, 'glc': 14, 'slc': 12, 'dlc': 13, 'tfe': 53}


def flat(segment, fields):
    return Format(0xDC000000 | segment << 16, 18, 7, fields, {'offset': 3, 'glc': 14, 'slc': 15, 'dlc': 13}, 2)


FLAT_FIELDS = [Field('vdst', 56, 8, 'v', 64), Field('vaddr', 32, 8, 'v', 16), Field('vdata', 40, 8, 'v', 32)]
FORMATS = {
    'SOP1': Format(0xBE800000, 8, 8, [SDST7, Field('src0', 0, 8, 's', 16)]),
    'SOP2': Format(0x80000000, 23, 7, [SDST7, Field('src0', 0, 8, 's', 16), Field('src1', 8, 8, 's', 32)]),
    'SOPK': Format(0xB0000000, 23, 5, [SDST7], {'simm': 0}),
    'SOPC': Format(0xBF000000, 16, 7, [Field('src0', 0, 8, 's', 16), Field('src1', 8, 8, 's', 32)]),
    'SOPP': Format(0xBF800000, 16, 7, [], {'simm': 0}),
    'SMEM': Format(0xF4000000, 18, 8, [Field('sdst', 6, 7, 's', 64), Field('src0', 0, 6, 's', 16, 2),
                                      Field('src1', 57, 7, 'null', 7)], {'offset': 34, 'glc': 14, 'dlc': 13}, 2),
    'VOP1': Format(0x7E000000, 9, 8, [Field('vdst', 17, 8, 'v', 64), Field('src0', 0, 9, 'any', 16)]),
    'VOP2': Format(0x00000000, 25, 6, [Field('vdst', 17, 8, 'v', 64), Field('src0', 0, 9, 'any', 16),
                                      Field('src1', 9, 8, 'v', 32)]),
    'VOPC': Format(0x7C000000, 17, 8, [Field('src0', 0, 9, 'any', 16), Field('src1', 9, 8, 'v', 32)]),
    'VOP3': Format(0xD4000000, 16, 10, [VDST] + VOP3_SOURCES, VOP3_MODS, 2),
    'VOP3SD': Format(0xD4000000, 16, 10, [VDST, Field('sdst', 8, 7, 's', 80)] + VOP3_SOURCES,
                     {k: v for k, v in VOP3_MODS.items() if k[:3] in ('neg', 'cla', 'omo')}, 2),
    'VOP3P': Format(0xCC000000, 16, 7, [VDST] + VOP3_SOURCES, VOP3P_MODS, 2),
    'VINTERP': Format(0xCD000000, 16, 7, [VDST] + VOP3_SOURCES, {}, 2),
    'VOPD': Format(0xC8000000, 17, 5, [Field('src0', 32, 9, 'any', 17), Field('src1', 41, 8, 'v', 33)], {}, 2),
    'DS': Format(0xD8000000, 18, 8, [Field('vdst', 56, 8, 'v', 64), Field('src0', 32, 8, 'v', 16), Field(
        'src1', 40, 8, 'v', 32), Field('src2', 48, 8, 'v', 48), Field('gds', 17, 1, 'flag', 1)],
        {'offset': 3, 'gds': 17}, 2),
    'MUBUF': Format(0xE0000000, 18, 8, BUFFER, BUFFER_MODS, 2),
    'MTBUF': Format(0xE8000000 | 1 << 19, 15, 4, BUFFER, BUFFER_MODS, 2),
    'MIMG': Format(0xF0000000, 18, 8, [], {}, 2),
    'FLAT': flat(0, FLAT_FIELDS + [Field('saddr', 48, 7, 'null', 8)]),
    'SCRATCH': flat(1, FLAT_FIELDS + [Field('saddr', 48, 7, 'opt', 8), Field('sve', 55, 1, 'flag', 1)]),
    'GLOBAL': flat(2, FLAT_FIELDS + [Field('saddr', 48, 7, 'null', 8)]),
    'LDSDIR': Format(0xCE000000, 20, 2),
    'EXP': Format(0xF8000000, 20, 1, [], {}, 2),
}
# Image instructions need a dmask and dim to be valid at all; only their names are wanted.
MIMG_FILLINGS = [low | high << 32 for low in (1 << 2 | 15 << 8, 1 << 2 | 1 << 8, 1 << 8, 15 << 8 | 1 << 7)
                 for high in (2 | 8 << 8 | 1 << 16 | 2 << 26, 2 | 8 << 8 | 1 << 16)]


def disassemble(cpu, values, words):
    """Values are little-endian integers of `words` dwords. -> list of (text, bytes) or None.
    Each candidate is a block of its own followed by a marker branch, so that leftovers cannot shift the attribution."""
    out = []
    for start in range(0, len(values), BATCH):
        part = values[start:start + BATCH]
        lines = []
        for index, value in enumerate(part):
            for block, size in ((value, 4 * words), (0xBFA00000 | index, 4)):
                lines.append('[' + ' '.join(f'0x{byte:02x}' for byte in block.to_bytes(size, 'little')) + ']')
        text = subprocess.run(LLVM_MC + ['-mcpu=' + cpu], input='\n'.join(lines), capture_output=True, text=True,
                              check=False).stdout
        out += attribute(text, len(part))
    return out


def attribute(text, count):
    result, current, marker = [None] * count, None, 0
    for line in text.splitlines():
        match = re.match(r'\s+(.*?)\s*(?:;|//) encoding: \[(.*?)\]', line)
        if not match:
            continue
        branch = re.fullmatch(r's_branch (\d+)', match[1])
        if branch and int(branch[1]) == marker:
            result[marker], current, marker = current, None, marker + 1
        elif current is None and '/*Invalid' not in match[1]:
            current = (match[1], len(match[2].split(',')))
    return result


def base_name(mnemonic):
    return re.sub(r'_(e32|e64|dpp|e64_dpp)$', '', mnemonic)


def registers(text):
    """{register number: (file letter, dwords, position)} of the operands printed."""
    found = {}
    for position, match in enumerate(re.finditer(r'\b([vs])(?:(\d+)|\[(\d+):(\d+)\])', text)):
        low = int(match[2] or match[3])
        found.setdefault(low, (match[1], int(match[4]) - low + 1 if match[4] else 1, position))
    return found


class Form:
    """The chosen base encoding of one opcode."""

    def __init__(self, opcode, mnemonic, text, size, value, letters):
        self.opcode, self.mnemonic, self.text, self.size, self.value = opcode, mnemonic, text, size, value
        self.letters = letters  # field name -> register file it was filled with
        self.operands, self.mods, self.ignored, self.kinds, self.dpp = {}, set(), set(), {}, False


def candidates(fmt):
    for choice in itertools.product(*(field.options() for field in fmt.fields)):
        yield ({field.name: letter for field, (letter, _) in zip(fmt.fields, choice)}, sum(bits for _, bits in choice))


def discover(cpu, name, fmt):
    fillings = list(candidates(fmt))
    if name == 'MIMG':
        fillings = [({}, bits) for bits in MIMG_FILLINGS]
    if name == 'VOPD':  # the X half is a plain v_dual_mul; Y's destination is odd
        fixed = 3 << 22 | 272 | 34 << 9 | 64 << 56 | 32 << 49
        fillings = [(letters, bits | fixed) for letters, bits in fillings]
    words = fmt.words + 1
    keys, values = [], []
    for opcode in range(1 << fmt.op_bits):
        for letters, bits in fillings:
            keys.append((opcode, letters))
            values.append(fmt.base | opcode << fmt.op_shift | bits)
    best = {}
    for (opcode, letters), value, answer in zip(keys, values, disassemble(cpu, values, words)):
        if not answer or answer[1] < 4 * fmt.words:
            continue
        text, size = answer
        if name == 'VOPD':
            text = text.split(' :: ')[1] if ' :: ' in text else text
        shown = registers(text)
        hits = sum(1 for f in fmt.fields if letters.get(f.name) in ('v', 's') and f.number in shown and
                   (f.name == 'vdst' or shown[f.number][0] == letters[f.name]))
        vectors = sum(1 for letter in letters.values() if letter == 'v')
        filled = sum(1 for letter in letters.values() if letter in ('v', 's', 'flag'))
        score = (hits, -filled, vectors)
        if opcode not in best or score > best[opcode][0]:
            best[opcode] = (score, Form(opcode, base_name(text.split()[0]), text, size, value, letters))
    return [form for _, form in sorted(best.values(), key=lambda item: item[1].opcode)]


def describe(fmt, forms):
    for form in forms:
        shown = registers(form.text)
        for field in fmt.fields:
            if form.letters.get(field.name) in ('v', 's') and field.number in shown:
                form.operands[field.name] = shown[field.number]


def probe(cpu, name, fmt, forms):
    """Fills in the kinds of the sources and the modifiers by varying one thing at a time."""
    trials = []
    for form in forms:
        for field in fmt.fields:
            if not field.name.startswith('src') or field.name not in form.operands or name in ('DS', 'SMEM'):
                continue
            rest = form.value & ~(((1 << field.bits) - 1) << field.shift)
            for kind, code in ((VGPR, 256 + field.number), (SGPR, field.number), (INLINE, 128), (LITERAL, 255)):
                if code < 1 << field.bits and field.kind != 'v':
                    value = rest | code << field.shift | LITERAL_WORD << 32 * fmt.words
                    trials.append((form, field.name, kind, value))
            if field.kind == 'v':
                form.kinds[field.name] = VGPR
        for modifier, shift in fmt.mods.items():
            trials.append((form, modifier, 0, form.value ^ 1 << shift))
    answers = disassemble(cpu, [value for *_, value in trials], fmt.words + 1)
    for (form, what, kind, _), answer in zip(trials, answers):
        if not answer:
            continue
        text = answer[0].split(' :: ')[-1] if name == 'VOPD' else answer[0]
        if base_name(text.split()[0]) != form.mnemonic:
            continue
        if kind:
            if kind == LITERAL and answer[1] <= 4 * fmt.words and '0x12345' not in text:
                continue
            form.kinds[what] = form.kinds.get(what, 0) | kind
        else:
            (form.ignored if answer[0] == form.text else form.mods).add(what)


def probe_dpp(cpu, name, fmt, forms):
    """Whether the instruction takes DPP: source 0 becomes the DPP16 escape and the DPP word follows."""
    if name not in ('VOP1', 'VOP2', 'VOPC', 'VOP3', 'VOP3SD', 'VOP3P'):
        return
    shift = 32 if fmt.words == 2 else 0
    trials = []
    for form in forms:
        cleared = form.value & ~(0x1FF << shift)
        dpp16 = 16 | 0x111 << 8 | 0xFF << 24
        if name == 'VOP3P':  # what takes DPP wants the default op_sel_hi
            cleared |= 3 << 59 | 1 << 14
        trials.append(cleared | 0xFA << shift | dpp16 << 32 * fmt.words)
        trials.append(cleared | 0xE9 << shift | (16 | 0x53977 << 8) << 32 * fmt.words)
    answers = disassemble(cpu, trials, fmt.words + 1)
    for index, form in enumerate(forms):
        both = [bool(answer) and base_name(answer[0].split()[0]) == form.mnemonic
                for answer in answers[2 * index:2 * index + 2]]
        if both[0] != both[1]:
            print(f'{form.mnemonic}: DPP16 {both[0]}, DPP8 {both[1]}', file=sys.stderr)
        form.dpp = both[0] and both[1]
    if fmt.words == 2:
        return
    bits = {'neg0': 20, 'abs0': 21, 'neg1': 22, 'abs1': 23}  # of the DPP16 word
    keys = [(form, name, trials[2 * index] | 1 << 32 + bit)
            for index, form in enumerate(forms) if form.dpp for name, bit in bits.items()]
    for (form, name, _), answer in zip(keys, disassemble(cpu, [value for *_, value in keys], fmt.words + 1)):
        if answer and base_name(answer[0].split()[0]) == form.mnemonic:
            shown = '-' in answer[0] if name[:3] == 'neg' else '|' in answer[0]
            (form.mods if shown else form.ignored).add(name)


def buffer_formats(cpu):
    """The names of MTBUF's format numbers."""
    base = 0xE8000000 | (16 | 4 << 8 | 2 << 16 | 128 << 24) << 32
    names = []
    for number, answer in enumerate(disassemble(cpu, [base | number << 19 for number in range(128)], 3)):
        match = re.search(r'BUF_FMT_(\w+)', answer[0]) if answer else None
        default = 'BUF_FMT' not in answer[0] and 'format:' not in answer[0]
        if match or default:
            names.append(f'BUFFER_FORMAT( {number}, {match[1] if match else "8_UNORM"} )')
    assert len(names) == 64 and names[63].startswith('BUFFER_FORMAT( 63,')
    return ['// The formats of MTBUF instructions and buffer descriptors. Written by generate.py; do not edit.'] + names


def main():
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    import generate_types as types  # the mnemonic -> operand type rules
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--family', default='rdna3', choices=['rdna3'])
    parser.add_argument('--verify', action='store_true', help='compare with the checked-in table instead of writing it')
    options = parser.parse_args()
    cpu = {'rdna3': 'gfx1100'}[options.family]
    rows = [f'// {options.family}: one row an instruction form. Written by generate.py from llvm-mc-19; do not edit.',
            '// INST( mnemonic, format, opcode, destinations, sources, flags, modifiers, ignored modifiers )']
    for name, fmt in FORMATS.items():
        forms = types.select(name, discover(cpu, name, fmt))
        describe(fmt, forms)
        if name not in GRAPHICS:
            probe(cpu, name, fmt, forms)
            probe_dpp(cpu, name, fmt, forms)
        rows += [types.row(name, form) for form in forms]
    good = [publish(options, '', rows), publish(options, '_buffer_formats', buffer_formats(cpu))]
    if not all(good):
        sys.exit('run asm/isa/generate.py')


def publish(options, suffix, lines):
    """Writes a table, or with --verify says whether the one checked in is the same."""
    path, text = pathlib.Path(__file__).parent / f'{options.family}{suffix}.def', '\n'.join(lines) + '\n'
    if not options.verify:
        path.write_text(text)
    elif path.read_text() != text:
        print(f'{path.name} is not what generate.py writes')
        return False
    return True


if __name__ == '__main__':
    main()
