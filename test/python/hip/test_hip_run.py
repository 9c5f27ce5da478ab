"""strata hip-run reports errors of a program before it starts it. A program that it starts gets options, signals and
terminal as they are.
"""

import os
import shutil
import signal
import struct
import subprocess
import sys

import pytest
import strata
from strata.cli.hip_run import library
from test_hip_programs import build, clean, hip_run, run  # noqa: F401

COMPILER = shutil.which("clang-19") or shutil.which("cc")
pytestmark = pytest.mark.skipif(not COMPILER, reason="needs a C compiler")

COUNTS = """#include <stdio.h>
extern int hipGetDeviceCount(int*);
int main(int count, char** arguments) {
    int devices = 0;
    printf("%d,", hipGetDeviceCount(&devices));
    printf("%d", devices);
    for (int i = 0; i < count; ++i) printf(" %s", arguments[i]);
}
"""
DEVICES = sum(name.startswith("emu:") for name in strata.devices())
OURS = (f"-L{library()}", "-lamdhip64")


def compile(folder, text, *options, name="program"):
    (folder / f"{name}.c").write_text(text)
    done = run([COMPILER, folder / f"{name}.c", "-o", folder / name, *options])
    assert done.returncode == 0, done.stderr
    return folder / name


@pytest.fixture
def counts(tmp_path):
    return compile(tmp_path, COUNTS, *OURS)


def another_hip(folder, name, *options):
    """A library of the name of HIP's that says there are 77 devices."""
    folder.mkdir(exist_ok=True)
    return compile(
        folder, "int hipGetDeviceCount(int* out) { *out = 77; return 0; }", "-shared", "-fPIC", *options, name=name
    )


def refusal(program, *options):
    """The message instead of starting it."""
    done = hip_run(*options, program)
    assert (done.returncode, done.stdout) == (1, "") and done.stderr.startswith("strata: UsageError: "), done.stderr
    return done.stderr.removeprefix("strata: UsageError: ").rstrip("\n")


def written(folder, data, mode=0o755):
    file = folder / "written"
    file.write_bytes(data)
    file.chmod(mode)
    return file


def test_a_program_that_is_not_there_or_is_a_folder_is_named(tmp_path):
    assert refusal("./nowhere") == "./nowhere: there is no such file"
    assert refusal("nowhere-at-all") == "nowhere-at-all: there is no such program, neither in PATH nor in this folder"
    assert refusal(tmp_path) == f"{tmp_path} is a folder; name the program in it"


def test_a_program_of_this_folder_is_named_as_the_shell_wants_it(counts, monkeypatch):
    monkeypatch.chdir(counts.parent)
    assert refusal("program") == "program is not in PATH; that of this folder is ./program"
    assert hip_run("./program").stdout == f"0,{DEVICES} ./program"


def test_a_file_without_the_right_to_be_executed_wants_chmod(counts):
    counts.chmod(0o644)
    assert refusal(counts) == f"{counts} is not executable; chmod +x {counts}"


@pytest.mark.parametrize(
    "data, why",
    [
        (b"", "is empty"),
        (b"int main() {}", "is neither a program (an ELF file) nor a script whose first line begins with #!"),
        (b"\x7fEL", "is neither a program"),
        (b"\x7fELF\x02", "is cut off: it has 5 bytes, and by its header at least 6"),
    ],
)
def test_what_is_no_program_is_refused(tmp_path, data, why):
    assert f"written {why}" in refusal(written(tmp_path, data))


def test_a_source_is_to_be_compiled_first(tmp_path):
    file = written(tmp_path, b"int main() {}").rename(tmp_path / "saxpy.hip")
    assert refusal(file).endswith("it seems to be a source; compile it with hipcc or clang++-19 -x hip first")


def test_scripts_run_and_their_programs_find_the_library(counts, tmp_path):
    assert (
        hip_run(written(tmp_path, f'#!/bin/sh\nexec {counts} "$@"\n'.encode()), "a", "b").stdout
        == f"0,{DEVICES} {counts} a b"
    )
    assert refusal(written(tmp_path, b"#!/no/shell -e\n")).endswith(
        "is a script of /no/shell, which does not exist; mend its first line"
    )
    assert refusal(written(tmp_path, b"#!\n")).endswith(
        "is a script of nothing, which does not exist; mend its first line"
    )


def test_a_program_of_which_any_part_is_missing_is_cut_off_or_runs(counts, tmp_path):
    data = counts.read_bytes()
    bound = max(offset + size for kind, offset, size in segments(data) if kind == 1)
    for length in (16, 20, 63, 64, 100, 500, 4096, bound // 2, bound - 1):
        assert f"is cut off: it has {length} bytes, and by its header at least " in refusal(
            written(tmp_path, data[:length])
        ), length
    assert hip_run(written(tmp_path, data[:bound])).stdout.startswith(f"0,{DEVICES} "), "sections are for debuggers"


def segments(data):
    """(type, offset, bytes) of each, as `readelf -l` prints them."""
    at, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    return [
        (struct.unpack_from("<I", data, at + i * size)[0], *struct.unpack_from("<Q16xQ", data, at + i * size + 8))
        for i in range(count)
    ]


def test_headers_with_any_wrong_byte_are_refused_or_started_but_never_a_traceback(counts, tmp_path):
    data = counts.read_bytes()
    table = next(offset for kind, offset, _ in segments(data) if kind == 2)
    places = [
        *range(4, 6),
        *range(16, 20),
        *range(32, 40),
        *range(54, 58),
        *range(64, 64 + 56 * len(segments(data)), 7),
        *range(table, table + 200, 5),
    ]
    code = (
        "import sys; from strata import Error; from strata.cli import elf; from pathlib import Path; import os\n"
        "data = bytearray(Path(sys.argv[1]).read_bytes()); file = Path(sys.argv[2]); names = set()\nfor at "
        f"in {places}:\n"
        "    changed = bytearray(data); changed[at] ^= 0xff; file.write_bytes(changed)\n"
        "    try: elf.Elf(str(file), sys.argv[3]); names.add('read')\n    except Error as e: "
        "names.add(type(e).__name__)\nprint(sorted(names))"
    )
    done = run([sys.executable, "-c", code, counts, tmp_path / "changed", library() / "libamdhip64.so.7"])
    assert done.stdout == "['UsageError', 'read']\n", done.stderr


@pytest.mark.parametrize(
    "at, value, why",
    [
        (
            18,
            struct.pack("<H", 183),
            "is for AArch64 of 64 bits, Strata's library for x86-64 of 64 bits; build it for this machine",
        ),
        (
            18,
            struct.pack("<H", 999),
            "is for the machine of number 999 of 64 bits, Strata's library for x86-64 of 64 bits",
        ),
        (4, b"\x01", "is for x86-64 of 32 bits, Strata's library for x86-64 of 64 bits"),
        (18, struct.pack("<H", 224), "holds code for a GPU and no program; strata run runs a kernel of it"),
        (16, struct.pack("<H", 1), "is an object file; link it first"),
        (16, struct.pack("<H", 4), "is what a program left that crashed (a core file)"),
    ],
)
def test_a_file_for_another_machine_or_of_another_kind_is_refused(counts, tmp_path, at, value, why):
    data = counts.read_bytes()
    if data[18] != 62:
        pytest.skip("the messages are those of x86-64")
    assert f"written {why}" in refusal(written(tmp_path, data[:at] + value + data[at + len(value) :]))


def test_a_static_program_and_a_library_are_refused(tmp_path):
    why = "is linked statically, so that no other libamdhip64 can take the place of its own; link it without -static"
    for option in ("-static", "-static-pie"):
        assert refusal(compile(tmp_path, "int main() { return 0; }", option)) == f"{tmp_path / 'program'} {why}"
    assert refusal(compile(tmp_path, "int f() { return 0; }", "-shared", "-fPIC")).endswith(
        "is a shared library; name the program that uses it"
    )


def test_a_program_for_another_c_library_is_told_so(tmp_path):
    program = compile(tmp_path, "int main() { return 0; }", "-Wl,--dynamic-linker=/lib/ld-other.so.1")
    assert "wants the loader /lib/ld-other.so.1, which is not on this machine" in refusal(program)


@pytest.mark.parametrize("name", ["libamdhip64.so.4", "libhiprtc.so.8"])
def test_versions_of_hip_that_are_not_offered_are_refused_with_those_that_are(tmp_path, name):
    another_hip(tmp_path / "other", "other.so", f"-Wl,-soname,{name}")
    stem = name[:-2]
    assert refusal(compile(tmp_path, COUNTS, tmp_path / "other" / "other.so")).endswith(
        f"is linked with {name}, and Strata's is {stem}.5, {stem}.6, {stem}.7; build it against HIP 5, 6 or 7"
    )


def test_an_rpath_that_wins_is_named_and_a_runpath_does_not_win(tmp_path):
    folder = tmp_path / "opt"
    other = another_hip(folder, "libamdhip64.so.6", "-Wl,-soname,libamdhip64.so.6")
    program = compile(tmp_path, COUNTS, other, "-Wl,--disable-new-dtags,-rpath,$ORIGIN/opt")
    assert run([program]).stdout == f"0,77 {program}", "the planted library is found"
    assert (
        refusal(program) == f"{program} would run with {folder}/libamdhip64.so.6 instead of Strata's, since its RPATH "
        "($ORIGIN/opt) goes before "
        f"LD_LIBRARY_PATH; patchelf --remove-rpath {program}, or link it with -Wl,--enable-new-dtags"
    )
    assert (
        hip_run(compile(tmp_path, COUNTS, other, f"-Wl,--enable-new-dtags,-rpath,{folder}")).stdout
        == f"0,{DEVICES} {program}"
    )
    other.unlink()
    (folder / "libamdhip64.so.6").symlink_to(library() / "libamdhip64.so.7")
    (folder / "libamdhip64.so.6").unlink()
    assert (
        hip_run(compile(tmp_path, COUNTS, *OURS, f"-Wl,--disable-new-dtags,-rpath,{folder}")).stdout
        == f"0,{DEVICES} {program}"
    ), "an RPATH without the library"


def test_a_library_that_brings_another_libamdhip64_is_refused(tmp_path):
    other = another_hip(tmp_path / "opt", "libamdhip64.so.6", "-Wl,-soname,libamdhip64.so.6")
    between = "extern int hipGetDeviceCount(int*);\nint devices() { int n = 0; hipGetDeviceCount(&n); return n; }"
    middle = compile(
        tmp_path,
        between,
        "-shared",
        "-fPIC",
        other,
        f"-Wl,--disable-new-dtags,-rpath,{other.parent}",
        name="libmiddle.so",
    )
    program = compile(
        tmp_path, "extern int devices();\nint main() { return devices(); }", middle, f"-Wl,-rpath,{tmp_path}"
    )
    assert (
        f"would run with {other} instead of Strata's, since LD_PRELOAD or the RPATH of a library that it "
        "loads goes before LD_LIBRARY_PATH"
    ) in refusal(program)
    middle = compile(tmp_path, between, "-shared", "-fPIC", *OURS, name="libmiddle.so")
    done = hip_run(program)
    assert (done.returncode, done.stderr) == (DEVICES, ""), "through a library, which is no cause for a warning"


def test_a_library_that_is_named_with_its_folder_is_refused(tmp_path):
    other = another_hip(tmp_path / "opt", "libamdhip64.so")
    program = compile(tmp_path, COUNTS, other)
    assert refusal(program).endswith(
        f"which it names with its folder; patchelf --replace-needed {other} libamdhip64.so.7 {program}"
    )


def test_a_program_that_cannot_reach_hip_runs_with_a_warning(tmp_path):
    done = hip_run(compile(tmp_path, "int main() { return 3; }"))
    assert done.returncode == 3
    assert (
        done.stderr == f"strata: warning: {tmp_path}/program links no libamdhip64, and calls nothing that loads one or "
        "starts a program: "
        "none of it runs on an emulated GPU\n"
    )
    loads = '#include <dlfcn.h>\nint main() { return dlopen("libamdhip64.so.6", RTLD_NOW) ? 4 : 5; }'
    done = hip_run(compile(tmp_path, loads, "-ldl"))
    assert (done.returncode, done.stderr) == (4, ""), "it may load the library, and does"


def test_options_behind_the_program_are_the_programs(counts):
    assert (
        hip_run(counts, "--help", "--device", "x", "--", "-h").stdout == f"0,{DEVICES} {counts} --help --device x -- -h"
    )
    assert hip_run("--devices", "2", "--", counts, "--seed").stdout == f"0,{2 * DEVICES} {counts} --seed"


@pytest.mark.parametrize(
    "option, value, most",
    [
        *(("--devices", n, "1 to 16") for n in ("0", "17", "-1", "two")),
        *(("--seed", n, f"0 to {2**64 - 1}") for n in ("x", "-3", str(2**64))),
    ],
)
def test_numbers_that_are_none_are_refused(counts, option, value, most):
    done = hip_run(f"{option}={value}", counts)
    assert (
        done.returncode == 2
        and f"argument {option}: '{value}': expected a number from {most}" in done.stderr
        and not done.stdout
    )


def test_help_names_every_option_and_needs_no_program():
    done = hip_run("--help")
    for option in (
        "--device ",
        "--devices",
        "--check ",
        "--check-raise",
        "--check-races",
        "--profile",
        "--seed",
        "arguments",
    ):
        assert option in done.stdout
    assert done.returncode == 0 and not done.stderr
    assert "the following arguments are required: program" in hip_run().stderr


def test_a_seed_orders_the_waves_and_the_same_seed_does_so_again(build):  # noqa: F811
    order = {seed: hip_run("--seed", str(seed), build("broken"), "order").stdout for seed in (0, 1, 2, 3)}
    waves = [sorted(int(n) for n in out.split("launch")[0].split()) for out in order.values()]
    assert all(len(one) == 8 and len(set(one)) == 8 for one in waves), order
    assert len(set(order.values())) == 4
    assert hip_run("--seed", "2", build("broken"), "order").stdout == order[2]
    assert hip_run(build("broken"), "order").stdout == order[0]


def test_races_between_workgroups_are_looked_for_where_it_is_asked(build):  # noqa: F811
    assert hip_run("--check", build("broken"), "between").stderr == ""
    said = hip_run("--check-races", build("broken"), "between").stderr
    assert (
        "global-race" in said
        and "is written here by workgroup (1, 0, 0) and was written by workgroup (0, 0, 0), in no order" in said
    )


def test_pointers_that_promise_to_be_the_only_one_are_held_to_it(build):  # noqa: F811
    said = hip_run("--check", build("broken"), "alias").stderr
    assert "aliased-pointers" in said and "argument 0" in said and "__restrict__" in said
    assert hip_run("--check", build("broken"), "apart").stderr == ""


def interrupt(program, what, folder):
    """Status and output of a program that is interrupted while its kernel runs, and what it has left in memory and
    files.
    """
    before = set(os.listdir("/dev/shm"))
    process = subprocess.Popen(
        [sys.executable, "-m", "strata", "hip-run", str(program), what],
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        env=clean() | {"TMPDIR": str(folder)},
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # a shell's background ignores it
    assert process.stdout.readline() == "before\n"
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)  # no process of its group is left
    return process.returncode, out, os.listdir(folder), set(os.listdir("/dev/shm")) - before


def test_an_interrupted_program_ends_at_once_and_leaves_nothing(build, tmp_path):  # noqa: F811
    assert interrupt(build("broken"), "endless", tmp_path) == (-signal.SIGINT, "", [], set()), "a shell says 130"


def test_a_program_that_handles_the_interrupt_does_so(build, tmp_path):  # noqa: F811
    assert interrupt(build("broken"), "handled", tmp_path) == (130, "handled\n", [], set())


def test_signals_that_python_ignores_end_the_program_as_ever(tmp_path):
    script = written(tmp_path, b"#!/bin/sh\nkill -s $1 $$\necho went on\n")
    for name in ("PIPE", "XFSZ"):
        assert hip_run(script, name).returncode == -getattr(signal, f"SIG{name}")
