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
    /// The same of `steps` times k, with A and B as matrices m + m_ * k and n + n_ * k: those of a warpgroup.
    void run(std::vector<ConstArg> a, std::vector<ConstArg> b, const Source& source, const Result& result) const;

  private:
    void multiply(std::vector<ConstArg> (&matrices)[3], const Source& source, const Result& result) const;
    void gather(int operand, std::vector<ConstArg>& matrix, const Source& source) const;

    struct Operand {
        size_t elements;                      ///< of a lane
        std::vector<std::vector<size_t>> at;  ///< by lane and element: the place in the matrix
    };
    size_t m_ = 0, n_ = 0, k_ = 0;
    DType operand_, sum_;
    bool clamps_ = false;
    Operand operands_[3];
};

/// Places of a warpgroup's operand in local memory, from where its tile starts. They are of the rows of A that the wave
/// has, or of all of B, in the order row + rows * k.
std::vector<int64_t> places_of_tile(UOp wmma, size_t operand, size_t wave);

/// None where the instruction is not one of a wave of that size. Of a warpgroup's only the sums are in lanes.
std::optional<InterpretedProduct> product_of(UOp wmma, int wave_size);

}  // namespace strata::codegen
