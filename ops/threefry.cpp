// Threefry-2x32, 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), and what is made of
// it.
#include <cmath>

#include "strata/ops/build_p.h"
#include "strata/ops/random.h"

namespace strata::ops {
namespace {

constexpr int kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
constexpr int64_t kParity = 0x1BD11BDA;

Tensor rotated(const Tensor& x, int by) { return x.bitwise_left_shift(by).bitwise_or(x.bitwise_right_shift(32 - by)); }

/// The top `bits` bits of each word as a float in [0, 2^bits), exact.
Tensor top_bits(const Tensor& word, int bits, DType dtype) { return word.bitwise_right_shift(32 - bits).cast(dtype); }

}  // namespace

RandomBits threefry(const Tensor& key, int64_t n) {
    if (key.dtype() != dtypes::uint32 || key.shape() != Shape{4})
        user_error(ErrorKind::Usage, "[threefry] the key is {} {}, it must be uint32 (4,)", key.dtype().name(),
                   to_string(key.shape()));
    if (n <= 0 || n > int64_t{1} << 32)
        user_error(ErrorKind::Usage, "[threefry] {} numbers at once: 1 to 2^32 are possible", n);
    auto word = [&](int64_t i) { return key.shrink({{i, i + 1}}); };
    Tensor schedule[3] = {word(0), word(1)};
    schedule[2] = schedule[0].bitwise_xor(schedule[1]).bitwise_xor(kParity);
    Tensor low = iota(n).cast(dtypes::uint32).add(word(2));
    Tensor high = low.lt(word(2)).cast(dtypes::uint32).add(word(3));
    Tensor x = low.add(schedule[0]), y = high.add(schedule[1]);
    for (int round = 0; round < 20; ++round) {
        x = x.add(y);
        y = rotated(y, kRotations[round % 8]).bitwise_xor(x);
        if (round % 4 != 3) continue;
        int step = round / 4 + 1;
        x = x.add(schedule[step % 3]);
        y = y.add(schedule[(step + 1) % 3].add(step));
    }
    return {x, y};
}

Tensor uniform_from(const RandomBits& bits, DType dtype) {
    if (dtype == dtypes::float64) {
        Tensor high = top_bits(bits.first, 27, dtype), low = top_bits(bits.second, 26, dtype);
        return high.mul(std::ldexp(1.0, 26)).add(low).mul(std::ldexp(1.0, -53));
    }
    int digits = dtype.mantissa_bits() + 1;
    return top_bits(bits.first, digits, dtypes::float32).mul(std::ldexp(1.0, -digits)).cast(dtype);
}

Tensor normal_from(const RandomBits& bits, DType dtype) {
    bool wide = dtype == dtypes::float64;
    DType type = wide ? dtypes::float64 : dtypes::float32;
    int digits = wide ? 32 : 24;
    double unit = std::ldexp(1.0, -digits);
    Tensor u = top_bits(bits.first, digits, type).add(1).mul(unit);  // (0, 1]
    Tensor angle = top_bits(bits.second, digits, type).mul(2 * 3.14159265358979323846 * unit);
    return u.log().mul(-2).sqrt().mul(angle.cos()).cast(dtype);
}

}  // namespace strata::ops
