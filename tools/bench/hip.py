"""strata bench hip: what calls of Strata's libamdhip64 cost on the host, through ctypes, whose own share is a row."""

import ctypes

from . import elapsed_ms, median

SOURCE = 'extern "C" __global__ void nothing() {}'
BYTES = (4, 4096, 65536)


def open_library():
    """The library with its first device, which emulates gfx942 by default."""
    import strata
    from strata.cli.hip_run import library

    hip = ctypes.CDLL(str(library() / "libamdhip64.so.7"))

    def call(name, *arguments):
        code = getattr(hip, name)(*arguments)
        if code:
            hip.hipGetErrorString.restype = ctypes.c_char_p
            raise strata.DeviceError(f"strata bench hip: {name}: {hip.hipGetErrorString(code).decode()}")

    return hip, call


def bench_hip(quick):
    import strata

    hip, call = open_library()
    arch = next(name.removeprefix("emu:") for name in strata.devices() if name.startswith("emu:"))  # of device 0
    code = bytes(strata.compile(strata.hip_kernel(SOURCE, name="nothing", grid=1, block=1), arch).code_object)
    module, function, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("hipModuleLoadData", ctypes.byref(module), code)
    call("hipModuleGetFunction", ctypes.byref(function), module, b"nothing")
    call("hipMalloc", ctypes.byref(memory), ctypes.c_size_t(max(BYTES)))
    host = ctypes.create_string_buffer(max(BYTES))
    no_arguments = (ctypes.c_void_p * 1)()
    ways = {
        "call_of_ctypes": lambda: hip.hipPeekAtLastError(),
        "empty_launch": lambda: hip.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, no_arguments, None),
    }
    for count in BYTES:
        size = ctypes.c_size_t(count)
        ways[f"copy_to_device_{count}_bytes"] = lambda size=size: hip.hipMemcpy(memory, host, size, 1)
        ways[f"copy_to_host_{count}_bytes"] = lambda size=size: hip.hipMemcpy(host, memory, size, 2)
    out, many = {}, 500
    for name, way in ways.items():
        if way():
            raise strata.InternalError(f"the hip benchmark fails: {name}")
        times = [elapsed_ms(lambda: [way() for _ in range(many)]) * 1e3 / many for _ in range(5 if quick else 21)]
        out[name] = {"us": median(times, 2), "best_us": round(min(times), 2)}
    call("hipFree", memory)
    call("hipModuleUnload", module)
    return out
