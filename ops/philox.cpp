// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011), and distributions made of it.
#include <cmath>

#include "strata/ops/build_p.h"
#include "strata/ops/random.h"

namespace strata::ops {
namespace {

constexpr int64_t kMultipliers[2] = {0xD2511F53, 0xCD9E8D57}, kWeyl[2] = {0x9E3779B9, 0xBB67AE85};
constexpr int kRounds = 10;

/// Upper and lower half of the product of a word and a number.
std::pair<Tensor, Tensor> product_of(const Tensor& word, int64_t number) {
    const Tensor whole = word.cast(dtypes::uint64).mul(number);
    return {whole.bitwise_right_shift(32).cast(dtypes::uint32), whole.cast(dtypes::uint32)};
}

/// The words of counters offset + index: 128-bit sums.
std::array<Tensor, 4> counters(const Tensor& key, const Tensor& index) {
    std::array<Tensor, 4> words;
    Tensor carry = index;
    for (int i = 0; i < 4; ++i) {
        words[i] = carry.add(key.shrink({{2 + i, 3 + i}}));
        carry = words[i].lt(carry).cast(dtypes::uint32);
    }
    return words;
}

/// Which of as many values (a power of two of them) each element takes.
Tensor chosen(const Tensor& which, std::span<const Tensor> of) {
    if (of.size() == 1) return of[0];
    const size_t half = of.size() / 2;
    const Tensor odd = op(Op::mod, which, like(which, 2)), rest = op(Op::idiv, which, like(which, 2));
    std::vector<Tensor> left;
    for (size_t i = 0; i < half; ++i) left.push_back(select(odd.eq(0), of[2 * i], of[2 * i + 1]));
    return chosen(rest, left);
}

/// Element i is value i % q of block i / q, where blocks have q: neighbours that one thread computes share the block.
struct Dealt {
    Tensor which;
    std::array<Tensor, 4> block;
};
Dealt deal(const Tensor& key, int64_t n, int a_block) {
    const Tensor i = iota(n), count = like(i, a_block);
    return {op(Op::mod, i, count), philox(key, op(Op::idiv, i, count).cast(dtypes::uint32))};
}

/// The top `bits` bits of each word as a float in [0, 2^bits), exact.
Tensor top_bits(const Tensor& word, int bits, DType dtype) { return word.bitwise_right_shift(32 - bits).cast(dtype); }

}  // namespace

std::array<Tensor, 4> philox(const Tensor& key, const Tensor& index) {
    if (key.dtype() != dtypes::uint32 || key.shape() != Shape{6})
        user_error(ErrorKind::Usage, "[philox] the key is {} {}, it must be uint32 (6,)", key.dtype().name(),
                   to_string(key.shape()));
    std::array<Tensor, 4> x = counters(key, index);
    const Tensor keys[2] = {key.shrink({{0, 1}}), key.shrink({{1, 2}})};
    for (int round = 0; round < kRounds; ++round) {
        auto key_of = [&](int i) { return keys[i].add((kWeyl[i] * round) & 0xFFFFFFFF); };
        const auto [high0, low0] = product_of(x[0], kMultipliers[0]);
        const auto [high1, low1] = product_of(x[2], kMultipliers[1]);
        x = {high1.bitwise_xor(x[1]).bitwise_xor(key_of(0)), low1, high0.bitwise_xor(x[3]).bitwise_xor(key_of(1)),
             low0};
    }
    return x;
}

Tensor words_from(const Tensor& key, int64_t n) {
    const Dealt dealt = deal(key, n, 4);
    return chosen(dealt.which, dealt.block);
}

std::array<Tensor, 2> pairs_from(const Tensor& key, int64_t n) {
    const auto [which, block] = deal(key, n, 2);
    return {chosen(which, std::array{block[0], block[2]}), chosen(which, std::array{block[1], block[3]})};
}

Tensor uniform_from(const Tensor& key, int64_t n, DType dtype) {
    if (dtype == dtypes::float64) {
        const auto [first, second] = pairs_from(key, n);
        Tensor high = top_bits(first, 27, dtype), low = top_bits(second, 26, dtype);
        return high.mul(std::ldexp(1.0, 26)).add(low).mul(std::ldexp(1.0, -53));
    }
    int digits = dtype.mantissa_bits() + 1;
    return top_bits(words_from(key, n), digits, dtypes::float32).mul(std::ldexp(1.0, -digits)).cast(dtype);
}

Tensor normal_from(const Tensor& key, int64_t n, DType dtype) {
    bool wide = dtype == dtypes::float64;
    DType type = wide ? dtypes::float64 : dtypes::float32;
    int digits = wide ? 32 : 24;
    double unit = std::ldexp(1.0, -digits);
    // Two words make two numbers: the cosine of an angle, and its sine, which is the cosine a quarter of a turn before.
    const auto [which, block] = deal(key, n, 4);
    const Tensor pair = op(Op::idiv, which, like(which, 2)), turned = op(Op::mod, which, like(which, 2)).cast(type);
    Tensor u = top_bits(chosen(pair, std::array{block[0], block[2]}), digits, type).add(1).mul(unit);  // (0, 1]
    Tensor turn = top_bits(chosen(pair, std::array{block[1], block[3]}), digits, type);
    Tensor angle = turn.sub(turned.mul(std::ldexp(0.25, digits))).mul(2 * 3.14159265358979323846 * unit);
    return u.log().mul(-2).sqrt().mul(angle.cos()).cast(dtype);
}

}  // namespace strata::ops
