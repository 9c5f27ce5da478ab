"""AMD's cards through HIP's C interface: against Strata's own libamdhip64, whose devices are emulated. Each in a
process of its own, since a fault on a card loses the device.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import strata

CHECKOUT = Path(__file__).resolve().parents[3]
LIBRARY = Path(strata._strata.__file__).parents[2] / "lib" / "hip"


def run(*arguments, **settings):
    env = {k: v for k, v in os.environ.items() if not k.startswith("STRATA_") or k == "STRATA_CACHE_DIR"}
    env |= {"LD_LIBRARY_PATH": str(LIBRARY), "STRATA_DEVICE": "hip"} | {
        f"STRATA_{k.upper()}": v for k, v in settings.items()
    }
    return subprocess.run([sys.executable, *arguments], env=env, capture_output=True, text=True, timeout=300)


def python(code, **settings):
    done = run("-c", "import numpy as np, strata\nfrom strata import Tensor\n" + code, **settings)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def test_tensors_are_computed_there():
    assert python("x = Tensor.arange(8) + 1; print(x.device, x.numpy())") == "amd:0 [1 2 3 4 5 6 7 8]"


def test_every_card_is_a_device_of_its_arch():
    code = """
for name in strata.devices():
    if name.startswith("amd:"):
        p = strata.device_properties(name)
        x = Tensor(np.arange(100, dtype=np.float32), device=name)
        emulated = strata.device_properties("emu:" + p["arch"])
        same = all(p[key] == emulated[key] for key in ("memory_bytes", "max_block", "lds_per_block", "max_grid"))
        print(name, p["arch"], p["warp_size"], p["units"], same, p["driver"], p["time_is_modelled"], (x * x).sum().item() == 328350)
"""  # noqa: E501
    lines = python("Tensor([1]).numpy()" + code).splitlines()
    assert lines[:4] == [
        "amd:0 gfx1100 32 96 True HIP 7.0.0 False True",
        "amd:1 gfx1201 32 64 True HIP 7.0.0 False True",
        "amd:2 gfx942 64 304 True HIP 7.0.0 False True",
        "amd:3 gfx90a 64 104 True HIP 7.0.0 False True",
    ]
    archs = strata._strata.archs()
    assert [line.split()[:2] for line in lines] == [[f"amd:{i}", arch] for i, arch in enumerate(archs)]
    assert all(line.endswith(" True HIP 7.0.0 False True") for line in lines)


def test_hip_is_an_alias_for_the_vendor_that_has_a_card():
    code = """
x = Tensor.arange(3, device="amd:2")
print([Tensor([1], device=name).device for name in ("hip", "hip:0", "amd", "hip:2")], (Tensor([1, 2, 3], device="hip:2") + x).tolist())
"""  # noqa: E501
    assert python(code) == "['amd:0', 'amd:0', 'amd:0', 'amd:2'] [1, 3, 5]"


def test_tensors_move_between_cards_and_emulated_devices():
    code = """
x = Tensor(np.arange(24, dtype=np.float32).reshape(4, 6), device="amd:0")
for name in ("amd:2", "emu:gfx942", "amd:0"):
    x = (x.T + 1).to(name)
    assert x.device == name, x.device
print(x.numpy().tolist() == (np.arange(24).reshape(4, 6).T + 3).tolist(), x.shape)
"""
    assert python(code) == "True (6, 4)"


def test_times_are_those_between_events():
    code = """
x = Tensor(np.ones(1 << 20, np.float32))
strata.reset_stats()
x.sum().item()
s = strata.stats()
print(s.modelled, all(0 < l.time_ms < 1 for l in s.launches), len(s.launches) > 0, "(modelled)" in repr(s))
"""
    assert python(code) == "False True True False"


def test_nobody_waits_for_kernels_whose_time_nobody_asks_for():
    code = """
x = Tensor(np.ones(1 << 10, np.float32))
y = (x + 1).realize()
print([l.time_ms for l in strata.stats().launches], y.sum().item())
with strata.profile():
    (x + 2).realize()
print(0 < strata.stats().launches[-1].time_ms < 1)
strata.reset_stats()
(x + 3).realize()
print(0 < strata.stats().time_ms < 1)
"""
    assert python(code).splitlines() == ["[0.0] 2048.0", "True", "True"]


def test_memory_is_exchanged_where_it_is():
    code = """
x = Tensor.arange(6).realize()
print(x.__dlpack_device__(), '"dltensor_versioned"' in repr(x.__dlpack__(max_version=(1, 0))), '"dltensor"' in repr(x.__dlpack__(copy=True)))
print(np.from_dlpack(x, device="cpu").tolist(), np.asarray(x).tolist(), hasattr(x, "__cuda_array_interface__"))
for refused in (lambda: x.__dlpack__(dl_device=(1, 0), copy=False), lambda: x.__array__(copy=False), lambda: x.__dlpack__(dl_device=(2, 0))):
    try:
        print(refused())
    except (BufferError, ValueError) as e:
        print(type(e).__name__, e)
"""  # noqa: E501
    assert python(code).splitlines() == [
        "(10, 0) True True",
        "[0, 1, 2, 3, 4, 5] [0, 1, 2, 3, 4, 5] False",
        "BufferError the host does not see the memory of amd:0; copy=None copies it",
        "ValueError the host does not see the memory of amd:0: its values are copied, which copy=False forbids",
        "BufferError dl_device=(2, 0): tensors on amd:0 are exchanged where they are, (10, 0), and on the host, (1, 0)",
    ]


def test_freed_memory_is_kept_for_the_next_tensor():
    code = """
x = Tensor(np.zeros(1 << 20, np.float32))
before = strata.stats().pooled_bytes
del x
for i in range(200):  # what is dead is freed at the latest when 64 MiB were made since
    Tensor(np.zeros(1 << 18, np.float32) + i)
print(strata.stats().pooled_bytes > before, strata.stats().live_bytes < 96 << 20)
"""
    assert python(code) == "True True"


def test_a_search_measures_the_card(tmp_path):
    code = """
x = Tensor(np.arange(64 * 96, dtype=np.float32).reshape(64, 96) / 1000)
y = (x @ x.T).numpy()
want = x.numpy() @ x.numpy().T
print(np.allclose(y, want, rtol=1e-4))
"""
    assert python(code, beam="2", search_candidates="6", cache_dir=str(tmp_path)) == "True"


@pytest.mark.parametrize("target", ["asm", "hip"])
def test_the_five_levels_run(target):
    done = run("examples/01_five_levels.py", target=target)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "amd:0" in done.stdout or done.stdout.count("level") >= 5, done.stdout


@pytest.mark.parametrize(
    "device, load, wait",
    [("amd:0", "global_load_b32", "s_load_b128"), ("amd:3", "global_load_dword", "s_load_dwordx4")],
)
def test_a_kernel_in_assembly_is_for_the_arch_of_the_card(device, load, wait):
    code = f"""
text = "{wait} s[4:7], s[0:1], 0x0\\nv_lshlrev_b32 v1, 2, v0\\ns_waitcnt lgkmcnt(0)\\n{load} v2, v1, s[6:7]\\ns_waitcnt vmcnt(0)\\n" \\
       "v_mul_f32 v2, 2.0, v2\\n{load.replace("load", "store")} v1, v2, s[4:5]\\ns_endpgm"
kernel = strata.asm_kernel(text, name="doubled", args=["out", "x"], grid=1, block=64)
out, _ = Tensor.empty(64).custom_kernel(Tensor(np.arange(64, dtype=np.float32)), kernel=kernel)
print((out.numpy() == 2 * np.arange(64)).all())
"""  # noqa: E501
    assert python(code, device=device) == "True"


def test_more_memory_than_the_card_has_is_an_error_with_the_numbers():
    code = """
try:
    Tensor.empty(7 << 30, dtype=strata.dtypes.float32).realize()
    Tensor.ones(7 << 30).contiguous().realize()
except strata.DeviceError as e:
    print(e)
print((Tensor.arange(3) + 1).tolist())
"""
    message, after = python(code).splitlines()
    assert message.startswith("amd:0 is out of memory: 30064771072 bytes asked for, ")
    assert " free, " in message and "the pool held" in message and after == "[1, 2, 3]"


def test_no_card_is_said_where_one_is_asked_for():
    code = """
try:
    Tensor([1], device="hip")
except strata.DeviceError as e:
    print(e)
print(strata.devices())
"""
    out = python(code, device="emu:none")
    assert "finds no AMD GPU: hipErrorNoDevice: no ROCm-capable device is detected (hipGetDeviceCount)" in out
    archs = strata._strata.archs()
    others = [f"interp:{arch}" for arch in archs[1:]]
    assert out.splitlines()[-1] == str([*(f"emu:{arch}" for arch in archs), "interp", *others])


def test_who_names_no_device_gets_an_emulated_one_and_loads_no_driver():
    code = """
print((Tensor.arange(3) + 1).device, "libamdhip64" in open("/proc/self/maps").read())
"""
    assert python(code, device="") == "emu:gfx1100 False"


def test_a_card_that_is_not_there_is_named_with_those_that_are():
    code = """
for name in ("amd:77", "hip:77"):
    try:
        Tensor([1], device=name)
    except strata.DeviceError as e:
        print(e)
"""
    for name, line in zip(("amd:77", "hip:77"), python(code).splitlines(), strict=True):
        assert line.startswith(f"unknown device '{name}'; known: amd:0, amd:1, amd:2, amd:3, ")


def test_info_lists_the_cards():
    done = run("-m", "strata", "info")
    line = next(line for line in done.stdout.splitlines() if line.startswith("  amd:2"))
    assert line.startswith("  amd:2        mi300x (emulated), gfx942, 304 units, ")
    assert " GiB, waves of 64, blocks up to 1024, 64 KiB LDS, HIP 7.0.0, code by " in line
    assert "default device: amd:0" in done.stdout
