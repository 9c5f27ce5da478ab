"""strata info: what this installation has."""

import strata
from strata import _strata


def describe(p, target):
    """A device in one line."""
    compiler = "NVRTC" if p["arch"].startswith("sm_") else "clang 19" if target == "hip" else "direct lowering"
    parts = [
        p["name"],
        p["arch"],
        f"{p['units']} units",
        f"{p['memory_bytes'] / 2**30:.3g} GiB",
        f"waves of {p['warp_size']}",
        f"blocks up to {p['max_block']}",
        f"{p['lds_per_block'] // 1024} KiB LDS",
        p["driver"],
        f"code by {compiler}" if p["name"] != "interpreter of graphs" else "no code",
    ]
    return ", ".join(part for part in parts if part)


def info(args):
    print(f"strata {strata.__version__}")
    found, where = _strata._hip_compiler()
    print(f"HIP compiler: {where if found else f'not found ({where})'}")
    target = _strata._target()
    why = (
        f", since {'there is a' if found else 'there is no'} HIP compiler"
        if strata.settings()["target"] == "auto"
        else ""
    )
    print(f"target: {target}, kernels become machine code {'through clang' if target == 'hip' else 'directly'}{why}")
    print(f"LLVM 19 (assembler): {'found' if _strata.llvm_available() else 'not found; Debian package libllvm19'}")
    print(f"default device: {strata.default_device()}")
    devices = strata.devices()
    for name in devices:
        try:
            print(f"  {name:12s} {describe(strata.device_properties(name), target)}")
        except strata.Unsupported as e:
            print(f"  {name:12s} compiles only: {e}")
    if all(name.startswith(("emu:", "interp")) for name in devices):
        try:
            print(f"  {'hip:0':12s} {describe(strata.device_properties('hip'), target)}")
        except strata.DeviceError as e:
            print(f"  {'hip':12s} {str(e).partition(chr(10))[0]}")
    print("settings: strata.config(name=...), else the variable STRATA_<NAME>, else the default")
    for name, value, origin, meaning in _strata._describe_settings():
        print(f"  {name} = {value!r} ({origin}): {meaning}")
