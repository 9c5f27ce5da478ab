"""strata opt: passes of the compiler on a kernel's graph, from standard input to standard output."""

import json
import sys

from .. import Error, _strata, uop


def _listed():
    """The passes, a line each: name, and what holds after it."""
    linear, lower = uop._passes()
    width = max(len(name) for name, _ in linear + lower)
    out = []
    for stage, passes in (("codegen/linear, on graphs", linear), ("codegen/lower, on instructions", lower)):
        out.append(f"{stage}:")
        out += [f"  {name:<{width}}  {invariant}" for name, invariant in passes]
    return "\n".join(out)


def _read(text):
    if not text.strip():
        raise _strata.UsageError(
            "no graph came: pipe in what UOp.to_json() or UOp.tree() gives, as of kernel.graph(...)"
        )
    return uop.from_json(text) if text.lstrip().startswith("{") else uop.from_tree(text)


def _compared(before, after, arch):
    blocks = tuple(min(size, 2) for size in json.loads(before.to_json())["launch"]["grid"])
    uop._compare(before, after, blocks, _strata._lang.wave_size_of(arch))


def opt(args):
    """Prints the graph after the named passes in the form in which it came, or instructions after a pass of lower."""
    if args.list:
        print(_listed())
        return 0
    linear, lower = ([name for name, _ in passes] for passes in uop._passes())
    names = [name.strip() for name in args.passes.split(",") if name.strip()] if args.passes else []
    unknown = [name for name in names if name not in linear + lower]
    if unknown:
        print(f"strata: there is no pass '{unknown[0]}'; those there are: {', '.join(linear + lower)}", file=sys.stderr)
        return 1
    last = [name for name in names if name in lower]
    if last and (names[-1] != last[-1] or len(last) > 1):
        print(
            "strata: a pass of lower comes last: it runs after all of codegen/linear and those before it",
            file=sys.stderr,
        )
        return 1
    try:
        text = sys.stdin.read()
        before = _read(text)
        after = uop._run_passes(before, [name for name in names if name in linear], args.arch)
        if args.interpret:
            _compared(before, after, args.arch)
        if last:
            print(uop._lowered_until(after, last[0], args.arch), end="")
        else:
            print(after.to_json() if text.lstrip().startswith("{") else after.tree(), end="")
    except Error as error:
        print(f"strata: {error}", file=sys.stderr)
        return 1
    return 0
