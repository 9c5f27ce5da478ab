"""How the generators describe an encoding: where its opcode, register fields and modifier bits sit."""


class Field:
    """A register field: where it sits, what it takes and the register number it is filled with."""

    def __init__(self, name, shift, bits, kind, number, scale=1):
        self.name, self.shift, self.bits, self.kind, self.number, self.scale = name, shift, bits, kind, number, scale

    def options(self):
        encoded = self.number // self.scale
        values = {'any': [('v', 256 + self.number), ('s', self.number)], 'v': [('v', encoded)], 's': [('s', encoded)],
                  'flag': [('flag', 1)], 'ones': [('flag', self.number)], 'null': [('null', 124), ('s', encoded)],
                  'off': [('null', 127), ('s', encoded)], 'opt': [('s', encoded)]}[self.kind]
        return [(letter, value << self.shift) for letter, value in values] + [('', 0)]


class Format:
    def __init__(self, base, op_shift, op_bits, fields=(), mods=None, words=1, first_opcode=0):
        self.base, self.op_shift, self.op_bits, self.fields = base, op_shift, op_bits, fields
        self.mods, self.words = mods or {}, words
        self.first_opcode = first_opcode  # added where two encodings share a format's opcode space


def mask_bits(name, *shifts):
    return {f'{name}{index}': shift for index, shift in enumerate(shifts)}
