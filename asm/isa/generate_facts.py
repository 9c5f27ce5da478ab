#!/usr/bin/env python3
"""Writes facts_<family>.def: what an instruction form counts, reads and writes without naming it, and how long it takes.

usage: generate_facts.py [--family rdna4] [--verify]

One encoding of each row of <family>.def is looked up in LLVM 19's own tables through generate_facts.cc, which is
compiled on the way. What LLVM says for its own convenience, or leaves out, is corrected below from the ISA documents.
Cycles are clocks: LLVM's for RDNA, a wave32; four of LLVM's for CDNA, whose 16 lanes take four clocks for a wave64."""
import argparse
import importlib
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
import generate  # noqa: E402

VECTOR = ('VOP1', 'VOP2', 'VOPC', 'VOP3', 'VOP3SD', 'VOP3P', 'VOPD', 'MFMA')
MEMORY = ('MUBUF', 'MTBUF', 'MIMG', 'FLAT', 'SCRATCH', 'GLOBAL')
TRANS, VM, LGKM = 1 << 16, 1 << 32, 1 << 34  # bits of LLVM's TSFlags
USES_M0_IN_DS = re.compile('addtid|append|consume|ordered|gws|_gs_')
NO_EXEC = re.compile(r'v_(nop|pipeflush|clrexcp|readlane_b32|writelane_b32|s_\w+|w?mfma\w*|wmma_\w+|smfmac_\w+|swmmac_\w+)$')
# Clocks that a matrix product holds a SIMD of RDNA, by the peak rates of the RDNA3 and RDNA4 products: 256 and 512
# operations a clock with 16-bit inputs; 8-bit inputs at the same and at double rate, 4-bit inputs at double that.
# RDNA3: GPUOpen, "WMMA on RDNA 3", operations a clock and CU (of two SIMDs): 512, iu4 1024. RDNA4: the RX 9070 XT's
# advertised 1557 sparse iu4 TOPS, of 64 CUs at 2.97 GHz: 8192 a clock and CU, dense 4096, 8-bit 2048, 16-bit 1024.
RDNA_MATRIX = {'rdna3': [('iu4', 16), ('', 32)], 'rdna4': [('16x16x64_iu4|wmma_i32_16x16x32_iu4', 8), ('iu4', 4),
                                                         ('iu8|fp8|bf8', 8), ('', 16)]}
RDNA_DOUBLE = {'rdna3': 16, 'rdna4': 32}  # 1/32 and 1/64 of the dual-issue single-precision rate
BRANCH = {'rdna3': 8, 'rdna4': 8, 'cdna3': 16, 'cdna2': 16}  # clocks until the next instruction of the wave


class Known:
    """What LLVM says of one encoding."""

    def __init__(self, line):
        self.opcode, reads, writes, tied, flags, access, latency, resources = line.split(';')
        self.reads, self.writes, self.tied = set(reads.split()), set(writes.split()), tied == '1'
        self.flags, self.load, self.store = int(flags, 16), 'L' in access, 'S' in access
        self.latency = int(latency)
        self.held = {name: int(cycles) for name, cycles in (item.split('=') for item in resources.split())}


class Row:
    def __init__(self, family, match):
        self.family, self.mnemonic, self.format, self.opcode = family, match[1], match[2], int(match[3], 16)
        self.dst, self.flags = match[4], match[5].split(' | ')
        self.cdna = family.startswith('cdna')


def read_rows(family):
    pattern = r'INST\( (\w+), (\w+), (0x[0-9a-f]+), \((.*?)\), \(.*\), (.*?), .*?, .*? \)'
    return [Row(family, match) for match in re.finditer(pattern, (HERE / f'{family}.def').read_text())]


def encodings(target, row):
    """Encodings of a row with its operand fields filled in different ways; most are not valid."""
    for key, fmt in target.FORMATS.items():
        opcode = row.opcode - getattr(fmt, 'first_opcode', 0)
        if key.split()[0] != row.format or opcode < 0 or opcode >> fmt.op_bits:
            continue
        fillings = [bits for _, bits in generate.candidates(fmt)]
        if row.format == 'MIMG':
            fillings = target.MIMG_FILLINGS
        if row.format == 'VOPD':
            fillings = [bits | 3 << 22 | 272 | 34 << 9 | 64 << 56 | 32 << 49 for bits in fillings]
        for bits in fillings:
            value = fmt.base | opcode << fmt.op_shift | bits
            yield value.to_bytes(4 * (fmt.words + 1), 'little').hex()


def ask(target, rows):
    """What LLVM knows of each row, or None."""
    owners, lines = [], []
    for index, row in enumerate(rows):
        for encoding in encodings(target, row):
            owners.append(index)
            lines.append(encoding)
    known = [None] * len(rows)
    with tempfile.TemporaryDirectory() as folder:
        def config(option):
            return subprocess.run(['llvm-config-19', option], capture_output=True, text=True, check=True).stdout.strip()
        program = pathlib.Path(folder) / 'facts'
        subprocess.run(['clang++-19', '-std=c++17', '-O0', '-fno-rtti', '-I' + config('--includedir'),
                        str(HERE / 'generate_facts.cc'), '-o', str(program), '-L' + config('--libdir'), '-lLLVM-19'],
                       check=True)
        answers = subprocess.run([str(program), target.CPU], input='\n'.join(lines) + '\n', capture_output=True,
                                 text=True, check=True).stdout.splitlines()
    for index, answer in zip(owners, answers):
        if answer != '?' and '?' not in answer:
            one = Known(answer)
            # With the LDS bit a load is another instruction; the bit is a modifier of the Inst.
            if known[index] is None or '_LDS_' in known[index].opcode:
                known[index] = one
    return known


def counters(row, known):
    """The counters that go up when the instruction issues, an atomic's as it is without a result."""
    if row.mnemonic.startswith('s_sendmsg') or row.mnemonic == 's_get_barrier_state':
        return ['kmcnt' if row.family == 'rdna4' else 'lgkmcnt']
    if row.format in ('EXP', 'LDSDIR'):
        return ['expcnt']
    if row.format == 'SMEM':
        return ([] if not known.flags & LGKM else ['kmcnt'] if row.family == 'rdna4' else ['lgkmcnt'])
    if row.format == 'DS':
        return ['dscnt'] if row.family == 'rdna4' else ['lgkmcnt']
    if row.format not in MEMORY:
        return []
    write = known.store and (not known.load or 'kAtomic' in row.flags) or row.mnemonic in ('global_wb', 'global_wbinv')
    if row.cdna:
        first = 'vmcnt'
    elif row.family == 'rdna3':
        first = 'vscnt' if write else 'vmcnt'
    elif 'bvh' in row.mnemonic:
        first = 'bvhcnt'
    elif re.match('image_(sample|gather|get_lod|msaa)', row.mnemonic):
        first = 'samplecnt'
    else:
        first = 'storecnt' if write else 'loadcnt'
    local = [] if row.format != 'FLAT' else ['dscnt'] if row.family == 'rdna4' else ['lgkmcnt']
    return [first] + local


def implicit(row, known):
    reads, writes = set(known.reads), set(known.writes)
    if row.format == 'DS' and not USES_M0_IN_DS.search(row.mnemonic):
        reads.discard('M0')  # read before GFX9 only
    if row.format == 'SOPP' and row.mnemonic.startswith('s_sendmsg'):
        reads.discard('EXEC')
    if row.mnemonic.startswith('s_quadmask'):
        writes.add('SCC')
    if row.mnemonic == 's_setvskip':
        writes = {'MODE'}
    if row.format in VECTOR:
        reads.add('EXEC')
        if NO_EXEC.match(row.mnemonic):
            reads.discard('EXEC')  # every lane takes part
    kept = known.tied or re.match('s_cmov|s_bitset', row.mnemonic) or 'd16_hi' in row.mnemonic and known.load
    if row.format in VECTOR and not row.cdna and re.match(r'V\((f16|bf16|i16|u16|b16)\)', row.dst):
        kept = True  # the other half of the register stays
    if re.match('v_(mfma|wmma)', row.mnemonic):
        kept = False  # the accumulator is a source of its own
    if re.match('v_(smfmac|swmmac)', row.mnemonic):
        kept = True
    if kept:
        reads.add('DESTINATION')
    return ordered(reads), ordered(writes)


def ordered(registers):
    names = {'M0': 'm0', 'VCC': 'vcc', 'VCC_LO': 'vcc', 'SCC': 'scc', 'EXEC': 'exec', 'EXEC_LO': 'exec',
             'FLAT_SCR': 'flat_scratch', 'MODE': 'mode', 'DESTINATION': 'destination'}
    return ' | '.join(sorted({names[register] for register in registers}, key=list(names.values()).index)) or '0'


def latency(row, known):
    """Class, clocks until the unit takes the next instruction, clocks until the result may be read."""
    name, clock = row.mnemonic, 4 if row.cdna else 1
    result = known.latency * clock
    if name in ('s_barrier', 's_barrier_wait'):
        return 'barrier', clock, clock
    if re.match('s_sendmsg|s_barrier|s_get_barrier|s_wakeup_barrier', name):
        return 'message', clock, 2 * clock
    if 'kBranch' in row.flags and row.format[:3] == 'SOP':
        return 'branch', clock, BRANCH[row.family]
    if row.format == 'SOPP':
        return 'none', 0, 0
    if row.format[:3] == 'SOP':
        return 'salu_float' if not row.cdna and known.latency == 4 else 'salu', clock, result
    for formats, kind in ((('SMEM',), 'scalar_memory'), (('DS',), 'lds'), (MEMORY, 'vector_memory')):
        if row.format in formats:
            return kind, clock, result
    if row.format not in VECTOR:
        return 'export_', clock, result
    return vector_latency(row, known, name, clock, result)


def vector_latency(row, known, name, clock, result):
    """A matrix product's result is ready for the next product that adds to it; other readers wait longer by s_nop."""
    if 'kMatrix' in row.flags:
        if row.cdna:  # passes of four clocks (CDNA3 ISA, 7.5)
            passes = max(known.held.values())
            return 'matrix', 4 * passes, 4 * passes
        clocks = next(clocks for pattern, clocks in RDNA_MATRIX[row.family] if re.search(pattern, name))
        return 'matrix', clocks, clocks
    double = '_f64' in name
    if known.flags & TRANS or 'kTrans' in row.flags:
        issue = 16 if row.cdna else RDNA_DOUBLE[row.family] if double else 4
        return 'trans64' if double else 'trans', issue, result
    if double:
        issue = known.latency * 4 if row.cdna else RDNA_DOUBLE[row.family]
        return 'valu64', issue, result if row.cdna else max(result, 38)
    if row.cdna and known.latency == 4 or not row.cdna and known.latency == 8:
        return 'valu_quarter', 4 * clock, result
    slots = known.held.get('HWVALU', 1) if row.format != 'VOPD' else 1
    return 'valu', slots * clock, result


def table(family):
    rows = read_rows(family)
    lines = [f'// {family}: facts of each row, in its order. Written by generate_facts.py from LLVM 19; do not edit.',
             '// FACT( mnemonic, format, counters, latency class, issue, result, implicit reads, implicit writes )']
    for row, known in zip(rows, ask(importlib.import_module(f'generate_{family}'), rows)):
        if known is None:
            if 'kGraphics' not in row.flags:
                sys.exit(f'no encoding of {row.mnemonic} {row.format} is known to LLVM')
            known = Known('?;EXEC;;0;0;L;320;')
        kind, issue, result = latency(row, known)
        reads, writes = implicit(row, known)
        lines.append(f'FACT( {row.mnemonic}, {row.format}, {" | ".join(counters(row, known)) or 0}, {kind}, {issue}, '
                     f'{result}, {reads}, {writes} )')
    return '\n'.join(lines) + '\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--family', default='rdna3', choices=['rdna3', 'rdna4', 'cdna3', 'cdna2'])
    parser.add_argument('--verify', action='store_true', help='compare with the checked-in table instead of writing it')
    options = parser.parse_args()
    path, text = HERE / f'facts_{options.family}.def', table(options.family)
    if not options.verify:
        path.write_text(text)
    elif path.read_text() != text:
        sys.exit(f'{path.name} is not what generate_facts.py writes; run asm/isa/generate_facts.py --family '
                 f'{options.family}')


if __name__ == '__main__':
    main()
