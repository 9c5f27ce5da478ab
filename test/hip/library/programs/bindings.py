"""AMD's Python bindings of HIP (PyPI: rocm-bindings-hip) copy, and launch what hiprtc compiled."""

import array

from rocm.bindings import hip, hiprtc


def ok(answer):
    """The results of a call beside its code, which is that of success."""
    code, *rest = answer if isinstance(answer, tuple) else (answer,)
    assert int(code) == 0, code
    return rest[0] if rest else None


SOURCE = b'extern "C" __global__ void twice(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }'
TO_DEVICE, TO_HOST = hip.hipMemcpyKind.hipMemcpyHostToDevice, hip.hipMemcpyKind.hipMemcpyDeviceToHost

print(ok(hip.hipGetDeviceCount()), "device,", ok(hip.hipGetDeviceProperties(0)).gcnArchName)
given, got = array.array("f", range(1000)), array.array("f", bytes(4000))
memory = ok(hip.hipMalloc(4000))
ok(hip.hipMemcpy(memory, given, 4000, TO_DEVICE))
ok(hip.hipMemcpy(got, memory, 4000, TO_HOST))
print("the same" if got == given else "something else")

program = ok(hiprtc.hiprtcCreateProgram(SOURCE, b"twice", 0, None, None))
ok(hiprtc.hiprtcCompileProgram(program, 1, [b"--offload-arch=gfx942"]))
code = bytearray(ok(hiprtc.hiprtcGetCodeSize(program)))
ok(hiprtc.hiprtcGetCode(program, code))
kernel = ok(hip.hipModuleGetFunction(ok(hip.hipModuleLoadData(code)), b"twice"))
ok(
    hip.hipModuleLaunchKernel(
        kernel,
        gridDimX=10,
        gridDimY=1,
        gridDimZ=1,
        blockDimX=100,
        blockDimY=1,
        blockDimZ=1,
        sharedMemBytes=0,
        stream=None,
        kernelParams=None,
        extra=(memory,),
    )
)
ok(hip.hipDeviceSynchronize())
ok(hip.hipMemcpy(got, memory, 4000, TO_HOST))
print("twice as much" if list(got) == [2 * value for value in given] else "something else")
