"""The smallest program that still differs, and Python that shows it."""

import re
from dataclasses import replace

import bounded
import numpy as np
from bounded_functions import REFERENCE
from program_run import WAYS, References, check, settings_of
from program_text import Input, made

TRIES = 400


def values(program):
    """The name, shape and type of each value where it is made, inputs first."""
    scope = {"strata": REFERENCE, "k": program.number}
    arrays = program.arrays()
    for name, x in program.inputs.items():
        scope[name] = bounded.Bounded(arrays[name], x.dtype)
    found = {name: (scope[name].shape, scope[name].dtype) for name in program.inputs}
    with np.errstate(all="ignore"):
        for line in program.lines:
            exec(line, scope)
            if made(line):
                found[made(line)] = scope[made(line)].shape, scope[made(line)].dtype
    return found


def renamed(text, old, new):
    return re.sub(rf"\b{old}\b", new, text)


def without(program, i, new):
    """The program whose line i is gone, with another value in the place of its own."""
    old = made(program.lines[i])
    lines = (*program.lines[:i], *(renamed(line, old, new) for line in program.lines[i + 1 :]))
    return replace(program, lines=lines, results=tuple(dict.fromkeys(new if r == old else r for r in program.results)))


def smaller(program):
    """Programs that are smaller in one respect."""
    for r in program.results if len(program.results) > 1 else ():
        yield replace(program, results=tuple(x for x in program.results if x != r))
    if program.by:
        yield replace(program, by=())
        yield from (
            replace(program, by=tuple(x for x in program.by if x != b)) for b in program.by if len(program.by) > 1
        )
    shapes = values(program)
    for i in reversed(range(len(program.lines))):
        name = made(program.lines[i])
        if not name:
            yield replace(program, lines=(*program.lines[:i], *program.lines[i + 1 :]))
            continue
        before = [*program.inputs, *filter(None, map(made, program.lines[:i]))]
        yield from (without(program, i, other) for other in before if shapes[other] == shapes[name])
        yield from (
            replace(program, results=(other,))
            for other in before
            if other in shapes and program.results == (name,) and other.startswith("v")
        )
        new, (shape, dtype) = f"x{1 + max(int(n[1:]) for n in program.inputs)}", shapes[name]
        sizes = {**program.sizes, **{f"{new}_{k}": n for k, n in enumerate(shape)}}
        inputs = {**program.inputs, new: Input(tuple(f"{new}_{k}" for k in range(len(shape))), dtype)}
        yield replace(without(program, i, new), sizes=sizes, inputs=inputs)
    yield from narrower(program)


def narrower(program):
    """Smaller sizes, fewer types, a plainer number."""
    for name, n in program.sizes.items():
        for fewer in sorted({1, 2, 3, n // 2, n - n // 8, n - 1}):
            if 0 < fewer < n:
                yield replace(program, sizes={**program.sizes, name: fewer})
                same = [other for other, size in program.sizes.items() if size == n]
                if len(same) > 1:
                    yield replace(program, sizes={**program.sizes, **dict.fromkeys(same, fewer)})
    for name, x in program.inputs.items():
        if x.scale != 1:
            yield replace(program, inputs={**program.inputs, name: replace(x, scale=1.0)})
    floats = {x.dtype for x in program.inputs.values()} & set(bounded.FLOATS) - {"float32"}
    if floats:
        yield replace(
            program,
            inputs={n: replace(x, dtype="float32") if x.dtype in floats else x for n, x in program.inputs.items()},
        )
    if program.number != 2.0:
        yield replace(program, number=2.0)


def shrunk(program, way, tries=TRIES):
    """A program that differs, made small, and its difference. Threads race: they have more turns."""

    kind = lambda found: found.split(": ")[0] if "Error" in found else "values"  # noqa: E731

    def differs(smaller):
        nonlocal tries
        tries -= 1
        try:
            references = References(smaller)
            if references.of(0) is None:
                return None
        except Exception:  # the text does not fit the sizes
            return None
        found = (check(smaller, way, references) for _ in range(8 if way.call == "threads" else 1))
        return next((now for now in found if now and kind(now) == kind(bad)), None)

    bad, going = check(program, way), True
    while going and tries > 0:
        going = False
        for candidate in smaller(program):
            candidate = candidate.used()
            if tries > 0 and candidate.inputs and candidate != program and (now := differs(candidate)):
                program, bad, going = candidate, now, True
                break
    return program, bad


def given_text(program):
    first = next(iter(program.sizes), None)
    lines = ["def given(turn=0, grown=0):", "    return ["]
    for name, x in program.inputs.items():
        shape = "".join(f"{program.sizes[n]}{' + grown' if n == first else ''}, " for n in x.shape).strip()
        lines.append(f"        {spelt(x, f'({shape})', f'[{program.seed}, turn, {name[1:]}]')},")
    return "\n".join([*lines, "    ]"])


def spelt(x, shape, seed):
    """An input as Python."""
    if x.dtype in bounded.UNIT:
        kind = x.dtype if x.dtype != "bfloat16" else "float32"
        text = f'Tensor((np.random.default_rng({seed}).standard_normal({shape}) * {x.scale}).astype("{kind}"))'
        return text if kind == x.dtype else f'{text}.cast("bfloat16")'
    low, high = {"b": (0, 2), "u": (0, 10), "i": (-9, 10)}[np.dtype(x.dtype).kind]
    return f'Tensor(np.random.default_rng({seed}).integers({low}, {high}, {shape}).astype("{x.dtype}"))'


CALLS = {
    "plain": ["show(program(*given(), {k}))"],
    "jit": ["f = strata.jit(program)", "for turn in (0, 1, 0, 2, 1):", "    show(f(*given(turn), {k}))"],
    "symbolic": ["f = strata.jit(program, symbolic=True)", "for grown in (0, 1, 0, 2, 1):",
        "    show(f(*given(0, grown), {k}))"],
    "threads": ["import threading", "settings = {{n: v for n, v in strata.settings().items() if n == 'target'}}",
        "def work(k):", "    with strata.config(**settings):", "        show(program(*given(), k))",
        "for k in (0.0, 1.0, -1.0, 0.5):", "    threading.Thread(target=work, args=(k,)).start()"],
}  # fmt: skip


def script(program, way, bad):
    """Python that runs alone: what this way gives, and what computing without fusion and schedules does."""
    settings = settings_of(way, program)
    call = [line.format(k=program.number) for line in CALLS.get(way.call, CALLS["plain"])]
    lines = ["import numpy as np", "import strata", "from strata import Tensor", "", program.text(way.call == "eager"),
        given_text(program), "",
        "def show(results):", "    print([t.cast('float64').numpy() for t in results])", "",
        f"with strata.config({', '.join(f'{n}={v!r}' for n, v in settings.items())}):",
        *("    " + line for line in call),
        f"with strata.config(target={settings['target']!r}, fusion='less', schedule='none'):",
        f"    show(program(*given(), {program.number}))"]  # fmt: skip
    return "\n".join([*lines, f"# {way.name}: {bad}"])


def report(program, way, bad):
    """All that a reader needs: the program as small as it gets, and which ways give something else."""
    small, why = shrunk(program, way)
    others = {other.name: check(small, other) for other in WAYS}
    differ = [name for name, found in others.items() if found]
    return "\n".join([f"program {program.seed}, {way.name}: {bad}", "",
            script(small, way, why or "no longer, once shrunk"), "",
            (
                f"# differ: {', '.join(differ) or 'none of them now'}; as NumPy: "
                f"{', '.join(n for n in others if n not in differ)}"
    )])  # fmt: skip
