"""The mutants of a kernel: one wait, barrier, distance, first value or allocation taken away or made smaller, one index
shifted.
"""

import re
import struct
from dataclasses import dataclass

import strata
from strata import asm

from .code import PC_RELATIVE, registers

COUNT = re.compile(r"(\w+cnt)\((\d+)\)")
NO_COUNTER = ("s_wait_alu", "s_waitcnt_depctr", "s_wait_idle", "s_wait_event")
# Registers that a launch may define: the first vector registers, the first scalar ones and what traps hold.
GIVEN = {("v", n) for n in range(3)} | {("s", n) for n in range(24)} | {("ttmp", n) for n in range(16)}
MEMORY = ("global_", "buffer_", "ds_", "scratch_", "s_load", "s_buffer_load", "flat_")


@dataclass
class Mutant:
    group: str  # one of CLASSES
    change: str  # what was done, for people
    image: bytes | None  # None: the code is as it was
    instruction: int = -1  # its number in the code, or -1
    cut: int = -1  # the argument that is one element shorter


def nops(obj, size):
    return obj.assemble("s_nop 0\n" * (size // 4))


def rewritten(obj, instruction, text):
    """The instruction as another text of the same size, or None where there is none."""
    try:
        data = obj.assemble(text)
    except strata.Error:
        return None
    return data if len(data) == instruction.size and data != instruction.bytes else None


def change(group, obj, n, what, *patches):
    return Mutant(group, what, obj.patched(*patches), n)


def waits(obj):
    """Each wait deleted, each of its counters dropped, each count let one more operation through."""
    for n, i in enumerate(obj.code):
        if not i.mnemonic.startswith("s_wait") or i.name in NO_COUNTER:
            continue
        yield change("waits", obj, n, "deleted", (i.offset, nops(obj, i.size)))
        parts = COUNT.findall(i.text)
        texts = (
            [" ".join(f"{c}({v})" for c, v in parts if c != dropped) for dropped, _ in parts] if len(parts) > 1 else []
        )
        texts += [" ".join(f"{c}({int(v) + (c == weakened)})" for c, v in parts) for weakened, _ in parts]
        texts = [f"s_waitcnt {text}" for text in texts]
        if not parts and (m := re.search(r"0x([0-9a-f]+)$", i.text)):
            texts.append(i.text[: m.start()] + hex(int(m[1], 16) + 1))
        for text in texts:
            if data := rewritten(obj, i, text):
                yield change("waits", obj, n, f"weakened to {text}", (i.offset, data))


def barriers(obj):
    for n, i in enumerate(obj.code):
        if i.name == "s_barrier":
            yield change("barriers", obj, n, "deleted", (i.offset, nops(obj, i.size)))
        elif i.name == "s_barrier_signal":
            end = next((j for j in obj.code[n + 1 :] if j.name == "s_barrier_wait"), None)
            if end:
                yield change(
                    "barriers",
                    obj,
                    n,
                    "deleted with its s_barrier_wait",
                    (i.offset, nops(obj, 4)),
                    (end.offset, nops(obj, 4)),
                )


def hazards(obj):
    """Distances: s_nop moved after what it delays, or counting one less; waits for the pipeline deleted."""
    for n, i in enumerate(obj.code):
        if i.name in ("s_waitcnt_depctr", "s_wait_alu"):
            yield change("hazards", obj, n, "deleted", (i.offset, nops(obj, 4)))
        if i.name != "s_nop":
            continue
        count = int(i.operands[0], 0)
        if count:
            yield change(
                "hazards", obj, n, f"weakened to s_nop {count - 1}", (i.offset, obj.assemble(f"s_nop {count - 1}"))
            )
        after = obj.code[n + 1] if n + 1 < len(obj.code) else None
        if (
            after
            and not after.mnemonic.startswith(PC_RELATIVE)
            and after.name != "s_nop"
            and after.address not in obj.targets
        ):
            yield change("hazards", obj, n, "moved after the next instruction", (i.offset, after.bytes + i.bytes))


def written(obj, instruction):
    """The registers that an instruction writes whole, or nothing where that is not a plain matter."""
    try:
        forms = asm.describe(instruction.mnemonic, obj.arch)
    except strata.Error:
        return set()
    form = next((f for f in forms if f["destinations"]), None)
    if form is None or "::" in instruction.text:
        return set()
    if any("destination" in str(f.get("reads", "")) for f in forms) or re.search(
        r"op_sel|dst_sel|row_|quad_perm|_d16|bound_ctrl", instruction.text
    ):
        return set()
    return set().union(*(registers(op) for op in instruction.operands[: len(form["destinations"])]))


def uninitialised(obj):
    """Instructions that are the only ones to write a register that something else reads, replaced by s_nop."""
    writers = {}
    outputs = [written(obj, i) for i in obj.code]
    for n, i in enumerate(obj.code):
        for r in i.first | outputs[n]:
            writers.setdefault(r, set()).add(n)
    for n, i in enumerate(obj.code):
        mine = outputs[n]
        if not mine or mine & GIVEN or any(writers[r] != {n} for r in mine):
            continue
        others = [j.all for k, j in enumerate(obj.code) if k != n]
        if any(r in other for r in mine for other in others):
            yield change("uninitialised", obj, n, "deleted", (i.offset, nops(obj, i.size)))


def shifted(obj, i):
    """The text of a memory instruction whose immediate offset is far away."""
    match = re.search(r" offset:(-?\d+|0x[0-9a-f]+)", i.text)
    plain = i.text.replace(match[0], "") if match else i.text
    if i.mnemonic.startswith(("s_load", "s_buffer")):
        first = next(j for j in obj.code if j.mnemonic.startswith("s_load"))
        return re.sub(r"0x[0-9a-f]+$", "0x200" if i.operands[1] == first.operands[1] else "0x80", i.text)
    if i.mnemonic.startswith("ds_"):
        return (
            None
            if "2addr" in i.name or "read2" in i.name or "write2" in i.name or not re.search(r"\bv\d", i.text)
            else plain + " offset:65520"
        )
    return plain + f" offset:{4080 if 'flat' not in i.mnemonic or obj.arch != 'gfx90a' else 2032}"


def bounds(obj, arrays=()):
    """LDS and scratch smaller, each array argument one element shorter, each offset far away."""
    for which, name in enumerate(("local memory", "scratch")):
        fields, value = obj.size_field(which)
        for less in {value - 4, value // 2} if value >= 8 else ():
            patches = [(at, struct.pack(form, less)) for at, form in fields]
            yield Mutant("bounds", f"{name} of {value} bytes is {less}", obj.patched(*patches))
    for place in arrays:
        yield Mutant("bounds", f"argument {place} is one element shorter", None, cut=place)
    for n, i in enumerate(obj.code):
        if not i.mnemonic.startswith(MEMORY) or i.name.startswith(
            (
                "ds_bpermute",
                "ds_permute",
                "ds_swizzle",
                "buffer_gl",
                "buffer_inv",
                "buffer_wb",
                "global_wb",
                "global_inv",
            )
        ):
            continue
        text = shifted(obj, i)
        if text and (data := rewritten(obj, i, text)):
            yield change("bounds", obj, n, f"shifted: {text}", (i.offset, data))


MAKERS = {maker.__name__: maker for maker in (waits, barriers, hazards, uninitialised, bounds)}
CLASSES = tuple(MAKERS)


def mutants(obj, classes=CLASSES, arrays=()):
    for group in classes:
        yield from bounds(obj, arrays) if group == "bounds" else MAKERS[group](obj)
