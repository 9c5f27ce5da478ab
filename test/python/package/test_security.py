"""The promises of SECURITY.md, from outside: whose folders are used, which options are passed on, which names are
taken.
"""

import os
import pwd
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import strata
from strata import Tensor, uop

HIP = '#include <hip/hip_runtime.h>\nextern "C" __global__ void k(float* out) { out[0] = VALUE; }\n'
ADD = "import strata; print((strata.Tensor([1.0, 2.0]) * 3.0625).tolist())"


def run(code, environment):
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)


def without_home(**more):
    return {**{k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME", "STRATA_CACHE_DIR")}, **more}


def test_without_home_the_cache_is_in_the_home_of_the_user_database_and_never_in_a_shared_folder():
    done = run("import strata; print(strata.settings()['cache_dir'])", without_home())
    assert done.stdout.strip() == pwd.getpwuid(os.geteuid()).pw_dir + "/.cache/strata" and done.stderr == ""


def test_a_user_without_any_home_has_right_results_no_cache_and_a_line_that_says_so():
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    with tempfile.TemporaryDirectory() as shared:
        os.chmod(shared, 0o1777)
        done = run(
            "import os, numpy, strata; os.setgroups([]); os.setgid(54321); os.setuid(54321)\n" + ADD,
            without_home(TMPDIR=shared),
        )
        assert done.stdout == "[3.0625, 6.125]\n", done.stderr
        assert done.stderr == (
            "strata: the cache is not used: there is no home folder to keep it in; kernels are compiled again "
            "in every process. "
            "Mend that, or set STRATA_CACHE_DIR to a folder of your own\n"
        )
        assert os.listdir(shared) == []


def test_the_folder_of_somebody_elses_link_is_not_touched_and_results_are_right(tmp_path):
    precious, cache = tmp_path / "precious", tmp_path / "cache"
    (precious / "objects").mkdir(parents=True)
    (precious / "objects" / ("0" * 32)).write_bytes(b"x" * 1000)
    cache.mkdir(mode=0o700)
    (cache / "v2").symlink_to(precious)
    before = sorted((str(p), p.lstat().st_mtime_ns) for p in precious.rglob("*"))
    done = run(ADD, {**os.environ, "STRATA_CACHE_DIR": str(cache)})
    assert (
        done.stdout == "[3.0625, 6.125]\n"
        and f"strata: the cache is not used: {cache}/v2 is a link or no folder" in done.stderr
    )
    assert sorted((str(p), p.lstat().st_mtime_ns) for p in precious.rglob("*")) == before


def test_a_fifo_in_the_place_of_an_entry_holds_nobody_up(tmp_path):
    environment = {**os.environ, "STRATA_CACHE_DIR": str(tmp_path)}
    assert run(ADD, environment).stdout == "[3.0625, 6.125]\n"
    entries = [p for p in (tmp_path / "v2").rglob("*") if p.is_file() and len(p.name) == 32]
    assert entries
    for entry in entries:
        entry.unlink()
        os.mkfifo(entry)
    assert run(ADD, environment).stdout == "[3.0625, 6.125]\n"


@pytest.mark.parametrize(
    "options",
    [
        ["-fplugin=/tmp/evil.so"],
        ["-fpass-plugin=/tmp/evil.so"],
        ["-MD", "-MF", "/tmp/x"],
        ["@/tmp/options"],
        ["--config=/tmp/x"],
        ["-Xclang", "-load"],
    ],
)
def test_an_option_that_could_run_code_or_write_files_is_refused_wherever_it_enters(options, tmp_path):
    with pytest.raises(
        strata.UsageError, match="is not among those that only say what code to make.*unsafe_options=True"
    ):
        strata.hip_kernel(HIP, name="k", grid=1, block=1, options=["-DVALUE=1.5f", *options])
    with strata.config(unsafe_options=True):
        kernel = strata.hip_kernel(HIP, name="k", grid=1, block=1, options=["-DVALUE=1.5f", *options])
    with pytest.raises(strata.UsageError, match="is not among those that only say what code to make"):
        Tensor.empty(1).custom_kernel(kernel=kernel)[0].realize()
    source = tmp_path / "k.hip"
    source.write_text(HIP)
    command = [sys.executable, "-m", "strata", "run", str(source), "--arg", "f32[1]", "--option=-DVALUE=1.5f"]
    assert subprocess.run(command, capture_output=True, timeout=120).returncode == 0
    done = subprocess.run(
        [*command, *(f"--option={option}" for option in options)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode != 0 and done.stderr.startswith("strata: UsageError: compiler option '"), done.stderr


def test_options_from_a_file_are_read_each_time_where_they_are_allowed(tmp_path):
    file = tmp_path / "options"
    with strata.config(unsafe_options=True):
        for value in (1.5, 2.5):
            file.write_text(f"-DVALUE={value}f")
            kernel = strata.hip_kernel(HIP, name="k", grid=1, block=1, options=[f"@{file}"])
            assert Tensor.empty(1).custom_kernel(kernel=kernel)[0].item() == value


@pytest.mark.parametrize("name", ['k(){} extern "C" __global__ void other', "a b", "1k", "größe", "k\n", "k\0x", "a-b"])
def test_a_kernel_function_has_a_name_that_cannot_change_the_text(name):
    def kernel(out):
        i = uop.range(4, 0, "local")
        return uop.sink(out[i].store(2.5).end(i))

    kernel.__name__ = name
    with pytest.raises(strata.UsageError, match="cannot be a kernel's name"):
        Tensor.empty(4).custom_kernel(kernel=kernel)
    kernel.__name__ = "fine_1"
    np.testing.assert_array_equal(Tensor.empty(4).custom_kernel(kernel=kernel)[0].numpy(), [2.5] * 4)


def test_the_command_of_a_checkout_runs_no_file_of_the_current_folder(tmp_path):
    """The folder may be a stranger's: its Python files have the names of modules that the command imports, and leave a
    mark when they run.
    """
    checkout, package = Path(__file__).parents[3], Path(strata.__file__).parents[1]
    bin, folder = tmp_path / "bin", tmp_path / "theirs"
    bin.mkdir()
    folder.mkdir()
    shutil.copy(checkout / "scripts" / "strata", bin / "strata")
    (bin / "python").symlink_to(sys.executable)
    for name in (
        "strata",
        "numpy",
        "json",
        "argparse",
        "signal",
        "sitecustomize",
        "usercustomize",
        "re",
        "os",
        "pathlib",
        "ml_dtypes",
    ):
        (folder / f"{name}.py").write_text("open('ran', 'w')\n")
    path = os.pathsep.join([str(package), *(p for p in sys.path if p.endswith("site-packages"))])
    for arguments in (["--version"], ["info"], ["explain", "Tensor.empty(4).exp()"], ["bench", "import", "--quick"]):
        done = subprocess.run(
            [bin / "strata", *arguments],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert not (folder / "ran").exists(), arguments
    strangers = re.compile(r"python3? -m strata|sys\.executable, \"-[cm]")  # without -P the folder comes first
    for file in [
        checkout / "README.md",
        checkout / "CONTRIBUTING.md",
        *checkout.glob("docs/*.md"),
        *checkout.glob("scripts/*"),
        *checkout.glob("python/strata/**/*.py"),
        *checkout.glob("tools/**/*.py"),
    ]:
        assert not strangers.search(file.read_text()), file
