#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace strata::codegen {

/// HIP text of one or more kernels, from the renderer (freestanding) or from a user.
struct HipSource {
    std::string text;
    std::string kernel;                     ///< the entry to launch
    bool freestanding = true;               ///< compiled against the own small prelude; false: against hip_runtime.h
    std::string file_name = "kernel.hip";   ///< how compiler messages name the text
    std::vector<std::string> options = {};  ///< extra compiler options of the user, e.g. -O1, -DN=4
    std::string folder = {};                ///< where quoted includes are looked for first; "" = nowhere
    std::vector<uint32_t> lines = {};       ///< of a user's graph, by line of the text: the line of its tree(); 0: none
};

}  // namespace strata::codegen
