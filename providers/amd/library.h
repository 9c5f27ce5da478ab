#pragma once
#include <span>
#include <string>
#include <vector>

#include "strata/core/support/result.h"
#include "strata/providers/amd/abi.h"

namespace strata::providers {

/// AMD's HIP runtime, libamdhip64, found at run time: the calls of calls.def, of HIP 5, 6 or 7.
struct AmdLibrary {
    std::string file;  ///< as it was found
#define CALL(since, result, name, parameters) result(*name) parameters = nullptr;
#include "strata/providers/amd/calls.def"
#undef CALL

    /// An error that carries HIP's name and text of the code that `call` returned; none for hipSuccess.
    Result<void> checked(int code, std::string_view call) const;
    Result<abi::Properties> properties(int device) const;
    Result<std::string> version() const;  ///< "HIP 6.3.42131"
};

/// Where it is looked for: by the newest soname first, as the dynamic linker finds files (LD_LIBRARY_PATH included).
/// Then in $ROCM_PATH/lib, then in /opt/rocm/lib.
std::vector<std::string> amd_library_files();

/// Opens the first that is there; one that the process has already goes before all others. Error: Device, with all that
/// was looked for, or with the call that a library lacks.
Result<AmdLibrary> open_amd_library(std::span<const std::string> files);

}  // namespace strata::providers
