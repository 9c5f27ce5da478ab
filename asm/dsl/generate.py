#!/usr/bin/env python3
"""Writes the typed methods of the RDNA3 assembler from the rows of asm/isa/rdna3.def.

    generate.py            writes rdna3_methods.inc and rdna3_dual.inc
    generate.py --verify   fails when a checked-in file differs from what the rows say
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROWS = HERE.parent / "isa" / "rdna3.def"
OPERANDS = r"\(((?:\w+\(\w+\)(?:, )?)*)\)"
ROW = re.compile(rf"INST\( (\w+), (\w+), \w+, {OPERANDS}, {OPERANDS}, ([^,]*), ([^,]*)(?:, .*)? \)$")
REGISTERS = {"b64": 2, "i64": 2, "u64": 2, "f64": 2, "b96": 3, "b128": 4, "b256": 8, "b512": 16}
KINDS = {"SC": "kSgpr | kInline", "SCL": "kScalarSource", "VCL": "kVgpr | kInline | kLiteralConstant", "A": "kAnySource"}


class Operand:
    def __init__(self, text):
        self.kind, self.type = re.fullmatch(r"(\w+)\((\w+)\)", text).groups()
        self.count = REGISTERS.get(self.type, 1)

    def cpp(self):
        if self.type == "lanes":
            return "LaneMask"
        if self.kind == "L":
            return "Imm"
        if self.kind in ("V", "S"):
            return f"{self.kind}{self.count}"
        return f"Src<{self.count}, {KINDS[self.kind]}>"


class Row:
    def __init__(self, match):
        self.name, self.format, dst, src, flags, modifiers = match.groups()
        self.dst = [Operand(t) for t in dst.split(", ") if t]
        self.src = [Operand(t) for t in src.split(", ") if t]
        self.flags = set(flags.split(" | ")) - {"0"}
        self.modifiers = set(modifiers.split(" | ")) - {"0"}


def read_rows():
    rows = {}
    for line in ROWS.read_text().splitlines():
        match = ROW.match(line)
        if not match:
            if line.startswith("INST("):
                sys.exit(f"{ROWS}: row not understood: {line}")
            continue
        row = Row(match)
        if "kGraphics" in row.flags:
            continue
        dual = row.format == "VOPD"
        old = rows.get((row.name, dual))
        if old:  # a later row is a wider form: it accepts more kinds of operand
            row.modifiers |= old.modifiers
            row.flags |= old.flags
        rows[row.name, dual] = row
    return rows.values()


def source_names(row):
    """Parameter names of the sources, in row order."""
    count = len(row.src)
    if row.format in ("MUBUF", "MTBUF"):
        return ["vaddr", "srsrc", "soffset", "data"]
    if row.format == "SMEM":
        return ["base", "offset"]
    if row.format == "DS":
        return (["addr"] if count > 1 or row.dst else ["data"]) + ["data0", "data1"]
    if row.format in ("FLAT", "GLOBAL", "SCRATCH"):
        data = ["data"] if row.flags & {"kStore", "kAtomic"} else []
        saddr = ["saddr"] if row.format != "FLAT" else []
        addr = ["addr"] if count > len(data) + len(saddr) else []
        return addr + data + saddr
    return [f"src{i}" for i in range(count)]


def signatures(row):
    """Parameter lists [(type, name)] in the order of LLVM's text; several where operands are optional."""
    dst = [(o.cpp(), n) for o, n in zip(row.dst, ("dst", "sdst"))]
    src = [(o.cpp(), n) for o, n in zip(row.src, source_names(row))]
    atomic = "kAtomic" in row.flags
    if "kWritesExec" in row.flags and row.dst and row.dst[0].type == "lanes":
        dst = []
    if row.format in ("MUBUF", "MTBUF") and row.src:
        address = [("BufferAddress", "vaddr"), src[1], src[2]]
        return [[src[3]] + address] if len(src) == 4 else [dst + address]
    if row.format == "GLOBAL" and row.src[0].kind == "V" and row.src[0].type == "b64":
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
        return [dst + src[:1] + [("Src<1, kSgpr | kInline | kLiteralConstant>", "offset = 0")]]
    if "simm" in row.modifiers:
        immediate = [("Label", "target")] if "kBranch" in row.flags else [("Imm", "imm")]
        if row.name.startswith("s_setreg"):
            return [immediate + src]
        if row.name == "s_endpgm":
            return [[]]
        return [dst + src + immediate]
    return [dst + form for form in forms]


def takes_modifiers(row):
    return bool(row.modifiers - {"simm"}) or row.format in ("VOP1", "VOP2", "VOPC", "VOP3", "VOP3SD", "VOP3P")


def method(row, parameters):
    names = ", ".join(n.split(" ")[0] for _, n in parameters)
    typed = [f"{t} {n}" for t, n in parameters]
    modifiers = takes_modifiers(row)
    typed += ["MODIFIERS", "HERE"] if modifiers else ["HERE"]
    arguments = f'"{row.name}", {{{names}}}, {"m" if modifiers else "{}"}, here'
    return f"void {row.name}({', '.join(typed)}) {{ emit({arguments}); }}"


def dual(row):
    parameters = [("V1", "dst")] + [(o.cpp(), f"src{i}") for i, o in enumerate(row.src)]
    if "kLiteral" in row.flags:
        parameters.insert(2 if "fmamk" in row.name else 3, ("Imm", "literal"))
    typed = ", ".join(f"{t} {n}" for t, n in parameters)
    names = ", ".join(n for _, n in parameters)
    return f'inline DualHalf {row.name}({typed}) {{ return {{"{row.name}", {{{names}}}, {len(parameters)}}}; }}'


def outputs():
    head = "// Written by generate.py from asm/isa/rdna3.def; do not edit.\n"
    rows = list(read_rows())
    methods = [method(r, p) for r in rows if r.format != "VOPD" for p in signatures(r)]
    duals = [dual(r) for r in rows if r.format == "VOPD"]
    return {"rdna3_methods.inc": head + "\n".join(methods) + "\n", "rdna3_dual.inc": head + "\n".join(duals) + "\n"}


def main():
    verify = "--verify" in sys.argv[1:]
    for name, text in outputs().items():
        path = HERE / name
        if not verify:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            sys.exit(f"{name} is not what the rows of {ROWS.name} give; run {pathlib.Path(__file__).name}")


if __name__ == "__main__":
    main()
