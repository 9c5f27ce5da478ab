"""Kernels are known again by all that decides their code: in memory and on disk, across processes."""

import concurrent.futures
import linecache
import os
import subprocess
import sys
import textwrap

import pytest
import strata
from strata import Tensor, lang
from tested import TARGETS, specialisations


class Settings:
    scale = 2

    def __init__(self, shift):
        self.shift = shift


FACTOR = 3
TABLE, NAMES = [1, 2], {"a": 1}
SETTINGS = Settings(5)


def helper(x):
    return x * FACTOR


def value(kernel):
    return int(kernel(Tensor.zeros(1, dtype="int32"))[0].item())


def test_a_kernel_sees_a_changed_global_helper_attribute_list_and_closure(monkeypatch):
    bound = 0

    @strata.kernel(grid=1, block=1)
    def kernel(out):
        out[0] = (
            helper(1) + TABLE[0] * 100 + NAMES["a"] * 1000 + SETTINGS.shift * 10000 + Settings.scale * 100000 + bound
        )

    module = sys.modules[__name__]
    want = 3 + 100 + 1000 + 50000 + 200000
    assert value(kernel) == want == value(kernel)
    monkeypatch.setattr(module, "FACTOR", 4)
    assert value(kernel) == want + 1 == value(kernel)
    monkeypatch.setattr(module, "helper", lambda x: x * 9)
    assert value(kernel) == want + 6 == value(kernel)
    TABLE[0] = 2
    assert value(kernel) == want + 106
    monkeypatch.setitem(NAMES, "a", 2)
    assert value(kernel) == want + 1106
    monkeypatch.setattr(SETTINGS, "shift", 6)
    assert value(kernel) == want + 11106
    monkeypatch.setattr(Settings, "scale", 3)
    assert value(kernel) == want + 111106
    bound = 7
    assert value(kernel) == want + 111113
    TABLE[0] = 1
    assert value(kernel) == want + 111013


def test_a_name_that_the_kernel_does_not_read_traces_nothing(monkeypatch):
    @strata.kernel(grid=1, block=1)
    def kernel(out):
        out[0] = helper(out.shape[0])

    assert value(kernel) == 3
    monkeypatch.setattr(sys.modules[__name__], "shape", 1, raising=False)
    assert value(kernel) == 3 and specialisations(kernel) == 1


def test_a_function_without_its_source_is_another_kernel(tmp_path):
    text = "from strata import lang\ndef body(out):\n    for i in lang.range(3):\n        out[i] = i\n"
    keys = []
    for name in (str(tmp_path / "a.py"), str(tmp_path / "b.py"), "<no file>"):
        if name.startswith(str(tmp_path)):
            open(name, "w").write(text)
        names = {}
        exec(compile(text, name, "exec"), names)
        kernel = strata.kernel(names["body"], grid=1, block=1)
        keys.append(strata.compile(kernel, lang.TensorSpec(3, "int32"), arch="gfx1100").cache_key)
    assert keys[0] == keys[1] != keys[2]


PROGRAM = """
import sys
import strata
from strata import Tensor, lang

SCALE = {scale}
traces = []

def helper(x):
    return x * SCALE{more}

@strata.kernel(grid=lambda out, n, twice: n, block=4)
def kernel(out, n, twice: lang.Constexpr = {twice}):
    out[lang.block_idx.x, lang.thread_idx.x] = helper(lang.thread_idx.x) + lang.grid_dim.x * twice + n

from strata.lang import _functions
whole = _functions.rewritten
import strata.lang._kernel as _kernel
def counted(f, always=False):
    traces.append(f)
    return whole(f, always)
_kernel.rewritten = counted
(out,) = kernel(Tensor.zeros(3, 4, dtype="int32"), 3)
(out,) = kernel(out, 3)
print(out.numpy().tolist(), len(traces))
"""


@pytest.fixture
def ran(tmp_path):
    if not strata._strata._lang.toolchain_of("gfx1100"):
        with strata.config(cache_dir=str(tmp_path / "cache"), no_cache=False):
            if not strata._strata._lang.toolchain_of("gfx1100"):
                pytest.skip("this build has no build id, so nothing is kept on disk")

    def run(arch="gfx1100", target="asm", name="program.py", **changes):
        file = tmp_path / name
        file.write_text(textwrap.dedent(PROGRAM).format(**{"scale": 2, "more": "", "twice": 10, **changes}))
        given = {k: v for k, v in os.environ.items() if k != "STRATA_NO_CACHE"}
        given |= {"STRATA_CACHE_DIR": str(tmp_path / "cache"), "STRATA_DEVICE": f"emu:{arch}", "STRATA_TARGET": target}
        done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, env=given)
        assert done.returncode == 0, done.stderr
        values, _, traces = done.stdout.strip().rpartition(" ")
        return eval(values), int(traces)

    return run


def want(scale=2, twice=10):
    return [[t * scale + 3 * twice + 3 for t in range(4)] for _ in range(3)]


def test_another_process_neither_traces_nor_compiles(ran):
    assert ran() == (want(), 1)
    assert ran() == (want(), 0)
    assert ran(name="moved.py") == (want(), 0)


def test_what_decides_the_code_makes_another_kernel(ran):
    assert ran() == (want(), 1)
    for changes in (
        {"scale": 3},
        {"more": " * 1"},
        {"twice": 11},
        {"arch": "gfx942"},
    ):
        found, traces = ran(**changes)
        assert traces == 1 and found == want(changes.get("scale", 2), changes.get("twice", 10)), changes
    assert ran() == (want(), 0)


def test_eight_processes_at_once_have_the_same_values(ran):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda i: ran(name=f"program{i}.py"), range(8)))
    assert [values for values, _ in results] == [want()] * 8
    assert ran() == (want(), 0)


KEYED = """
import types
import strata
from strata import lang

FACTOR, BOX = {factor}, types.SimpleNamespace(shift={shift})

def helper(x):
    return x {operation} FACTOR

def made():
    inside = {inside}

    @strata.kernel(grid=1, block={block}{hints})
    def kernel(out, constant: lang.Constexpr, number):
        i = lang.thread_idx.x
        out[i] = helper(i) + BOX.shift + inside + constant + number{more}

    return kernel

kernel = made()
unread = {unread}
"""
BASE = {
    **{"factor": 2, "shift": 3, "operation": "*", "inside": 4, "block": 64, "hints": "", "more": "", "unread": 0},
    **{"dtype": "int32", "size": 64, "constant": 5, "number": 6, "arch": "gfx1100", "target": "asm", "settings": {}},
}
INGREDIENTS = {
    "bytes of the function": {"more": " + 0 * i"},
    "a helper": {"operation": "+"},
    "a global": {"factor": 3},
    "a closure": {"inside": 5},
    "an attribute": {"shift": 4},
    "an argument's type": {"dtype": "int64"},
    "an argument's shape": {"size": 128},
    "a constant": {"constant": 6},
    "the type of a constant": {"constant": True},
    "the type of a number": {"number": 6.5},
    "the width of a number": {"number": 2**40},
    "the block": {"block": 32},
    "a hint": {"hints": ", registers=64"},
    "the arch": {"arch": "gfx942"},
    **({"the target": {"target": "hip"}} if "hip" in TARGETS else {}),
}
SAME = {
    "another number": {"number": 7},
    "a name that it does not read": {"unread": 1},
    "a setting that decides no code": {"settings": {"emu_seed": 7, "debug": 0, "garbage_mb": 99}},
}


def key_of(file, **changes):
    given = BASE | changes
    text = KEYED.format(**given)
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"__name__": "keyed"}
    exec(compile(text, file, "exec"), space)
    spec = lang.TensorSpec((given["size"],), given["dtype"])
    with strata.config(**given["settings"]):
        return strata.compile(
            space["kernel"], spec, given["constant"], given["number"], arch=given["arch"], target=given["target"]
        ).cache_key


def test_each_ingredient_makes_another_key(tmp_path):
    keys = {name: key_of(str(tmp_path / f"{i}.py"), **changes) for i, (name, changes) in enumerate(INGREDIENTS.items())}
    base = key_of(str(tmp_path / "base.py"))
    assert base not in keys.values(), [name for name, key in keys.items() if key == base]
    assert len(set(keys.values())) == len(keys)


@pytest.mark.parametrize("name", SAME)
def test_what_decides_no_code_is_not_in_the_key(tmp_path, name):
    assert key_of(str(tmp_path / "one.py")) == key_of(str(tmp_path / "other.py"), **SAME[name])
