"""The tables of asm/isa that the generators read and write."""

import importlib
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
ISA = HERE.parent
DSL = ISA.parent / "dsl"
INST = re.compile(r"INST\( (?P<instruction>.*), (?P<facts>[^,()]*, \w+, \d+, \d+, [^,()]*, [^,()]*) \)")
OPERANDS = r"\(((?:\w+\(\w+\)(?:, )?)*)\)"
INSTRUCTION = re.compile(rf"(\w+), (\w+), (\w+), {OPERANDS}, {OPERANDS}, ([^,]*), ([^,]*), ([^,]*)")
NO_FACTS = "0, none, 0, 0, 0, 0"


def rows_of(table, macro):
    """The rows of a .def table as lists of columns."""
    text = (ISA / f"{table}.def").read_text()
    return [
        [column.strip() for column in match[1].split(",")]
        for match in re.finditer(rf"^{macro}\((.*)\)$", text, re.MULTILINE)
    ]


LINES = {name: line for name, line, _ in rows_of("families", "FAMILY")}
TYPED = [name for name, _, assembler in rows_of("families", "FAMILY") if assembler == "typed"]
DWORDS = {name: int(dwords) for name, dwords, *_ in rows_of("types", "TYPE")}


def formats(unit):
    return tuple(name for name, its in rows_of("formats", "FORMAT") if its == unit)


def families():
    return list(LINES)


def is_cdna(family):
    return LINES[family] == "cdna"


def cpu_of(family):
    """The arch that LLVM is asked about: the family's first."""
    return next(columns[0] for columns in rows_of("archs", "ARCH") if columns[1] == family)


def target_of(family):
    """The module of a family's encodings."""
    target = importlib.import_module(family)
    target.FAMILY, target.CPU = family, cpu_of(family)
    return target


class Row:
    """One row of <family>.def."""

    def __init__(self, instruction, facts=NO_FACTS):
        self.instruction, self.facts = instruction, facts
        match = INSTRUCTION.fullmatch(instruction)
        self.mnemonic, self.format, opcode, dst, src, *words = match.groups()
        self.opcode = int(opcode, 16)
        self.dst, self.src = ([operand for operand in text.split(", ") if operand] for text in (dst, src))
        self.flags, self.modifiers, self.ignored = (set(text.split(" | ")) - {"0"} for text in words)

    def key(self):
        return self.mnemonic, self.format, self.opcode, "kWave64" in self.flags


def read_table(family):
    path = ISA / f"{family}.def"
    lines = [line for line in path.read_text().splitlines() if line.startswith("INST(")] if path.exists() else []
    return [Row(**INST.fullmatch(line).groupdict()) for line in lines]


def table_text(family, rows):
    head = [
        f"// {family}: one row an instruction form. Written by generate/generate.py from LLVM 19; do not edit.",
        "// INST( mnemonic, format, opcode, destinations, sources, flags, modifiers, ignored modifiers, counters, "
        "latency class,",
        "// issue, result, implicit reads, implicit writes )",
    ]
    return "\n".join(head + [f"INST( {row.instruction}, {row.facts} )" for row in rows]) + "\n"
