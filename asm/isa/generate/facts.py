"""The facts in a family's table: what an instruction form counts, reads and writes without naming it, and how long it
takes.

One encoding of each row of <family>.def is looked up in LLVM 19's own tables through facts.cc, which is compiled on
the way. What LLVM says for its own convenience, or leaves out, is corrected below from the ISA documents. Cycles are
clocks: LLVM's for RDNA, a wave32; four of LLVM's for CDNA, whose 16 lanes take four clocks for a wave64.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import rows
import tables

VECTOR = tables.formats("vector")
MEMORY = ("MUBUF", "MTBUF", "MIMG", "FLAT", "SCRATCH", "GLOBAL")
TRANS, VM, LGKM = 1 << 16, 1 << 32, 1 << 34  # bits of LLVM's TSFlags
USES_M0_IN_DS = re.compile("addtid|append|consume|ordered|gws|_gs_")
NO_EXEC = re.compile(
    r"v_(nop|pipeflush|clrexcp|readlane_b32|writelane_b32|s_\w+|w?mfma\w*|wmma_\w+|smfmac_\w+|swmmac_\w+)$"
)


class Known:
    """LLVM's facts of one encoding."""

    def __init__(self, line):
        self.opcode, reads, writes, tied, flags, access, latency, resources = line.split(";")
        self.reads, self.writes, self.tied = set(reads.split()), set(writes.split()), tied == "1"
        self.flags, self.load, self.store = int(flags, 16), "L" in access, "S" in access
        self.latency = int(latency)
        self.held = {name: int(cycles) for name, cycles in (item.split("=") for item in resources.split())}


def encodings(target, row):
    """Encodings of a row with its operand fields filled in different ways; most are not valid."""
    for key, fmt in target.FORMATS.items():
        opcode = row.opcode - getattr(fmt, "first_opcode", 0)
        if key.split()[0] != row.format or opcode < 0 or opcode >> fmt.op_bits:
            continue
        fillings = [bits for _, bits in rows.candidates(fmt)]
        if row.format == "MIMG":
            fillings = target.MIMG_FILLINGS
        if row.format == "VOPD":
            fillings = [bits | 3 << 22 | 272 | 34 << 9 | 64 << 56 | 32 << 49 for bits in fillings]
        for bits in fillings:
            value = fmt.base | opcode << fmt.op_shift | bits
            yield value.to_bytes(4 * (fmt.words + 1), "little").hex()


def ask(target, table):
    """LLVM's facts of each row, or None."""
    known = ask_chip(target, table, target.CPU)
    later = [index for index, row in enumerate(table) if "kRdna35" in row.flags]
    for index, fact in zip(later, ask_chip(target, [table[index] for index in later], target.LATER) if later else []):
        known[index] = fact
    return known


def ask_chip(target, table, cpu):
    owners, lines = [], []
    for index, row in enumerate(table):
        for encoding in encodings(target, row):
            owners.append(index)
            lines.append(encoding)
    known = [None] * len(table)
    with tempfile.TemporaryDirectory() as folder:

        def config(option):
            return subprocess.run(["llvm-config-19", option], capture_output=True, text=True, check=True).stdout.strip()

        program = pathlib.Path(folder) / "facts"
        subprocess.run(
            [
                "clang++-19",
                "-std=c++17",
                "-O0",
                "-fno-rtti",
                "-I" + config("--includedir"),
                str(tables.HERE / "facts.cc"),
                "-o",
                str(program),
                "-L" + config("--libdir"),
                "-lLLVM-19",
            ],
            check=True,
        )
        answers = subprocess.run(
            [str(program), cpu], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True
        ).stdout.splitlines()
    for index, answer in zip(owners, answers):
        if answer != "?" and "?" not in answer:
            one = Known(answer)
            # With the LDS bit a load is another instruction; the bit is a modifier of the Inst.
            if known[index] is None or "_LDS_" in known[index].opcode:
                known[index] = one
    return known


def counters(target, row, known):
    """The counters that go up when the instruction issues, an atomic's as it is without a result."""
    count = target.COUNTERS
    if row.mnemonic.startswith("s_sendmsg") or row.mnemonic == "s_get_barrier_state":
        return [count["scalar"]]
    if row.format in ("EXP", "LDSDIR"):
        return ["expcnt"]
    if row.format == "SMEM":
        return [count["scalar"]] if known.flags & LGKM else []
    if row.format == "DS":
        return [count["local"]]
    if row.format not in MEMORY:
        return []
    write = known.store and (not known.load or "kAtomic" in row.flags) or row.mnemonic in ("global_wb", "global_wbinv")
    sample = re.match("image_(sample|gather|get_lod|msaa)", row.mnemonic)
    kind = "bvh" if "bvh" in row.mnemonic else "sample" if sample else "store" if write else "load"
    return [count[kind]] + ([count["local"]] if row.format == "FLAT" else [])


def implicit(target, row, known):
    reads, writes = set(known.reads), set(known.writes)
    if row.format == "DS" and not USES_M0_IN_DS.search(row.mnemonic):
        reads.discard("M0")  # read before GFX9 only
    if row.format == "SOPP" and row.mnemonic.startswith("s_sendmsg"):
        reads.discard("EXEC")
    if row.mnemonic.startswith("s_quadmask"):
        writes.add("SCC")
    if row.mnemonic == "s_setvskip":
        writes = {"MODE"}
    if row.format == "VINTERP":
        reads.discard("M0")  # of the load of parameters, which comes before
        reads.add("MODE")  # its denormals where the rounding is fixed
    if row.format in VECTOR:
        reads.add("EXEC")
        if NO_EXEC.match(row.mnemonic):
            reads.discard("EXEC")  # every lane takes part
    kept = known.tied or re.match("s_cmov|s_bitset", row.mnemonic) or "d16_hi" in row.mnemonic and known.load
    if (
        row.format in VECTOR
        and not tables.is_cdna(target.FAMILY)
        and re.match(r"V\((f16|bf16|i16|u16|b16)\)", ", ".join(row.dst))
    ):
        kept = True  # the other half of the register stays
    if re.match("v_(mfma|wmma)", row.mnemonic):
        kept = False  # the accumulator is a source of its own
    if re.match("v_(smfmac|swmmac)", row.mnemonic):
        kept = True
    if kept:
        reads.add("DESTINATION")
    return ordered(reads), ordered(writes)


def ordered(registers):
    names = {
        "M0": "m0",
        "VCC": "vcc",
        "VCC_LO": "vcc",
        "SCC": "scc",
        "EXEC": "exec",
        "EXEC_LO": "exec",
        "FLAT_SCR": "flat_scratch",
        "MODE": "mode",
        "DESTINATION": "destination",
    }
    return " | ".join(sorted({names[register] for register in registers}, key=list(names.values()).index)) or "0"


def latency(target, row, known):
    """Class, clocks until the unit takes the next instruction, clocks until the result may be read."""
    name, cdna = row.mnemonic, tables.is_cdna(target.FAMILY)
    clock = 4 if cdna else 1
    result = known.latency * clock
    if name in ("s_barrier", "s_barrier_wait"):
        return "barrier", clock, clock
    if re.match("s_sendmsg|s_barrier|s_get_barrier|s_wakeup_barrier", name):
        return "message", clock, 2 * clock
    if "kBranch" in row.flags and row.format[:3] == "SOP":
        return "branch", clock, target.BRANCH
    if row.format == "SOPP":
        return "none", 0, 0
    if row.format[:3] == "SOP":
        return "salu_float" if not cdna and known.latency == 4 else "salu", clock, result
    for formats, kind in ((("SMEM",), "scalar_memory"), (("DS",), "lds"), (MEMORY, "vector_memory")):
        if row.format in formats:
            return kind, clock, result
    if row.format not in VECTOR:
        return "export_", clock, result
    return vector_latency(target, row, known, clock, result)


def vector_latency(target, row, known, clock, result):
    """A matrix product's result is ready for the next product that adds to it; other readers wait longer by s_nop."""
    name, cdna = row.mnemonic, clock == 4
    if "kMatrix" in row.flags:
        if cdna:  # passes of four clocks (CDNA3 ISA, 7.5)
            passes = max(known.held.values())
            return "matrix", 4 * passes, 4 * passes
        clocks = next(clocks for pattern, clocks in target.MATRIX if re.search(pattern, name))
        return "matrix", clocks, clocks
    double = "_f64" in name
    if known.flags & TRANS or "kTrans" in row.flags:
        issue = 16 if cdna else target.DOUBLE if double else 4
        return "trans64" if double else "trans", issue, result
    if double:
        issue = known.latency * 4 if cdna else target.DOUBLE
        return "valu64", issue, result if cdna else max(result, 38)
    if cdna and known.latency == 4 or not cdna and known.latency == 8:
        return "valu_quarter", 4 * clock, result
    slots = known.held.get("HWVALU", 1) if row.format != "VOPD" else 1
    return "valu", slots * clock, result


def facts_of(target, row, known):
    if known is None:
        if "kGraphics" not in row.flags:
            sys.exit(f"no encoding of {row.mnemonic} {row.format} is known to LLVM")
        known = Known("?;EXEC;;0;0;L;320;")
    kind, issue, result = latency(target, row, known)
    reads, writes = implicit(target, row, known)
    return f"{' | '.join(counters(target, row, known)) or 0}, {kind}, {issue}, {result}, {reads}, {writes}"


def files(family):
    """The table with its facts rewritten."""
    target, table = tables.target_of(family), tables.read_table(family)
    for row, known in zip(table, ask(target, table)):
        row.facts = facts_of(target, row, known)
    return {tables.ISA / f"{family}.def": tables.table_text(family, table)}
