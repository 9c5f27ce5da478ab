"""Whoever waits can be stopped, lets others run, and is not left waiting after a fork."""

import re

from tree import CHECKOUT, Tree, check, make_tree

# Files that know of interrupts, of the front end's lock and of forks, and what they stand in for.
RULES = {
    r"\bstd::(?:timed_|shared_)?mutex\b": "core/support/mutex.h has the Mutex of a process's state",
    r"\bgil_scoped_release\b": "computing() of bindings/python/front_end_p.h gives up the GIL",
}
EXCEPTIONS = {
    "core/support/mutex.h": "the Mutex itself",
    "core/support/interrupt.h": "waits, and polls",
    "core/support/parallel.cpp": "of one call, which polls",
    "runtime/search/search_compiler_p.h": "of one search, whose waits poll",
    "core/support/helpers_p.h": "held while work is handed over; a child makes its own",
    "core/uop/node.cpp": "held by readers and one writer; handles all three itself",
    "asm/emu/launch/pool.cpp": "of one launch, which polls; a child makes its own",
    "asm/emu/program/program.h": "of a program, held within a launch alone",
    "asm/emu/observe/per_chunk.h": "of a program, held within a launch alone",
    "asm/emu/memory/gds.h": "of one launch",
    "asm/emu/check/launch_checks.h": "of one launch",
    "codegen/toolchain/clang/plugin/clang_plugin.cpp": "no child of a busy process uses this library",
    "bindings/python/front_end.cpp": "what computing() is made of",
    "bindings/python/bench/launches.cpp": "a module of its own that measures",
}


def strays(tree):
    out = {}
    for file in tree.product(suffixes=(".cpp", ".h", ".inc")):
        for pattern, instead in RULES.items():
            if re.search(rf"^(?!#include)[^/\n]*{pattern}", tree.text(file), re.MULTILINE):
                out[file] = f"{file} has {pattern.strip(chr(92) + 'b')}: {instead}"
    return out


def test_state_of_the_process_is_under_a_mutex_that_can_be_left():
    check(
        strays(Tree(CHECKOUT)),
        EXCEPTIONS,
        "Use it, or list the file in this guard with the reason why nobody waits for long.",
    )


def test_strays_are_found(tmp_path):
    tree = make_tree(
        tmp_path,
        {
            "runtime/a.cpp": "#include <mutex>\nstatic std::mutex mutex;",
            "runtime/b.cpp": "Mutex m; std::lock_guard lock(m);",
            "ops/c.cpp": "// std::mutex",
            "bindings/python/d.cpp": "py::gil_scoped_release release;",
        },
    )
    assert list(strays(tree)) == ["bindings/python/d.cpp", "runtime/a.cpp"]
