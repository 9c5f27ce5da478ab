#pragma once
#include "strata/hip/api/exports.h"
#include "strata/hip/module/module.h"
#include "strata/hip/stream/stream.h"

namespace strata::hip::library {

/// A kernel with all that it needs to run.
struct Launch {
    const Function* function = nullptr;
    Dim3 grid{1, 1, 1}, block{1, 1, 1};
    uint32_t lds = 0;
    std::vector<uint8_t> arguments = {};
    const void* host = nullptr;  ///< the host's function that stands for it, if it was named so
};

/// The bytes of kernel arguments: as `extra` has them, or gathered from what `parameters` point to.
Code arguments_of(const Function& function, void** parameters, void** extra, std::vector<uint8_t>& out);
/// Refuses a launch before anything runs.
Code check_launch(const Launch& launch);
/// The same of a grid that waits for itself: it must be there as a whole.
Code check_cooperative(const Function& function, Dim3 grid, Dim3 block, size_t lds);
/// Runs a kernel to its end. Later calls report its fault, as on a device.
Code run(Stream& stream, const Launch& launch);
inline Code perform(Stream& stream, const Launch& launch) { return run(stream, launch); }
Code run_on(void* stream, Launch launch);

/// Work-items of a block that a unit holds at once, and as many blocks. Errors: hipErrorInvalidValue,
/// hipErrorInvalidHandle where another thread has unloaded the function's module.
Code blocks_per_unit(const Function& function, int block, size_t lds, int& out);

}  // namespace strata::hip::library
