"""Programs that are built for AMD's HIP runtime run as they are on emulated devices: their host code calls Strata's
libamdhip64.
"""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from strata.cli.hip_run import library

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
import hip_toolchain  # noqa: E402

PROGRAMS = Path(__file__).resolve().parents[2] / "hip" / "library" / "programs"
BITCODE = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"
HAS_COMPILER = (
    shutil.which("clang++-19") and Path(BITCODE, "ocml.bc").exists() and Path("/usr/include/hip/hip_runtime.h").exists()
)
pytestmark = pytest.mark.skipif(not HAS_COMPILER, reason="needs clang-19, rocm-device-libs and libamdhip64-dev")


def clean():
    return {k: v for k, v in os.environ.items() if not k.startswith("STRATA_") or k == "STRATA_CACHE_DIR"}


def run(command, seconds=120, **env):
    return subprocess.run(
        [str(word) for word in command], env=clean() | env, capture_output=True, text=True, timeout=seconds
    )


def hip_run(*arguments):
    return run([sys.executable, "-m", "strata", "hip-run", *arguments])


@pytest.fixture(scope="session")
def build(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")

    def compile(name, *options, archs=("gfx90a",)):
        program = folder / "-".join([name, *archs, *(option.strip("-") for option in options)])
        if not program.exists():
            done = run(
                [
                    "clang++-19",
                    "-x",
                    "hip",
                    *(f"--offload-arch={arch}" for arch in archs),
                    "--rocm-path=/usr",
                    f"--rocm-device-lib-path={BITCODE}",
                    "-O1",
                    *options,
                    PROGRAMS / f"{name}.hip",
                    "-o",
                    program,
                    f"-L{library()}",
                    "-lamdhip64",
                ],
                seconds=600,
            )
            assert done.returncode == 0, done.stderr
        return program

    return compile


def test_a_program_runs_on_the_device_that_it_has_code_for(build):
    done = hip_run(build("vector_add"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "100000 sums on gfx90a:sramecc+:xnack-\n", "")


def test_a_program_with_a_small_stack_runs(build):
    done = run(["/bin/sh", "-c", 'ulimit -s 64; exec "$0"', build("vector_add")], LD_LIBRARY_PATH=str(library()))
    assert (done.returncode, done.stdout, done.stderr) == (0, "100000 sums on gfx90a:sramecc+:xnack-\n", "")


def test_the_loader_alone_is_enough(build):
    done = run([build("vector_add")], LD_LIBRARY_PATH=str(library()))
    assert done.stdout == "100000 sums on gfx90a:sramecc+:xnack-\n", done.stderr


def test_code_for_another_arch_is_refused_with_those_that_there_are(build):
    done = hip_run("--device", "emu:gfx1100", build("vector_add"))
    assert (done.returncode, done.stdout) == (4, "no kernel image is available for execution on the device\n")
    assert "the program has code for gfx90a, the device is gfx1100; compile with --offload-arch=gfx1100" in done.stderr


@pytest.mark.parametrize(
    "options", [("--offload-compress",), ("-fgpu-rdc", "--hip-link"), ("-fgpu-default-stream=per-thread",)]
)
def test_other_forms_of_bundles_and_launches_are_known(build, options):
    assert hip_run(build("vector_add", *options)).stdout == "100000 sums on gfx90a:sramecc+:xnack-\n"


def test_of_several_targets_the_closest_is_taken(build):
    done = hip_run(build("vector_add", archs=("gfx90a:xnack+", "gfx90a:xnack-", "gfx1030")))
    assert done.stdout == "100000 sums on gfx90a:sramecc+:xnack-\n", done.stderr
    done = hip_run(build("vector_add", archs=("gfx90a:xnack+", "gfx1030")))
    assert "has code for gfx1030, gfx90a:xnack+, the device is" in done.stderr


def test_a_program_finds_as_many_devices_as_are_asked_for(build):
    done = hip_run("--devices", "3", build("peers"))
    assert done.returncode == 0 and done.stdout.startswith("3 devices\n0 of "), done.stdout + done.stderr


def test_a_child_of_a_fork_has_devices_of_its_own(build):
    done = hip_run(build("forked"))
    assert (done.returncode, done.stdout) == (0, "child 7\nparent 7\n"), done.stdout + done.stderr


def test_two_programs_use_the_same_memory(build):
    done = hip_run(build("shared"))
    assert (done.returncode, done.stdout) == (0, "second: 7\nfirst: 107, the second ended with 0\n"), (
        done.stdout + done.stderr
    )


@pytest.mark.parametrize(
    "header, name, options",
    [
        ("rocprim/rocprim.hpp", "rocprim", ["-std=c++17"]),
        ("rocprim/rocprim.hpp", "rocprim_lists", ["-std=c++17"]),
        ("hiprand/hiprand.h", "hiprand", ["-lhiprand", "-lrocrand"]),
        ("hipsparse/hipsparse.h", "hipsparse", ["-lhipsparse", "-lrocsparse"]),
    ],
)
def test_debians_libraries_give_the_hosts_values_and_strict_mode_finds_nothing_in_them(build, header, name, options):
    if not Path("/usr/include", header).exists():
        pytest.skip(f"needs the package with {header}")
    done = hip_run("--check", build(name, *options))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert done.stdout.startswith("0 of "), done.stdout


def test_amds_bindings_for_python_import_copy_and_launch_what_hiprtc_compiled():
    if not importlib.util.find_spec("rocm"):
        pytest.skip("needs rocm-bindings-hip of PyPI")
    done = run([sys.executable, PROGRAMS / "bindings.py"], LD_LIBRARY_PATH=str(library()), STRATA_DEVICE="emu:gfx942")
    assert (done.returncode, done.stdout) == (0, "1 device, gfx942:sramecc+:xnack-\nthe same\ntwice as much\n"), (
        done.stderr
    )


@pytest.mark.parametrize("name", ["calls", "graphs"])
def test_calls_do_what_the_host_computes(build, name):
    done = hip_run(build(name))
    assert done.returncode == 0 and done.stdout.startswith("0 of "), done.stdout + done.stderr


def test_what_programs_get_wrong_has_hips_codes_and_threads_do_not_disturb_each_other(build):
    done = hip_run(build("hostile"))
    assert done.returncode == 0 and done.stdout == "107 checks, 0 of them failed\n", done.stdout + done.stderr


def test_strict_mode_finds_a_race(build):
    assert hip_run(build("broken"), "race").stderr == ""
    done = hip_run("--check", build("broken"), "race")
    assert "lds-race" in done.stderr and "neighbours" in done.stderr
    assert done.stdout == "launch: hipSuccess, behind it: hipSuccess\n"
    done = hip_run("--check-raise", build("broken"), "race")
    assert done.stdout == "launch: hipSuccess, behind it: hipErrorLaunchFailure\n"


@pytest.mark.parametrize("check", [(), ("--check",)])
@pytest.mark.parametrize(
    "what, words",
    [("bound", "one_more"), ("freed", "of freed allocation (1024 bytes"), ("assert", "Device-side assertion")],
)
def test_a_fault_is_named_and_every_later_call_fails(build, what, words, check):
    done = hip_run(*check, build("broken"), what)
    assert words in done.stderr
    if what == "bound":
        assert (
            "workgroup (1, 0, 0), wave 0: lane 0 writes 4 bytes" in done.stderr
            and "0 bytes past the end of allocation (1024 bytes" in done.stderr
        )
    assert done.stdout.endswith("launch: hipSuccess, behind it: hipErrorIllegalAddress\n")


def test_kernels_print_between_what_the_program_prints(build):
    lines = [f"thread {thread} of block {block}" for block in range(2) for thread in range(2)]
    assert hip_run(build("broken"), "print").stdout.splitlines() == [
        "before",
        *lines,
        "behind",
        "launch: hipSuccess, behind it: hipSuccess",
    ]


def test_a_profile_tells_of_each_kernel(build):
    done = hip_run("--profile", build("vector_add"))
    head, row = done.stderr.splitlines()[1:]
    assert head.split()[:2] == ["ms", "share"]
    assert row.endswith("_Z3addPKfS0_Pfi") and float(row.split()[0]) > 0 and " 100.0% " in row


def test_calls_are_measured_beside_what_ctypes_costs():
    run_ = run([sys.executable, "-m", "strata", "bench", "--quick", "hip"])
    assert run_.returncode == 0, run_.stderr
    rows = json.loads(run_.stdout)["hip"]
    assert {"call_of_ctypes", "empty_launch", "copy_to_device_4_bytes", "copy_to_host_65536_bytes"} <= set(rows)
    assert 0 < rows["call_of_ctypes"]["best_us"] < rows["empty_launch"]["best_us"]


def test_what_cannot_be_run_is_said(build):
    assert "there is no such file" in hip_run("./nowhere").stderr
    done = hip_run("--device", "emu:gfx803", build("vector_add"))
    assert done.returncode == 1 and "--device emu:gfx803: there are emu:gfx1100" in done.stderr


@pytest.fixture(scope="module", params=["gfx1100", "gfx1201"])
def image_arch(request, tmp_path_factory):
    return request.param, hip_toolchain.device_libraries(tmp_path_factory.mktemp("bitcode"), request.param)


def build_with_images(name, image_arch, folder):
    arch, libraries = image_arch
    done = run(
        [
            "clang++-19",
            "-x",
            "hip",
            f"--offload-arch={arch}",
            "--rocm-path=/usr",
            f"--rocm-device-lib-path={libraries}",
            "-O1",
            PROGRAMS / f"{name}.hip",
            "-o",
            folder / name,
            f"-L{library()}",
            "-lamdhip64",
        ]
    )
    assert done.returncode == 0, done.stderr
    return "--device", f"emu:{arch}", folder / name


@pytest.fixture(scope="module")
def images(image_arch, tmp_path_factory):
    return build_with_images("images", image_arch, tmp_path_factory.mktemp("images"))


@pytest.mark.parametrize("check", [(), ("--check",)])
def test_texture_fetches_and_surfaces_are_what_the_formulas_of_the_guide_give(images, check):
    done = hip_run(*check, *images)
    assert (done.returncode, done.stdout) == (0, "61440 fetches, 0 wrong\n"), done.stdout + done.stderr


def test_an_image_that_is_not_linear_or_in_no_memory_is_a_fault(images):
    assert (
        "the image descriptor cannot be used: its texels are swizzled; only linear images are there"
        in hip_run(*images, "swizzled").stderr
    )
    assert re.search(
        (
            r"lane 0 loads texel \(\d+, \d+, 0\) of an image at 0x\w+, whose 4 bytes at 0x\w+ are in no memory of "
            r"the device"
        ),
        hip_run(*images, "loose").stderr,
    )
    assert re.search(
        r"loads texel \(\d+, \d+, 0\) of an image at 0x\w+, whose 4 bytes at 0x\w+ are in no memory of the device",
        hip_run("--check", *images, "freed").stderr,
    ), "use after free"


def test_textures_surfaces_and_references_of_programs_are_what_the_formulas_of_the_guide_give(image_arch, tmp_path):
    done = hip_run(*build_with_images("textures", image_arch, tmp_path))
    assert (done.returncode, done.stdout.split()[1:]) == (0, ["fetches,", "0", "wrong"]), done.stdout + done.stderr
    assert int(done.stdout.split()[0]) > 30000


@pytest.mark.parametrize("arch", ["gfx942", "gfx90a"])
def test_a_device_without_images_says_so_and_has_no_arrays_nor_textures(arch):
    calls = (
        f"import ctypes; hip = ctypes.CDLL({str(library() / 'libamdhip64.so.6')!r}); out = ctypes.c_void_p(); "
        "images = ctypes.c_int(-1)\n"
        "channels = (ctypes.c_int * 5)(32, 0, 0, 0, 2); size = ctypes.c_size_t(4)\n"
        "print(hip.hipDeviceGetAttribute(ctypes.byref(images), 10014, 0), images.value, "
        "hip.hipMallocArray(ctypes.byref(out), channels, size, size, 0),\n"
        "      hip.hipCreateTextureObject(ctypes.byref(out), None, None, None))"
    )
    done = run([sys.executable, "-c", calls], STRATA_DEVICE=f"emu:{arch}")
    assert done.stdout == "0 0 801 801\n", (
        done.stdout + done.stderr
    )  # hipDeviceAttributeImageSupport; hipErrorNotSupported


def test_the_program_of_the_page_is_built_and_run_by_its_commands(tmp_path):
    page = (Path(__file__).parents[3] / "docs/hip-programs.md").read_text()
    source = re.search(r"^```cpp\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[1]
    build, start = re.search(r"^    (clang\+\+-19 .*)\n    (\S+strata hip-run .*)$", page, re.MULTILINE).groups()
    (tmp_path / "saxpy.hip").write_text(source)
    done = subprocess.run(shlex.split(build), cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert start.split()[1:] == ["hip-run", "./saxpy"]
    assert hip_run(tmp_path / "saxpy").stdout.split() == re.findall(r"it prints (\d+):", page)
