"""strata mutate: kernels with one thing wrong, and how many of them strict mode and the linter find."""

import json
import sys
from dataclasses import dataclass

import strata
from strata import asm, emulator

from .cases import built_in, of_file, values
from .code import Object
from .mutants import CLASSES, Mutant, mutants
from .survive import reason

BUDGET = 1 << 20  # instructions of a wave: what a mutant runs without end is stopped


@dataclass
class Outcome:
    case: object
    mutant: object
    lint: bool
    strict: bool
    first: str  # of the findings, in a line
    why: str = ""  # a survivor's reason

    @property
    def killed(self):
        return self.lint or self.strict

    def to_json(self, obj):
        m = self.mutant
        return {
            "kernel": self.case.name,
            "arch": obj.arch,
            "class": m.group,
            "change": m.change,
            "number": m.instruction,
            "pc": obj.code[m.instruction].address - obj.code[0].address if m.instruction >= 0 else None,
            "instruction": obj.code[m.instruction].text if m.instruction >= 0 else "",
            "lint": self.lint,
            "strict": self.strict,
            "finding": self.first,
            "reason": self.why,
        }


def launched(case, image, cut=-1):
    """The first finding of strict mode in a launch, or the fault that ends it."""
    kernel = strata.asm_kernel(image, name=case.kernel, grid=case.grid, block=case.block, lds=case.lds)
    try:
        with emulator.check("raise"):
            kernel(*values(case, cut))
    except strata.Error as e:
        return f"{type(e).__name__}: {str(e).splitlines()[0]}"
    return ""


def judged(case, mutant):
    image = mutant.image or case.image
    try:
        linted = [f["text"] for f in asm.lint(image, case.kernel)] if mutant.image else []
    except strata.Error as e:
        linted = [str(e)]
    run = launched(case, image, mutant.cut) if case.specs else ""
    return Outcome(case, mutant, bool(linted), bool(run), linted[0] if linted else run)


def listing(obj, n, context=2):
    """The instruction with those around it."""
    lines = []
    for k in range(max(0, n - context), min(len(obj.code), n + context + 1)):
        lines.append(
            f"      {'>' if k == n else ' '} {obj.code[k].address - obj.code[0].address:#08x}  {obj.code[k].text}"
        )
    return "\n".join(lines)


class Progress:
    def __init__(self):
        self.shown = sys.stderr.isatty()

    def __call__(self, text):
        if self.shown:
            print(f"\r{text[:110]}\033[K", end="", file=sys.stderr, flush=True)


def table(outcomes):
    """Rows of text: each class of each arch."""
    rows = [("arch", "class", "mutants", "same", "killed", "lint", "strict mode", "rate")]
    for arch in dict.fromkeys(obj.arch for obj, _ in outcomes):
        for group in CLASSES:
            mine = [o for obj, o in outcomes if obj.arch == arch and o.mutant.group == group]
            same = sum(o.why.startswith("same:") for o in mine)
            killed = sum(o.killed for o in mine)
            if mine:
                rate = f"{100 * killed / (len(mine) - same):.1f} %" if len(mine) > same else "-"
                rows.append(
                    (arch, group, len(mine), same, killed, sum(o.lint for o in mine), sum(o.strict for o in mine), rate)
                )
    widths = [max(len(str(row[n])) for row in rows) for n in range(len(rows[0]))]
    lines = [
        "| "
        + " | ".join(str(c).ljust(w) if n < 2 else str(c).rjust(w) for n, (c, w) in enumerate(zip(row, widths)))
        + " |"
        for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (w + 2) if n < 2 else "-" * (w + 1) + ":" for n, w in enumerate(widths)) + "|")
    return lines


def survivors(outcomes):
    """Lines: those of one reason together."""
    alive = [(obj, o) for obj, o in outcomes if not o.killed]
    for why in dict.fromkeys(o.why for _, o in alive):
        group = [(obj, o) for obj, o in alive if o.why == why]
        yield f"\n{len(group)} survive, {why}"
        for obj, o in group:
            yield f"    {obj.arch} {o.case.name}: {o.mutant.group}: {o.mutant.change}"
            if o.mutant.instruction >= 0:
                yield listing(obj, o.mutant.instruction)


def of_case(case, args, outcomes, dirty, progress):
    obj = Object(case.image, case.kernel)
    before = judged(case, Mutant("", "as it is", case.image)).first
    if before:
        dirty.append((case.name, obj.arch, before))
        return
    for n, mutant in enumerate(mutants(obj, args.classes, case.arrays())):
        if args.limit and n >= args.limit:
            break
        progress(
            f"{obj.arch} {case.name}: {n + 1} mutants; {sum(o.killed for _, o in outcomes)} of {len(outcomes)} killed"
        )
        outcome = judged(case, mutant)
        if not outcome.killed:
            outcome.why = reason(obj, case, mutant)
        outcomes.append((obj, outcome))


def mutate(args):
    outcomes, dirty, kernels, progress = [], [], 0, Progress()
    stopped = False
    try:
        for arch in args.arch or ["gfx1100", "gfx942"]:
            with strata.config(
                device=f"emu:{arch}", emu_budget=BUDGET, emu_timed=False, emu_seed=args.seed, emu_threads=1
            ):
                for case in (
                    (c for file in args.file for c in of_file(args, file, arch)) if args.file else built_in(arch)
                ):
                    of_case(case, args, outcomes, dirty, progress)
                    kernels += 1
    except KeyboardInterrupt:
        stopped = True
    progress("")
    if args.json:
        print(
            json.dumps(
                {
                    "kernels": kernels,
                    "unmutated": [{"kernel": k, "arch": a, "finding": f} for k, a, f in dirty],
                    "mutants": [o.to_json(obj) for obj, o in outcomes],
                },
                indent=2,
            )
        )
        return
    for line in survivors(outcomes):
        print(line)
    print(
        f"\n{len(outcomes)} mutants of {kernels} kernels{', stopped before the end' if stopped else ''}; "
        f"findings in {len(dirty)} kernels as they are"
    )
    for name, arch, finding in dirty:
        print(f"    {arch} {name}: {finding}")
    print("\n".join(table(outcomes)))
