"""The typed methods of the assemblers, from the rows of asm/isa."""

import re

import tables

# Operands that the letters of the rows accept. V is a vector register, S a scalar register, C an inline constant, L a
# literal, G an accumulation register, A all but the last.
KINDS = {
    "V": "V",
    "S": "S",
    "SC": "SC",
    "SCL": "SCL",
    "VCL": "VCL",
    "L": "L",
    "A": "VSCL",
    "VSC": "VSC",
    "G": "G",
    "VG": "VG",
    "VCG": "VCG",
}
BITS = {"V": "kVgpr", "S": "kSgpr", "C": "kInline", "L": "kLiteralConstant", "G": "kAgpr"}
MACROS = (
    "#define MODIFIERS const Modifiers& m = {}\n#define HERE const Location& here = std::source_location::current()\n"
)
NAMED = {"VSCL": "kAnySource", "SCL": "kScalarSource"}


class Operand:
    def __init__(self, text):
        kind, self.type = re.fullmatch(r"(\w+)\((\w+)\)", text).groups()
        self.kinds = set(KINDS[kind])
        self.count = tables.DWORDS[self.type]

    def cpp(self, file=None):
        """The C++ type; `file` V or G settles an operand that may be in either vector file."""
        kinds = self.kinds - ({"V", "G"} - {file}) if file and {"V", "G"} <= self.kinds else self.kinds
        if self.type == "lanes":
            return "LaneMask"
        if kinds == {"L"}:
            return "Imm"
        if len(kinds) == 1:
            return f"{'A' if kinds == {'G'} else min(kinds)}{self.count}"
        letters = "".join(letter for letter in BITS if letter in kinds)
        return f"Src<{self.count}, {NAMED.get(letters) or ' | '.join(BITS[letter] for letter in letters)}>"


class Method:
    """The forms of one mnemonic that the assembler chooses from."""

    def __init__(self, row):
        self.name, self.format, self.flags, self.modifiers = (
            row.mnemonic,
            row.format,
            set(row.flags),
            set(row.modifiers),
        )
        self.dst, self.src = [Operand(t) for t in row.dst], [Operand(t) for t in row.src]

    def widen(self, narrow):
        """Another form of the instruction: the assembler chooses the one that holds the operands."""
        self.modifiers |= narrow.modifiers
        self.flags |= narrow.flags
        for mine, other in zip(self.dst + self.src, narrow.dst + narrow.src):
            if mine.type == other.type:
                mine.kinds |= other.kinds


def read_methods(family):
    found = {}
    for row in tables.read_table(family):
        if row.flags & {"kGraphics", "kNotOnSilicon", "kRdna35"}:
            continue
        method = Method(row)
        key = method.name, method.format == "VOPD", "kWave64" in method.flags  # the last: an overload
        if key in found:
            method.widen(found[key])
        found[key] = method
    return found.values()


def source_names(row):
    """Parameter names of the sources, in row order."""
    count = len(row.src)
    if row.format in ("MUBUF", "MTBUF"):
        return ["vaddr", "srsrc", "soffset", "data"]
    if row.format == "SMEM":
        return ["base", "offset", "data"]
    if row.format == "DS":
        return (["addr"] if count > 1 or row.dst else ["data"]) + ["data0", "data1"]
    if row.format in ("FLAT", "GLOBAL", "SCRATCH"):
        data = ["data"] if row.flags & {"kStore", "kAtomic"} else []
        saddr = ["saddr"] if row.format != "FLAT" else []
        addr = ["addr"] if count > len(data) + len(saddr) else []
        return addr + data + saddr
    return [f"src{i}" for i in range(count)]


def scalar_memory(row, dst, src):
    """SMEM: prefetches have their offset and length as numbers, CDNA's stores and atomics name the data first."""
    offset = ("Src<1, kSgpr | kInline | kLiteralConstant>", "offset = 0")
    if "kPrefetch" in row.flags:
        relative = len(src) == 1
        return ([] if relative else src[:1]) + [("Imm", "bytes"), (src[-1][0], "soffset"), ("Imm", "length")]
    if "kProbe" in row.flags:
        return [("Imm", "mode"), src[0], offset]
    return (src[2:] if len(src) == 3 else dst) + src[:1] + [offset]


def signatures(row, cdna, file):
    """Parameter lists [(type, name)] in the order of LLVM's text; several where operands are optional."""
    free = row.format == "MFMA"  # its factors may be in either file, whatever the accumulator is in
    dst = [(o.cpp(file), n) for o, n in zip(row.dst, ("dst", "sdst"))]
    src = [(o.cpp(None if free and i < 2 else file), n) for i, (o, n) in enumerate(zip(row.src, source_names(row)))]
    atomic = "kAtomic" in row.flags
    if not cdna and "kWritesExec" in row.flags and row.dst and row.dst[0].type == "lanes":
        dst = []
    if row.format in ("MUBUF", "MTBUF") and row.src:
        address = [("BufferAddress", "vaddr"), src[1], src[2]]
        if len(src) == 4:
            return [[src[3]] + address]
        return [dst + address] + ([address] if "lds" in row.modifiers else [])
    if row.format == "GLOBAL" and row.src and row.src[0].kinds == {"V"} and row.src[0].type == "b64":
        data = src[1:-1]
        forms = [[("V2", "addr")] + data + [("Off", "saddr")], [("V1", "addr")] + data + [("S2", "saddr")]]
    elif row.format in ("GLOBAL", "SCRATCH") and row.src:
        base = f"OrOff<{src[-1][0]}>"
        forms = [
            [(f"OrOff<{t}>" if i == 0 and row.format == "SCRATCH" else t, n) for i, (t, n) in enumerate(src[:-1])]
            + [(base, "saddr")]
        ]
    else:
        forms = [src]
    if atomic and row.format in ("FLAT", "GLOBAL"):
        return forms + [dst + form for form in forms]
    if row.format == "SMEM" and row.src:
        return [scalar_memory(row, dst, src)]
    if row.modifiers & {"simm", "message"} and row.format != "VINTERP":
        immediate = [("Label", "target")] if "kBranch" in row.flags else [("Imm", "imm")]
        if "kImmediateFirst" in row.flags:
            return [immediate + src]
        if row.name == "s_endpgm":
            return [[]]
        return [dst + src + immediate]
    return [dst + form for form in forms]


def takes_modifiers(row):
    return bool(row.modifiers - {"simm", "message"}) or row.format in (
        "VOP1",
        "VOP2",
        "VOPC",
        "VOP3",
        "VOP3SD",
        "VOP3P",
    )


def method(row, parameters):
    names = ", ".join(n.split(" ")[0] for _, n in parameters)
    typed = [f"{t} {n}" for t, n in parameters]
    modifiers = takes_modifiers(row)
    typed += ["MODIFIERS", "HERE"] if modifiers else ["HERE"]
    arguments = f'"{row.name}", {{{names}}}, {"m" if modifiers else "{}"}, here'
    return f"void {row.name}({', '.join(typed)}) {{ emit({arguments}); }}"


def methods(row, cdna):
    """One overload for each vector file that the data may be in; all of it is in the same one."""
    either = any({"V", "G"} <= o.kinds for o in row.dst + row.src)
    lines = [method(row, p) for file in ("V", "G" if either else "V") for p in signatures(row, cdna, file)]
    return list(dict.fromkeys(lines))


def dual(row):
    parameters = [("V1", "dst")] + [(o.cpp(), f"src{i}") for i, o in enumerate(row.src)]
    if "kLiteral" in row.flags:
        parameters.insert(2 if "kLiteralSecond" in row.flags else 3, ("Imm", "literal"))
    typed = ", ".join(f"{t} {n}" for t, n in parameters)
    names = ", ".join(n for _, n in parameters)
    return f'inline DualHalf {row.name}({typed}) {{ return {{"{row.name}", {{{names}}}, {len(parameters)}}}; }}'


def files(family):
    if family not in tables.TYPED:
        return {}
    head = f"// Written by asm/isa/generate/generate.py from asm/isa/{family}.def; do not edit.\n"
    rows = list(read_methods(family))
    cdna = tables.is_cdna(family)
    lines = [line for r in rows if r.format != "VOPD" for line in methods(r, cdna)]
    duals = [dual(r) for r in rows if r.format == "VOPD"]
    result = {
        tables.DSL / f"{family}_methods.inc": head + MACROS + "\n".join(lines) + "\n#undef HERE\n#undef MODIFIERS\n"
    }
    if duals:
        result[tables.DSL / f"{family}_dual.inc"] = head + "\n".join(duals) + "\n"
    return result
