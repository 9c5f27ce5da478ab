#!/usr/bin/env python3
"""Writes the typed methods of the assemblers from the rows of asm/isa.

    generate.py            writes <family>_methods.inc of every family, and <family>_dual.inc of RDNA
    generate.py --verify   fails when a checked-in file differs from what the rows say
    --family F             that family only
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
FAMILIES = ("rdna3", "rdna4", "cdna3")
OPERANDS = r"\(((?:\w+\(\w+\)(?:, )?)*)\)"
ROW = re.compile(rf"INST\( (\w+), (\w+), \w+, {OPERANDS}, {OPERANDS}, ([^,]*), ([^,]*)(?:, .*)? \)$")
REGISTERS = {"b64": 2, "i64": 2, "u64": 2, "f64": 2, "pk32": 2, "b96": 3, "b128": 4, "b256": 8, "b512": 16, "b1024": 32}
# What the letters of the rows accept: V vector register, S scalar register, C inline constant, L literal, G accumulation
# register, A all but the last.
KINDS = {"V": "V", "S": "S", "SC": "SC", "SCL": "SCL", "VCL": "VCL", "L": "L", "A": "VSCL", "VSC": "VSC", "G": "G", "VG": "VG", "VCG": "VCG"}
BITS = {"V": "kVgpr", "S": "kSgpr", "C": "kInline", "L": "kLiteralConstant", "G": "kAgpr"}
MACROS = "#define MODIFIERS const Modifiers& m = {}\n#define HERE const Location& here = std::source_location::current()\n"
NAMED = {"VSCL": "kAnySource", "SCL": "kScalarSource"}


class Operand:
    def __init__(self, text):
        kind, self.type = re.fullmatch(r"(\w+)\((\w+)\)", text).groups()
        self.kinds = set(KINDS[kind])
        self.count = REGISTERS.get(self.type, 1)

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


class Row:
    def __init__(self, match):
        self.name, self.format, dst, src, flags, modifiers = match.groups()
        self.dst = [Operand(t) for t in dst.split(", ") if t]
        self.src = [Operand(t) for t in src.split(", ") if t]
        self.flags = set(flags.split(" | ")) - {"0"}
        self.modifiers = set(modifiers.split(" | ")) - {"0"}

    def widen(self, narrow):
        """Another form of the instruction: the assembler chooses the one that holds the operands."""
        self.modifiers |= narrow.modifiers
        self.flags |= narrow.flags
        for mine, other in zip(self.dst + self.src, narrow.dst + narrow.src):
            if mine.type == other.type:
                mine.kinds |= other.kinds


def read_rows(family):
    path = HERE.parent / "isa" / f"{family}.def"
    rows = {}
    for line in path.read_text().splitlines():
        match = ROW.match(line)
        if not match:
            if line.startswith("INST("):
                sys.exit(f"{path}: row not understood: {line}")
            continue
        row = Row(match)
        if row.flags & {"kGraphics", "kNotOnSilicon"}:
            continue
        key = row.name, row.format == "VOPD", "kWave64" in row.flags  # the last: an overload
        if key in rows:
            row.widen(rows[key])
        rows[key] = row
    return rows.values()


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
    if "_prefetch" in row.name:
        relative = len(src) == 1
        return ([] if relative else src[:1]) + [("Imm", "bytes"), (src[-1][0], "soffset"), ("Imm", "length")]
    if row.name.startswith("s_atc_probe"):
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
        forms = [[(f"OrOff<{t}>" if i == 0 and row.format == "SCRATCH" else t, n) for i, (t, n) in enumerate(src[:-1])] + [(base, "saddr")]]
    else:
        forms = [src]
    if atomic and row.format in ("FLAT", "GLOBAL"):
        return forms + [dst + form for form in forms]
    if row.format == "SMEM" and row.src:
        return [scalar_memory(row, dst, src)]
    if row.modifiers & {"simm", "message"}:
        immediate = [("Label", "target")] if "kBranch" in row.flags else [("Imm", "imm")]
        if row.name.startswith("s_setreg"):
            return [immediate + src]
        if row.name == "s_endpgm":
            return [[]]
        return [dst + src + immediate]
    return [dst + form for form in forms]


def takes_modifiers(row):
    return bool(row.modifiers - {"simm", "message"}) or row.format in ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD", "VOP3P")


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
        parameters.insert(2 if "fmamk" in row.name else 3, ("Imm", "literal"))
    typed = ", ".join(f"{t} {n}" for t, n in parameters)
    names = ", ".join(n for _, n in parameters)
    return f'inline DualHalf {row.name}({typed}) {{ return {{"{row.name}", {{{names}}}, {len(parameters)}}}; }}'


def outputs(family):
    head = f"// Written by generate.py from asm/isa/{family}.def; do not edit.\n"
    rows = list(read_rows(family))
    cdna = family.startswith("cdna")
    lines = [line for r in rows if r.format != "VOPD" for line in methods(r, cdna)]
    duals = [dual(r) for r in rows if r.format == "VOPD"]
    files = {f"{family}_methods.inc": head + MACROS + "\n".join(lines) + "\n#undef HERE\n#undef MODIFIERS\n"}
    if duals:
        files[f"{family}_dual.inc"] = head + "\n".join(duals) + "\n"
    return files


def main():
    arguments = sys.argv[1:]
    verify = "--verify" in arguments
    families = [arguments[arguments.index("--family") + 1]] if "--family" in arguments else FAMILIES
    for family in families:
        for name, text in outputs(family).items():
            path = HERE / name
            if not verify:
                path.write_text(text)
            elif not path.exists() or path.read_text() != text:
                sys.exit(f"{name} is not what the rows of asm/isa/{family}.def give; run {pathlib.Path(__file__).name}")


if __name__ == "__main__":
    main()
