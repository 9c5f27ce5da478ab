#include "convert_p.h"

PYBIND11_MODULE(_strata, m) {
    m.doc() =
        "Strata's core: tensors, UOps, kernels, the assembler and the emulator.\n\nShapes are in elements, row-major. "
        "Times "
        "are in milliseconds; on an emulated device `time_ms` is modelled: what the kernel\nwould take on the GPU that "
        "is "
        "modelled, not what it took here. Every error is a strata.Error.";
    strata::python::bind_errors(m);
    strata::python::bind_dtypes(m);
    strata::python::bind_emulator(m);
    strata::python::bind_tensor(m);
    strata::python::bind_functions(m);
    strata::python::bind_uop(m);
    strata::python::bind_kernels(m);
    strata::python::bind_settings(m);
    strata::python::bind_runtime(m);
    strata::python::bind_asm(m);
    strata::python::bind_bench(m);
}
