#pragma once
#include "strata/ops/tensor.h"

namespace strata::ops {

/// Starts this process's sequence of random numbers anew: the same calls give the same numbers on every device.
void manual_seed(uint64_t seed);

/// Uniform in [0, 1), a floating type. float64 has 53 random bits, float32 24, narrower types as many as their
/// mantissa.
Tensor rand(const Shape& shape, DType dtype = dtypes::float32, std::string_view device = "");
/// Normal with mean 0 and deviation 1 (Box-Muller over float32, or float64 for float64).
Tensor randn(const Shape& shape, DType dtype = dtypes::float32, std::string_view device = "");
/// Integers in [low, high), an integer type.
Tensor randint(const Shape& shape, int64_t low, int64_t high, DType dtype = dtypes::int64,
               std::string_view device = "");

/// Keys that were taken while one was held, to be taken again: a computation that is made once more has the same random numbers.
class KeyLog {
  public:
    class Scope {
      public:
        Scope(KeyLog& log, bool again);
        ~Scope();
        Scope(const Scope&) = delete;

      private:
        friend class KeyLog;
        KeyLog& log_;
        const bool again_;
        size_t next_ = 0;
        Scope* const around_;
    };
    static Tensor next(int64_t n, std::string_view device);

  private:
    static Tensor next(Scope* scope, int64_t n, std::string_view device);
    std::vector<Tensor> keys_;
};

// The generator itself: Threefry-2x32 with 20 rounds. `key`: uint32 (4,): key low and high, offset low and high;
// element i of the result is the block of counter offset + i.
struct RandomBits {
    Tensor first, second;  ///< uint32 (n,)
};
RandomBits threefry(const Tensor& key, int64_t n);
Tensor uniform_from(const RandomBits& bits, DType dtype);
Tensor normal_from(const RandomBits& bits, DType dtype);

}  // namespace strata::ops
