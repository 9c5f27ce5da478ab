#pragma once
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "strata/codegen/target/target.h"
#include "strata/core/uop/uop.h"

namespace strata::codegen {

/// A matrix instruction: what the lanes of a wave have of its matrices.
class InterpretedProduct {
  public:
    /// None where the node's operands are not those of the row in waves of that size.
    static std::optional<InterpretedProduct> of(const MatrixShape& shape, UOp wmma, int wave_size);

    /// Elements that a lane has of source 0, 1 or 2; those of its result.
    using Source = std::function<std::span<const ConstArg>(int, size_t)>;
    using Result = std::function<std::span<ConstArg>(size_t)>;
    void run(const Source& source, const Result& result) const;

  private:
    struct Operand {
        size_t elements;                      ///< of a lane
        std::vector<std::vector<size_t>> at;  ///< by lane and element: the place in the matrix
    };
    size_t m_ = 0, n_ = 0, k_ = 0;
    DType operand_, sum_;
    bool clamps_ = false;
    Operand operands_[3];
};

/// None where the instruction is not one of a wave of that size.
std::optional<InterpretedProduct> product_of(UOp wmma, int wave_size);

}  // namespace strata::codegen
