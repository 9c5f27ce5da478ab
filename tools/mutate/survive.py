"""Whether a mutant that nothing found is the same program, and what is known of it where it is not.

Facts about waits come from reading the code and not from the linter's knowledge. They say whether a result is used
before another wait covers it. What is said of the others comes from running them.
"""

import re
from functools import cache

import numpy as np
import strata
from strata import asm

from .cases import values

ORDERS = 16
COVERS = {"s_waitcnt_vscnt": "vscnt", "s_waitcnt_vmcnt": "vmcnt", "s_waitcnt_lgkmcnt": "lgkmcnt",
          "s_waitcnt_expcnt": "expcnt",
          **{f"s_wait_{name}": name for name in ("loadcnt", "storecnt", "samplecnt", "bvhcnt", "expcnt", "dscnt",
                                                 "kmcnt")}}  # fmt: skip


def counts(text):
    """The counters that a wait waits for: {"vmcnt": 0}."""
    mnemonic, _, rest = text.partition(" ")
    if mnemonic in ("s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt"):
        return {mnemonic.split("_")[2]: int(rest, 0) >> 8, "dscnt": int(rest, 0) & 63}
    if mnemonic in COVERS:
        return {COVERS[mnemonic]: int(rest.split(",")[-1], 0)}
    return (
        {name: int(count) for name, count in re.findall(r"(\w+cnt)\((\d+)\)", rest)} if mnemonic == "s_waitcnt" else {}
    )


@cache
def counters(name, arch, returns):
    """The counters that a memory instruction adds to."""
    try:
        forms = asm.describe(name, arch)
    except strata.Error:
        return frozenset()
    found = set().union(*(form["counters"] for form in forms))
    if "atomic" in name and {"vmcnt", "vscnt"} <= found:
        found -= {"vscnt"} if returns else {"vmcnt"}
    return frozenset(found)


@cache
def has_result(name, arch):
    """Whether a memory instruction of local memory fills registers."""
    return any(form["destinations"] for form in asm.describe(name, arch))


class Flow:
    """Ways through a kernel's code."""

    def __init__(self, obj):
        self.code = obj.code
        at = {i.address: n for n, i in enumerate(obj.code)}
        self.next, self.before = [], [[] for _ in obj.code]
        for n, i in enumerate(obj.code):
            follows = [] if i.mnemonic in ("s_endpgm", "s_branch", "s_setpc_b64") else [n + 1]
            if i.target() is not None:
                follows.append(at.get(i.target(), -1))
            self.next.append([k for k in follows if 0 <= k < len(obj.code)])
            for k in self.next[-1]:
                self.before[k].append(n)

    def reach(self, start, ways, stop):
        """Instructions that are reached from one, none beyond where `stop` holds."""
        left, seen = list(ways[start]), set()
        while left:
            n = left.pop()
            if n in seen or stop(self.code[n]):
                continue
            seen.add(n)
            left += ways[n]
        return [self.code[n] for n in sorted(seen)]

    def youngest(self, start, most, adds, stop):
        """The last `most` instructions of a kind before one, on any way that leads to it."""
        left, seen = [(n, 0) for n in self.before[start]], set()
        while left:
            n, passed = left.pop()
            if (n, passed) in seen or passed >= most or stop(self.code[n]):
                continue
            seen.add((n, passed))
            left += [(k, passed + adds(self.code[n])) for k in self.before[n]]
        return [self.code[n] for n in sorted({n for n, _ in seen}) if adds(self.code[n])]


def waits_less(obj, n, mutant):
    """Counters for which the mutant's wait lets more through, each with the count it had and the one it has."""
    was = counts(obj.code[n].text)
    now = counts(mutant.change.removeprefix("weakened to ")) if mutant.change != "deleted" else {}
    return {name: (count, now.get(name, 99)) for name, count in was.items() if now.get(name, 99) > count}


def of_wait(obj, mutant):
    n, flow, verdicts = mutant.instruction, Flow(obj), []
    for counter, (count, lets_through) in waits_less(obj, n, mutant).items():
        covers = lambda i: counts(i.text).get(counter, 99) <= count  # noqa: E731
        adds = lambda i: counter in counters(i.name, obj.arch, "sc0" in i.text or " glc" in i.text)  # noqa: E731
        ended = lambda i: counts(i.text).get(counter, 99) == 0  # noqa: E731
        waited = [i for i in flow.reach(n, flow.before, ended) if adds(i)]
        if not any(i.name.startswith("s_") for i in waited):  # those end in any order
            waited = flow.youngest(n, lets_through, adds, ended)
        if not waited:
            verdicts.append("same: nothing is under way that it waits for")
            continue
        stores = [i for i in waited if re.search(r"store|_write|atomic", i.name)]
        filled = set().union(
            *(i.first for i in waited if i not in stores and has_result(i.name, obj.arch)),
            *(i.all for i in stores if "atomic" in i.name and i.first),
        )
        after = flow.reach(n, flow.next, covers)
        if any(i.all & filled for i in after):
            verdicts.append("though a register that it waits for is used")
        elif not any(i.mnemonic.startswith("s_barrier") for i in after):
            verdicts.append("same: another wait, or the end, comes before what it waits for is used")
        elif all(i.mnemonic.startswith("ds_") for i in waited):
            verdicts.append(
                "same: local memory takes the operations of all waves in one order, a barrier needs no wait"
            )
        elif all(i in stores or i.mnemonic.startswith("ds_") for i in waited):
            verdicts.append("though a barrier follows: another wave may load global memory that is still stored to")
        else:
            verdicts.append("same: loads of global memory alone are under way at the barrier, and wait for their use")
    return next(
        (v for v in verdicts if not v.startswith("same")),
        verdicts[0] if verdicts else "though a register that it waits for is used",
    )


def results(case, image, seed, cut=-1):
    """The bytes of all arguments after a launch without strict mode, in one order of the waves."""
    kernel = strata.asm_kernel(image, name=case.kernel, grid=case.grid, block=case.block, lds=case.lds)
    arguments = values(case, cut)
    with strata.config(emu_seed=seed, check="off"):
        kernel(*arguments)
        return [np.asarray(a.numpy()).tobytes() for a in arguments if isinstance(a, strata.Tensor)]


def differs(case, mutant):
    """Whether any order of waves gives other results than the kernel that was not changed."""
    expected = results(case, case.image, 0)
    for seed in range(ORDERS if mutant.group == "barriers" else 1):
        got = results(case, mutant.image or case.image, seed, mutant.cut)
        if any(a != b[: len(a)] for a, b in zip(got, expected, strict=True)):
            return True
    return False


def reason(obj, case, mutant):
    if mutant.group == "waits":
        return of_wait(obj, mutant)
    if mutant.group == "hazards":
        return "the compiler keeps a distance that no rule of the documents asks for"
    if not case.specs:
        return "only the linter saw it"
    if differs(case, mutant):
        return "though the results differ"
    return {
        "barriers": f"same: its waves use no bytes of one another there; the results have the same bits in {ORDERS} "
        f"orders of waves",
        "uninitialised": "same: what is missing is not chosen, the results have the same bits",
        "bounds": "same: nothing uses what is missing, the results have the same bits",
    }[mutant.group]
