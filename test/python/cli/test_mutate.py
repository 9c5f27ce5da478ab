"""strata mutate: what strict mode and the linter find of kernels with one thing wrong."""

import json
import re

import pytest
import strata
from strata_tools.mutate import Mutant, judged, listing, table
from strata_tools.mutate.cases import Case, built_in
from strata_tools.mutate.code import Object
from strata_tools.mutate.mutants import CLASSES, mutants
from strata_tools.mutate.survive import reason
from test_cli import ok, strata as command

# Each lane takes what a lane of the other wave loaded, and an offset that it wrote itself.
SWAPPED = {
    "gfx1100": """
    s_load_b128 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v3, 2, v0
    v_xor_b32 v4, 0x84, v3
    s_waitcnt lgkmcnt(0)
    global_load_b32 v5, v3, s[6:7]
    s_waitcnt vmcnt(0)
    ds_store_b32 v3, v5
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_load_b32 v6, v4
    s_waitcnt lgkmcnt(0)
    global_store_b32 v3, v6, s[4:5]
    s_nop 0
    s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)
    s_endpgm
""",
    "gfx942": """
    s_load_dwordx4 s[4:7], s[0:1], 0x0
    v_lshlrev_b32 v3, 2, v0
    v_xor_b32 v4, 0x104, v3
    s_waitcnt lgkmcnt(0)
    global_load_dword v5, v3, s[6:7]
    s_waitcnt vmcnt(0)
    ds_write_b32 v3, v5
    s_waitcnt lgkmcnt(0)
    s_barrier
    ds_read_b32 v6, v4
    s_waitcnt lgkmcnt(0)
    v_mov_b32 v7, v6
    s_nop 1
    v_mov_b32_dpp v8, v7 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1
    global_store_dword v3, v8, s[4:5]
    s_endpgm
""",
}


def swapped(arch, text=None):
    block = 64 if arch == "gfx1100" else 128
    a = strata.asm.Assembler(arch, name="swapped", block=block, grid=1)
    for name in ("out", "x"):
        a.argument(name)
    a.lds(4 * block)
    a.emit_text(text or SWAPPED[arch])
    return Case("swapped", a.finish(), "swapped", (1,), (block,), (f"f32[{block}]", f"f32[{block}]=random"))


@pytest.fixture(params=SWAPPED)
def arch(request):
    with strata.config(device=f"emu:{request.param}", emu_budget=1 << 20):
        yield request.param


def test_a_kernel_as_it_is_has_no_findings(arch):
    case = swapped(arch)
    assert judged(case, Mutant("", "", case.image)).first == ""


@pytest.mark.parametrize("group", CLASSES)
def test_every_mutant_of_a_small_kernel_is_killed(arch, group):
    case = swapped(arch)
    obj = Object(case.image)
    made = list(mutants(obj, [group], case.arrays()))
    assert len(made) >= {"waits": 8, "barriers": 1, "hazards": 1, "uninitialised": 3, "bounds": 8}[group]
    for mutant in made:
        outcome = judged(case, mutant)
        why = "" if outcome.killed else reason(obj, case, mutant)
        before_barrier = "s_barrier" in listing(obj, mutant.instruction) and why.startswith("same: local memory")
        assert (outcome.killed and outcome.first) or before_barrier, (
            mutant.change,
            listing(obj, mutant.instruction),
            why,
        )


def test_a_mutant_differs_from_its_kernel_in_one_place(arch):
    case = swapped(arch)
    obj = Object(case.image)
    for mutant in mutants(obj, CLASSES, case.arrays()):
        if mutant.image is None:
            assert mutant.cut in case.arrays()
            continue
        assert len(mutant.image) == len(case.image)
        changed = {n for n, (a, b) in enumerate(zip(mutant.image, case.image)) if a != b}
        assert changed
        if mutant.instruction >= 0:
            i = obj.code[mutant.instruction]
            after = obj.code[mutant.instruction + 1]
            end = after.offset + (after.size if "next instruction" in mutant.change else 0)
            assert all(i.offset <= at < end for at in changed)


def test_a_wait_that_another_covers_is_told_from_one_that_is_missed(arch):
    text = SWAPPED[arch].replace("s_waitcnt vmcnt(0)", "s_waitcnt vmcnt(0)\n    s_waitcnt vmcnt(0)")
    case = swapped(arch, text)
    obj = Object(case.image)
    verdicts = {}
    for mutant in mutants(obj, ["waits"]):
        killed = judged(case, mutant).killed
        assert killed == (not reason(obj, case, mutant).startswith("same")), mutant.change
        verdicts.setdefault(killed, []).append(mutant)
    assert len(verdicts[False]) == 6  # each of the two, and the wait before the barrier, deleted and weakened


def test_the_built_in_kernels_are_many_and_of_all_kinds(arch):
    cases = list(built_in(arch))
    assert len(cases) >= 45
    assert len({case.name for case in cases}) == len(cases)
    texts = [i.text for case in cases for i in Object(case.image, case.kernel).code]
    for words in ("s_barrier", "ds_", "scratch_", "s_cbranch", "wmma" if arch == "gfx1100" else "mfma"):
        assert any(words in text for text in texts), words


def test_the_command_prints_a_table_and_survivors(tmp_path):
    (tmp_path / "k.hip").write_text('extern "C" __global__ void k(float* x) { x[threadIdx.x] *= 2; }\n')
    out = ok(command("mutate", "k.hip", "--arch", "gfx1100", "--block", "64", "--arg", "f32[64]=random", cwd=tmp_path))
    assert "mutants of 1 kernels; findings in 0 kernels as they are" in out
    assert re.search(r"\| gfx1100 \| waits +\| +(\d+) \| +0 \| +\1 \|.* 100.0 % \|", out)
    assert "barriers" not in out


def test_json_has_each_mutant(tmp_path):
    (tmp_path / "k.hip").write_text('extern "C" __global__ void k(float* x) { x[threadIdx.x] *= 2; }\n')
    done = json.loads(
        ok(
            command(
                "mutate",
                "k.hip",
                "--arch",
                "gfx942",
                "--classes",
                "waits,bounds",
                "--block",
                "64",
                "--arg",
                "f32[64]=random",
                "--json",
                cwd=tmp_path,
            )
        )
    )
    assert (done["kernels"], done["unmutated"]) == (1, [])
    assert {m["class"] for m in done["mutants"]} == {"waits", "bounds"}
    for m in done["mutants"]:
        assert set(m) == {
            "kernel",
            "arch",
            "class",
            "change",
            "number",
            "pc",
            "instruction",
            "lint",
            "strict",
            "finding",
            "reason",
        }
        assert (m["arch"], m["kernel"]) == ("gfx942", "k.hip: k")
        assert (m["lint"] or m["strict"]) == bool(m["finding"]) != bool(m["reason"])


def test_a_kernel_with_a_finding_is_named_and_not_mutated(tmp_path):
    (tmp_path / "k.hip").write_text('extern "C" __global__ void k(float* x) { x[threadIdx.x + 1] *= 2; }\n')
    out = ok(command("mutate", "k.hip", "--arch", "gfx1100", "--block", "64", "--arg", "f32[64]", cwd=tmp_path))
    assert "0 mutants of 1 kernels; findings in 1 kernels as they are" in out and "k.hip: k: MemoryFault" in out


def test_a_file_without_kernels_is_refused(tmp_path):
    (tmp_path / "none.co").write_bytes(b"not an object")
    done = command("mutate", "none.co", cwd=tmp_path)
    assert done.returncode == 1 and "UsageError: none.co has no kernels" in done.stderr, done.stderr


def test_wrong_classes_are_refused(tmp_path):
    done = command("mutate", "--classes", "waits,typos", cwd=tmp_path)
    assert done.returncode == 2 and "expected one or more of waits,barriers" in done.stderr


def test_a_table_counts_what_is_the_same_program_apart():
    case = swapped("gfx1100")
    with strata.config(device="emu:gfx1100"):
        obj = Object(case.image)
    outcomes = []
    for n in range(4):
        outcome = judged(case, Mutant("waits", "", case.image))
        outcome.lint, outcome.why = n < 2, "same: covered" if n == 3 else ""
        outcomes.append((obj, outcome))
    assert [cell.strip() for cell in table(outcomes)[-1].split("|")[1:-1]] == [
        "gfx1100",
        "waits",
        "4",
        "1",
        "2",
        "2",
        "0",
        "66.7 %",
    ]
