#pragma once
#include <string_view>

namespace strata::codegen {

/// A row of compact.def: what an instruction is with its first two sources exchanged.
struct Swap {
    std::string_view mnemonic, swapped;
};
inline constexpr Swap kSwaps[] = {
#define SWAP(mnemonic, swapped) {#mnemonic, #swapped},
#include "strata/codegen/lower/finish/compact.def"
};

}  // namespace strata::codegen
