#pragma once
#include <array>

#include "strata/ops/tensor.h"

namespace strata::ops {

/// Restarts this process's sequence of random numbers. The same calls give the same numbers on every device (of
/// normal ones, up to the rounding of a logarithm and a cosine).
void manual_seed(uint64_t seed);

/// Uniform in [0, 1), a floating type. float64 has 53 random bits, float32 24, narrower types as many as their
/// mantissa.
Tensor rand(const Shape& shape, DType dtype = dtypes::float32, std::string_view device = "");
/// Normal with mean 0 and deviation 1 (Box-Muller over float32, or float64 for float64).
Tensor randn(const Shape& shape, DType dtype = dtypes::float32, std::string_view device = "");
/// Integers in [low, high), an integer type.
Tensor randint(const Shape& shape, int64_t low, int64_t high, DType dtype = dtypes::int64,
               std::string_view device = "");

/// Keys that were taken while one was held, to be taken again: a computation that is made once more has the same random
/// numbers.
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

// The generator itself: Philox4x32-10. `key`: uint32 (6,): two words of key, four of an offset, the lowest first.
/// The four words of counter offset + index, for each of the index' uint32.
std::array<Tensor, 4> philox(const Tensor& key, const Tensor& index);
// n elements of consecutive counters, of which each gives four to words, two to pairs.
Tensor words_from(const Tensor& key, int64_t n);
std::array<Tensor, 2> pairs_from(const Tensor& key, int64_t n);
Tensor uniform_from(const Tensor& key, int64_t n, DType dtype);  ///< of float64 two a counter, of others four
Tensor normal_from(const Tensor& key, int64_t n, DType dtype);   ///< four a counter

}  // namespace strata::ops
