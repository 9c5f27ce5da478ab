"""Faults, findings of strict mode, profiles and errors of later stages name the user's line. They do on every
architecture and by both ways to machine code."""

import functools
import inspect
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import strata
from strata import Tensor, lang, uop
from tested import TARGETS

ARCHS = ("gfx1100", "gfx1201", "gfx942", "gfx90a")
EVERYWHERE = [(arch, target) for arch in ARCHS for target in TARGETS]


def line_of(function, marker="# here"):
    """(line, text) of the function's line with the marker."""
    lines, first = inspect.getsourcelines(inspect.unwrap(getattr(function, "function", function)))
    found = [i for i, text in enumerate(lines) if marker in text]
    assert len(found) == 1
    return first + found[0], lines[found[0]].rstrip()


def neighbour(a, i):
    return a[i + 3] + 1  # here


@strata.kernel(grid=1, block=64)
def leaves(out: lang.Tensor, a: lang.Tensor):
    i = lang.thread_idx.x
    x = lang.exp(a[i])  # before
    out[i] = neighbour(a, i) + x


@strata.kernel(grid=1, block=64)
def stores_outside(out: lang.Tensor, a: lang.Tensor):
    i = lang.thread_idx.x
    x = a[i] * 2

    out[i + 1] = x  # here


@strata.kernel(grid=1, block=128)
def races(out: lang.Tensor, a: lang.Tensor):
    row, i = lang.shared(128, "float32"), lang.thread_idx.x
    row[i] = a[i % 64]  # first
    x = row[127 - i]  # here
    lang.barrier()
    out[i % 64] = x


@strata.kernel(grid=1, block=64)
def half_written(out: lang.Tensor, a: lang.Tensor):
    row, i = lang.shared(64, "float32"), lang.thread_idx.x
    if i < 32:
        row[i] = a[i]
    lang.barrier()
    x = row[i]  # here
    out[i] = x  # use


def launched(kernel, arch, target, error):
    with strata.config(device=f"emu:{arch}", target=target, check="raise"):
        with pytest.raises(error) as found:
            kernel(Tensor.zeros(64), Tensor(np.arange(64, dtype="float32")))[0].numpy()
    return str(found.value)


def expect_place(text, function, marker="# here", columns=None):
    line, source = line_of(function, marker)
    assert f"{__file__}:{line}" in text, text
    if columns:
        at = source.index(columns)
        assert f"    {source}\n    {' ' * at}{'^' * len(columns)}" in text, text


@pytest.mark.parametrize(("arch", "target"), EVERYWHERE)
def test_a_fault_names_the_line_and_columns_of_the_load_even_in_a_helper(arch, target):
    text = launched(leaves, arch, target, strata.MemoryFault)
    if target == "hip" and arch.startswith("gfx1"):  # clang gives all loads of an s_clause the line of the first
        return expect_place(text, leaves, "# before", columns="a[i]")
    expect_place(text, neighbour, columns="a[i + 3]")


@pytest.mark.parametrize(("arch", "target"), EVERYWHERE)
def test_a_fault_names_the_line_of_the_store(arch, target):
    text = launched(stores_outside, arch, target, strata.MemoryFault)
    expect_place(text, stores_outside, columns="out[i + 1]")


@pytest.mark.parametrize(("arch", "target"), EVERYWHERE)
def test_a_race_names_both_lines(arch, target):
    text = launched(races, arch, target, strata.CheckError)
    expect_place(text, races, "# first")
    expect_place(text, races)


@pytest.mark.parametrize(("arch", "target"), EVERYWHERE)
def test_a_read_of_what_nothing_wrote_names_where_it_is_read_and_used(arch, target):
    text = launched(half_written, arch, target, strata.CheckError)
    expect_place(text, half_written)
    expect_place(text, half_written, "# use")


@pytest.mark.parametrize("kernel", [leaves, stores_outside, half_written], ids=lambda k: k.__name__)
def test_the_reference_names_the_same_line(kernel):
    block = 64
    with pytest.raises((strata.MemoryFault, strata.CheckError)) as found:
        kernel.interpret(Tensor.zeros(64), Tensor(np.arange(64, dtype="float32")), grid=1, block=block)
    expect_place(str(found.value), neighbour if kernel is leaves else kernel)


@pytest.mark.parametrize("target", TARGETS)
def test_a_profile_has_the_lines_of_the_kernel(target):
    @strata.kernel(grid=1, block=64)
    def double(out: lang.Tensor, a: lang.Tensor):
        i = lang.thread_idx.x
        x = a[i]  # load
        out[i] = x + x  # store

    with strata.config(device="emu:gfx1100", target=target):
        with strata.profile() as profile:
            double(Tensor.zeros(64), Tensor.ones(64).contiguous())[0].numpy()
    rows = [row for launch in profile.launches if launch["kernel"] == "double" for row in launch["instructions"]]
    lines = {row["line"]: row["instruction"] for row in rows if row["file"] == __file__}
    assert {line_of(double, "# load")[0], line_of(double, "# store")[0]} <= set(lines)


def test_equal_kernels_share_their_code_and_each_names_its_own_line():
    def first(out: lang.Tensor, a: lang.Tensor):
        i = lang.thread_idx.x
        out[i] = a[i + 1]  # here

    def second(out: lang.Tensor, a: lang.Tensor):
        i = lang.thread_idx.x

        out[i] = a[i + 1]  # here

    second.__name__ = "first"
    kernels = [strata.kernel(f, grid=1, block=64) for f in (first, second)]
    graphs = [k.graph(lang.TensorSpec(64), lang.TensorSpec(64)) for k in kernels]
    assert graphs[0] is graphs[1] or graphs[0].tree() == graphs[1].tree()
    for function, kernel in zip((first, second), kernels):
        expect_place(launched(kernel, "gfx1100", "asm", strata.MemoryFault), function)
    for target in TARGETS:
        objects = [
            strata.compile(k.compiled(lang.TensorSpec(64), lang.TensorSpec(64)), arch="gfx1100", target=target)
            for k in kernels
        ]
        assert objects[0].source == objects[1].source and objects[0].assembly == objects[1].assembly


def test_a_kernel_of_nodes_names_the_line_of_its_function():
    def shifted(out, a):
        i = uop.special("lidx0", 64)
        value = uop.load(a[i + 1])  # here
        return uop.sink(uop.store(out[i], value))

    with strata.config(device="emu:gfx1100", target="asm"):
        with pytest.raises(strata.MemoryFault) as found:
            Tensor.zeros(64).custom_kernel(Tensor.ones(64).contiguous(), kernel=shifted)[0].numpy()
    expect_place(str(found.value), shifted)


def test_an_error_of_a_later_stage_names_the_line():
    @strata.kernel(grid=1, block=64)
    def large(out: lang.Tensor):
        row, i = lang.shared(30000, "float32"), lang.thread_idx.x
        row[i] = 1  # here
        lang.barrier()
        out[i] = row[i]

    with strata.config(device="emu:gfx1100"):
        with pytest.raises(strata.Error) as found:
            large(Tensor.zeros(64))[0].numpy()
    expect_place(str(found.value), large, columns="row[i]")
    assert "120000 bytes of local memory" in str(found.value)
    assert found.value.line == line_of(large)[0]


def test_a_line_of_many_bytes_and_a_wrapped_expression_have_places():
    @strata.kernel(grid=1, block=64)
    def wraps(out: lang.Tensor, a: lang.Tensor):
        i = lang.thread_idx.x
        out[i] = a[  # ä here
            i + 1
        ]

    text = launched(wraps, "gfx1100", "asm", strata.MemoryFault)
    expect_place(text, wraps, "# ä here")
    assert re.search(r"\n +\^+$", text)


@functools.cache
def of_no_file():
    scope = {"lang": lang}
    exec("def made(out: lang.Tensor, a: lang.Tensor):\n    i = lang.thread_idx.x\n    out[i] = a[i + 1]\n", scope)
    return strata.kernel(scope["made"], grid=1, block=64)


def test_a_function_without_a_file_names_its_line_alone():
    text = launched(of_no_file(), "gfx1100", "asm", strata.MemoryFault)
    assert "<string>:3" in text and "^" not in text


MOVED = """{above}import strata
from strata import Tensor, lang


def neighbour(x, i):
    return x[i + 1]{comment}


@strata.kernel(grid=1, block=64)
def shift(out, x):
    i = lang.thread_idx.x
    out[i] = neighbour(x, i)


try:
    shift(Tensor.zeros(64), Tensor.zeros(64).contiguous())[0].numpy()
except strata.MemoryFault as fault:
    print(fault)
print("from disk:", len(shift._loaded))
"""


def test_a_kernel_from_disk_names_the_line_where_its_source_is_now(tmp_path):
    def run(name, **changes):
        file = tmp_path / name
        file.write_text(MOVED.format(**{"above": "", "comment": "", **changes}))
        given = {k: v for k, v in os.environ.items() if k != "STRATA_NO_CACHE"}
        given |= {"STRATA_CACHE_DIR": str(tmp_path / "cache"), "STRATA_DEVICE": "emu:gfx1100", "STRATA_TARGET": "asm"}
        done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, env=given)
        assert done.returncode == 0, done.stderr
        return done.stdout

    first = run("first.py")
    assert f"{tmp_path}/first.py:6" in first and "from disk: 0" in first
    moved = run("second.py", above="# a line\n\n")
    if "from disk: 0" in moved:
        pytest.skip("this build has no build id, so nothing is kept on disk")
    assert f"{tmp_path}/second.py:8" in moved and "    return x[i + 1]\n               ^^^^^^^^\n" in moved
    changed = run("third.py", comment="  # another text")
    assert "from disk: 1" in changed and "third.py" not in changed
