"""Every example runs, checks itself and shows what it is for; the small ones stay small."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tested import QUICK_TARGET

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
SHOWS = {  # a line that a reader looks for, as a pattern
    "01_five_levels": r"\| 5 assembly, typed +\| +2 \|",
    "02_lazy_tensors": r"once more +0 kernels\n.*# +1 kernel\n",
    "03_fusion": r"(?s)x \+ 1 .* 1 +########.*exp\(\).sum\(\)",
    "04_hip_kernel": r"\n  0\.00 \.\. +0\.33 +8\d{3} #{70,85}\n",
    "05_uop_kernel": r"(?s)a block of 64 threads a row +[\d.]+ us modelled +#+\n.*__global__",
    "06_typed_assembler": (
        r"(?s)out of block 0: 126 124 122.*v_lshl_add_u32 v1, v0, 2, s3.*refused.*"
        r"\n  \w+Error: .*\n  \w+Error: "
    ),
    "07_beam": r"again +[\d.]+ us #+ +\d+\.\d\d s",
    "08_compile_and_inspect": r"(?s)gfx1100 .*gfx1201 .*gfx942 .*gfx90a .*__global__.*s_load",
    "09_single_instruction": r"row_shr:1 .* \.abcdefghijklmno \.qrstuvwxyzABCDE\n",
    "10_faults": r"(?s)MemoryFault: kernel 'off_by_one' at .*lane\s+31\s+reads.*\n +4 \| .*\n +\| +\^\n.*CompileError",
    "11_regression": r"step 100 .* y =  [23]\.\d+ x \+ -[01]\.\d+.*\n.*the second one 2\.000",
    "12_digits": r"(?s)<- taken for\n   0 +\d.*60 steps: [89]\d\.\d% of 360 digits",
    "13_characters": r"(?s)loss 4\.\d+ -> [34]\.\d+ after 12 steps; it writes:\n# Strata",
    "14_line_by_hand": r"by steps  \[ 1\.\d+ -[12]\.\d+ .*\nexactly .*\n\d kernels a step, captured 1 time",
    "15_kernel_gradient": r"its slope .*\nby differences .*\n(step .*\n)*step  40 .* (9\d|100)% of the points",
    "16_generation": r"with a cache:    1 5 9( \d+){12}\nwithout a cache: 1 5 9( \d+){12}\n",
    "17_language": r"(gfx\w+: sum and softmax agree with NumPy; the longest of 64 walks took 124 steps\n){4}",
    "18_tiled_product": r"(gfx\w+: 256 x 192 sums of 128 products agree with NumPy's in float64\n){4}",
    "19_softmax": r"(gfx\w+: \d+ GB/s modelled, agrees with NumPy in float64\n){4}",
    "20_layernorm": r"(gfx\w+: \d+ GB/s modelled, agrees with NumPy in float64\n){4}",
    "21_attention": r"(gfx\w+: 2 heads of 128 queries agree with NumPy in float64\n){4}",
    "23_tiled_mma": r"(gfx1\d+: uint8 times int8 by v_wmma.* is exact\n){2}(gfx9\w+: int8 times int8 by v_mfma.*\n){2}",
}
ONLY = {
    "amd": ["01", "06", "08"],
    "emulated": ["05", "07", "10", "19", "20"],
}  # with instructions of AMD's; with modelled times, faults
LINES = {"21_attention": 100}  # a kernel of 45 lines, and attention by NumPy
DIRECT = ["12", "13", "15", "16"]  # of more than a hundred kernels, for which clang takes half a minute
ARGUMENTS = {"12_digits": ["60"], "13_characters": ["12"]}  # fewer steps than people want


def run(*command, **environment):
    environment = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment)


def of_what(example):
    return [getattr(pytest.mark, name) for name, stems in ONLY.items() if example.stem[:2] in stems]


@pytest.mark.parametrize("example", [pytest.param(path, id=path.stem, marks=of_what(path)) for path in EXAMPLES])
def test_it_runs_and_shows_what_it_is_for(example):
    target = {"STRATA_TARGET": QUICK_TARGET} if example.stem[:2] in DIRECT else {}
    done = run(sys.executable, example, *ARGUMENTS.get(example.stem, []), **target)
    assert done.returncode == 0, done.stderr
    assert re.search(SHOWS[example.stem], done.stdout), done.stdout
    if example.stem != "03_fusion":
        assert not done.stderr
    elif done.stderr:
        assert len(re.findall(r"^r\S* +grid .* (modelled|measured) .* ms", done.stderr, re.MULTILINE)) >= 1


def test_the_small_ones_are_under_80_lines_and_say_what_to_look_at():
    for example in EXAMPLES[1:]:
        lines = example.read_text().splitlines()
        assert len(lines) < LINES.get(example.stem, 80), example.name
        assert max(map(len, lines)) <= 150, example.name
        assert "Look at" in example.read_text().split('"""')[1], example.name


def test_they_are_numbered_and_listed():
    numbers = sorted({file.name[:3] for file in EXAMPLES[0].parent.glob("[0-9]*_*") if file.suffix in (".py", ".cpp")})
    assert numbers == [f"{i:02}_" for i in range(1, len(numbers) + 1)]
    assert len({e.name[:3] for e in EXAMPLES}) == len(EXAMPLES)
    listed = run("examples/run", "--list").stdout
    for example in EXAMPLES:
        assert re.search(rf"^{example.stem} +\S.*[.?]$", listed, re.MULTILINE), listed


def test_run_helps_and_refuses_what_is_not_one_example():
    assert "examples/run --list" in run("examples/run", "--help").stdout
    for name in ("nothing", "99", "_"):
        done = run("examples/run", name)
        assert done.returncode == 2 and "is not one example" in done.stderr and "09_single_instruction" in done.stderr
