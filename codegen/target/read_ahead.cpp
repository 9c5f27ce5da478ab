#include "strata/codegen/target/read_ahead.h"

namespace strata::codegen {

bool reads_matrices_ahead(const Target& target) {
    return target.ahead == Ahead::scheduled && isa::is_cdna(isa::info(target.arch).family);
}

}  // namespace strata::codegen
