#include "model.h"

#include <gtest/gtest.h>

#include "../vector/dot_reference.h"
#include "../vector/harness.h"

// Every matrix instruction of every family against the model: layouts, number formats, modifiers, order of the sum.
namespace strata::emu {
namespace {

using namespace matrix_model;
using valu_test::Bench;
using valu_test::Inputs;
using valu_test::Variant;
using valu_test::variants;

uint64_t element_bits(const std::string& type, int values, Inputs& in) {
    const int bits = bits_of(type);
    const uint64_t r = in.next();
    const uint64_t all = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    if (bits <= 8) {
        const bool quiet = type != "fp8" && type != "bf8";
        if (quiet || values == 2) return r >> 40 & all;
        return (r >> 40 & 0xbf) ^ (values ? 0 : 0x20);  // no infinity or NaN
    }
    const int exponent_bits = type == "f16" ? 5 : type == "f64" ? 11 : 8;
    const int mantissa_bits = bits - 1 - exponent_bits;
    const uint64_t top = (uint64_t{1} << exponent_bits) - 1, bias = top / 2;
    if (values == 3 && (r >> 3 & 3) == 0) return (r >> 63) << (bits - 1);
    uint64_t exponent = bias - 3 + (r & 7);
    if (values >= 1 && (r >> 3 & 3) == 0) exponent = r >> 5 & 3;  // denormals and their neighbours
    if (values == 1 && (r >> 3 & 3) == 1) exponent = bias - (exponent_bits == 8 ? 64 : 6) + (r >> 5 & 3);
    if (values == 2 && (r >> 16 & 63) == 0) exponent = top;
    uint64_t mantissa = r >> 20 & ((uint64_t{1} << mantissa_bits) - 1);
    if (values == 2 && (r >> 8 & 1)) mantissa = 0;
    return (r >> 63) << (bits - 1) | exponent << mantissa_bits | mantissa;
}

/// Piece `e` of `bits` bits in a lane's registers from `row` on.
uint64_t piece(Bench& bench, int row, int lane, int e, int bits) {
    if (bits == 64) return bench.v64(row + 2 * e, lane);
    const int each = 32 / bits;
    const uint32_t word = bench.v(row + e / each, lane) >> (e % each * bits);
    return bits == 32 ? word : word & ((1u << bits) - 1);
}

class MatrixRun {
  public:
    MatrixRun(const Case& c, const Form& form) : c_(c), form_(form), bench_(c.lanes) {
        Inputs in(std::hash<std::string>{}(c.mnemonic) + static_cast<uint64_t>(form.values));
        for (int row = 0; row < 256; ++row)
            for (int lane = 0; lane < c.lanes; ++lane) bench_.v(row, lane) = static_cast<uint32_t>(in.next() >> 32);
        fill(kA, c.a, elements(c, true), in);
        fill(kB, c.b, elements(c, false), in);
        const int c_row = c.sparse ? form.d : form.c;
        fill(c_row, c.result, results(c) * (half_register() ? 2 : 1), in);
        if (form.clamp)  // near the ends
            for (int r = 0; r < results(c); ++r)
                for (int lane = 0; lane < c.lanes; ++lane)
                    bench_.v(c_row + r, lane) = lane & 1 ? 0x7fffff00u : 0x80000100u;
        bench_.set_exec(0);  // does not matter
        expect();
    }

    void check(const Variant& variant) {
        std::vector<uint32_t> saved(bench_.wave().row(0), bench_.wave().row(0) + 256 * c_.lanes);
        isa::Row row{c_.mnemonic, isa::Format::VOP3P, 0, {}, {}, isa::kMatrix};
        const isa::Inst inst = instruction(c_, form_, row);
        valu_test::Code code;
        ASSERT_TRUE(code.add(variant, inst, c_.lanes, c_.arch)) << variant.name;
        code.end();
        ASSERT_TRUE(bench_.run(code));
        for (int at = 0; at < 256 * c_.lanes; ++at)
            ASSERT_EQ(bench_.wave().row(0)[at], expected_[static_cast<size_t>(at)])
                << variant.name << " v" << at / c_.lanes << " lane " << at % c_.lanes << " form cbsz " << form_.cbsz
                << " abid " << form_.abid << " blgp " << form_.blgp << " neg " << form_.neg << " neg_hi "
                << form_.neg_hi << " values " << form_.values;
        std::copy(saved.begin(), saved.end(), bench_.wave().row(0));
    }

  private:
    bool half_register() const { return bits_of(c_.result) == 16 && c_.arch == Arch::gfx1100; }
    bool integers() const { return c_.result == "i32"; }

    void fill(int row, const std::string& type, int count, Inputs& in) {
        const std::string kind = type == "i32" ? "f32" : type;
        const int bits = bits_of(kind);
        for (int lane = 0; lane < c_.lanes; ++lane)
            for (int e = 0; e < count; ++e) {
                const uint64_t x = element_bits(kind, form_.values, in);
                if (bits == 64) {
                    bench_.v(row + 2 * e, lane) = static_cast<uint32_t>(x);
                    bench_.v(row + 2 * e + 1, lane) = static_cast<uint32_t>(x >> 32);
                } else {
                    const int each = 32 / bits, shift = e % each * bits;
                    const uint32_t mask = bits == 32 ? ~0u : ((1u << bits) - 1) << shift;
                    uint32_t& word = bench_.v(row + e / each, lane);
                    word = (word & ~mask) | static_cast<uint32_t>(x << shift);
                }
            }
    }

    /// Dense matrices by block: input[block][k][i].
    using Dense = std::vector<double>;
    double& at(Dense& x, int outer, int columns, int block, int k, int i) const {
        return x[static_cast<size_t>((block * columns + k) * outer + i)];
    }

    Dense gather(bool is_a) {
        const int outer = is_a ? c_.m : c_.n, columns = is_a ? c_.stored() : c_.k;
        const std::string& type = is_a ? c_.a : c_.b;
        const int bits = bits_of(type), source = is_a ? 0 : 1;
        Dense x(static_cast<size_t>(c_.blocks * columns * outer), NAN);
        for (int lane = 0; lane < c_.lanes; ++lane)
            for (int e = 0; e < elements(c_, is_a); ++e) {
                const At place = input_at(c_, is_a, lane, e);
                if (!place.used) continue;
                const int from = is_a ? lane : permuted(lane, c_.result == "f64" ? 0 : form_.blgp);
                double value =
                    value_of(c_, type, piece(bench_, is_a ? kA : kB, from, e, bits), form_.neg >> source & 1);
                const bool negated = (e & 1 ? form_.neg_hi : form_.neg) >> source & 1;
                if (bits == 16 && negated) value = -value;
                if (c_.result == "f64" && form_.blgp >> source & 1) value = -value;
                at(x, outer, columns, place.block, place.k, place.i) = value;
            }
        return x;
    }

    /// Row of B that stored element `slot` of row i of A multiplies.
    int row_of_b(int i, int slot) {
        if (!c_.sparse) return slot;
        for (int lane = 0; lane < c_.lanes; ++lane)
            for (int e = 0; e < elements(c_, true); ++e) {
                const At place = input_at(c_, true, lane, e);
                if (!place.used || place.k != slot || place.i != i) continue;
                const int set = c_.cdna() ? (form_.cbsz ? 0 : form_.abid) : form_.op_sel;
                const int bit = set * 2 * elements(c_, true) + 2 * e;
                return slot / 2 * 4 + static_cast<int>(bench_.v(kIndex, lane) >> bit & 3);
            }
        ADD_FAILURE() << "no place of " << i << ", " << slot;
        return 0;
    }

    void expect() {
        expected_.assign(bench_.wave().row(0), bench_.wave().row(0) + 256 * c_.lanes);
        Dense a = gather(true), b = gather(false);
        std::vector<int> b_row(static_cast<size_t>(c_.m * c_.stored()));
        for (int i = 0; i < c_.m; ++i)
            for (int s = 0; s < c_.stored(); ++s) b_row[static_cast<size_t>(i * c_.stored() + s)] = row_of_b(i, s);
        for (int r = 0; r < results(c_); ++r)
            for (int lane = 0; lane < c_.lanes; ++lane) {
                const ResultAt to = result_at(c_, r, lane);
                if (chip_order()) {
                    put_dots(r, lane, to);
                    continue;
                }
                const int a_block = broadcast(to.block, c_.sparse ? 0 : form_.cbsz, c_.sparse ? 0 : form_.abid);
                std::vector<std::pair<double, double>> products;
                for (int s = 0; s < c_.stored(); ++s)
                    products.push_back(
                        {at(a, c_.m, c_.stored(), a_block, s, to.i),
                         at(b, c_.n, c_.k, to.block, b_row[static_cast<size_t>(to.i * c_.stored() + s)], to.j)});
                put(r, lane, products);
            }
    }

    /// True if sums are those that chips were seen to give (dot_reference.h).
    bool chip_order() const { return !c_.cdna() && !c_.sparse && (c_.a == "f16" || c_.a == "bf16"); }

    /// The bits of a row of A, or a column of B, signs changed as the modifiers say.
    std::vector<uint32_t> line(bool is_a, int i) {
        std::vector<uint32_t> x(static_cast<size_t>(c_.k));
        const int source = is_a ? 0 : 1;
        for (int lane = 0; lane < c_.lanes; ++lane)
            for (int e = 0; e < elements(c_, is_a); ++e) {
                const At place = input_at(c_, is_a, lane, e);
                if (!place.used || place.i != i) continue;
                const uint32_t sign = (e & 1 ? form_.neg_hi : form_.neg) >> source & 1 ? 0x8000 : 0;
                x[static_cast<size_t>(place.k)] =
                    static_cast<uint32_t>(piece(bench_, is_a ? kA : kB, lane, e, 16)) ^ sign;
            }
        return x;
    }
    void put_dots(int r, int lane, const ResultAt& to) {
        using namespace reference;
        const bool rdna4 = c_.arch == Arch::gfx1201, narrow = c_.result != "f32";
        const int number = half_register() ? 2 * r + (form_.op_sel & 4 ? 1 : 0) : r;
        auto sum = static_cast<uint32_t>(form_.constant ? form_.constant_bits
                                                        : piece(bench_, form_.c, lane, number, bits_of(c_.result)));
        const uint32_t sign = narrow ? 0x8000 : 0x80000000;
        if (form_.neg_hi & 4) sum &= ~sign;
        if (form_.neg & 4) sum ^= sign;
        const std::vector<uint32_t> a = line(true, to.i), b = line(false, to.j);
        const size_t each = rdna4 ? 4 : 2;
        for (size_t step = 0; step < 16; step += each) {
            const size_t first = rdna4 && c_.lanes == 32 && (step == 4 || step == 8) ? 12 - step : step;
            const auto left = std::span(a).subspan(first, each), right = std::span(b).subspan(first, each);
            sum = c_.result == "f16"    ? dot_f16(rdna4, left, right, sum, false)
                  : c_.result == "bf16" ? dot_bf16(rdna4, left, right, sum)
                  : c_.a == "f16"       ? dot_single(rdna4, kHalf, kHalf, left, right, sum)
                                        : dot_single(rdna4, brain_format(rdna4), brain_format(rdna4), left, right, sum);
        }
        const int shift = narrow ? 16 * (number % 2) : 0;
        uint32_t& word = expected(form_.d + (narrow ? number / 2 : r), lane);
        word = narrow ? (word & ~(0xffffu << shift)) | sum << shift : sum;
    }

    uint32_t& expected(int row, int lane) { return expected_[static_cast<size_t>(row * c_.lanes + lane)]; }

    void put(int r, int lane, const std::vector<std::pair<double, double>>& products) {
        const int c_row = c_.sparse ? form_.d : form_.c;
        const int bits = bits_of(c_.result);
        const int high = form_.op_sel & 4 ? 1 : 0, number = half_register() ? 2 * r + high : r;
        uint64_t addend = form_.constant ? form_.constant_bits : piece(bench_, c_row, lane, number, bits);
        if (c_.result == "f64" && form_.constant) addend <<= 32;  // the high dword
        if (integers()) {
            int64_t sum = static_cast<int32_t>(addend);
            for (auto [x, y] : products) sum += static_cast<int64_t>(x) * static_cast<int64_t>(y);
            if (form_.clamp) sum = std::clamp<int64_t>(sum, INT32_MIN, INT32_MAX);
            expected(form_.d + r, lane) = static_cast<uint32_t>(sum);
        } else if (bits == 64) {
            double sum = std::bit_cast<double>(addend);
            if (form_.blgp & 4) sum = -sum;
            for (auto [x, y] : products) sum = std::fma(x, y, sum);
            const uint64_t out = std::isnan(sum) ? 0x7ff8000000000000 : std::bit_cast<uint64_t>(sum);
            expected(form_.d + 2 * r, lane) = static_cast<uint32_t>(out);
            expected(form_.d + 2 * r + 1, lane) = static_cast<uint32_t>(out >> 32);
        } else {
            put_float(r, lane, number, static_cast<uint32_t>(addend), products);
        }
    }

    void put_float(int r, int lane, int number, uint32_t addend,
                   const std::vector<std::pair<double, double>>& products) {
        const bool flushes = c_.arch == Arch::gfx90a && (c_.a == "f16" || c_.a == "bf16");
        auto flushed = [&](float x) { return flushes && std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; };
        auto sum = static_cast<float>(
            value_of({c_.arch == Arch::gfx90a ? Arch::gfx942 : c_.arch, ""}, c_.result, addend, false));
        if (!c_.sparse && !c_.cdna()) {
            if (form_.neg_hi & 4) sum = std::fabs(sum);
            if (form_.neg & 4) sum = -sum;
        }
        sum = flushed(sum);
        if (flushes) {
            auto product = [&](size_t k) {
                return flushed(static_cast<float>(products[k].first * products[k].second));
            };
            const size_t each = c_.a == "f16" || c_.mnemonic.ends_with("_1k") ? 4 : 2;
            sum = sum == 0 ? 0 : sum;
            for (size_t k = 0; k < products.size(); k += each) {
                float group = flushed(product(k) + product(k + 1));
                if (each == 4) group = flushed(group + flushed(product(k + 2) + product(k + 3)));
                sum = flushed(sum + group);
            }
        } else if (c_.arch == Arch::gfx942 && !c_.sparse && c_.a != "f32") {
            const size_t each = c_.a == "xf32" ? 4 : bits_of(c_.a) == 8 ? 16 : std::min<size_t>(8, products.size());
            for (size_t k = 0; k < products.size(); k += each) sum = fused(std::span(products).subspan(k, each), sum);
        } else {
            for (auto [x, y] : products) sum = std::fma(static_cast<float>(x), static_cast<float>(y), sum);
        }
        sum = flushed(sum);
        if (c_.result == "f32") {
            expected(form_.d + r, lane) = std::isnan(sum) ? 0x7fc00000 : std::bit_cast<uint32_t>(sum);
            return;
        }
        const uint32_t narrow = c_.result == "f16" ? reference::half_bits(sum) : brain_bits(sum);
        const int shift = 16 * (number % 2);
        uint32_t& word = expected(form_.d + number / 2, lane);
        word = (word & ~(0xffffu << shift)) | narrow << shift;
    }

    static int exponent_of(double x, const std::string& type) {
        if (x == 0) return -1000;
        const int least = type == "f16" ? -14 : type == "fp8" ? -7 : type == "bf8" ? -15 : -126;
        return std::max(std::ilogb(x), least);
    }
    /// MI300X's sum of products and `c` at once: whole numbers of ever finer places.
    float fused(std::span<const std::pair<double, double>> products, float c) const {
        double plain = c, infinite = 0;
        for (auto [x, y] : products) {
            plain += x * y;
            if (std::fabs(x * y) >= 0x1p128) infinite += std::copysign(INFINITY, x * y);
        }
        if (!std::isfinite(plain)) return static_cast<float>(plain);
        if (infinite != 0) return static_cast<float>(infinite);
        const size_t halves = bits_of(c_.a) == 8 ? 2 : 1;
        double whole[2] = {};
        int place[2] = {-1000, -1000};
        for (size_t half = 0; half < halves; ++half) {
            for (size_t k = half; k < products.size(); k += halves)
                place[half] =
                    std::max(place[half], exponent_of(products[k].first, c_.a) + exponent_of(products[k].second, c_.b));
            for (size_t k = half; k < products.size(); k += halves)
                whole[half] += std::trunc(std::ldexp(products[k].first * products[k].second, 24 - place[half]));
        }
        const int most = std::max(place[0], place[1]);
        double sum = whole[0];
        if (halves == 2)
            sum = std::floor(std::ldexp(whole[0], place[0] - most)) + std::floor(std::ldexp(whole[1], place[1] - most));
        const int own = exponent_of(c, "f32"), top = std::max(most, own);
        double addend = std::floor(std::ldexp(static_cast<double>(c), 24 - top));
        if (halves == 2 && own < top - 25) addend = 0;
        return static_cast<float>(std::ldexp(std::floor(std::ldexp(sum, most - top + 7)) + 128 * addend, top - 31) +
                                  0.0);
    }

    static uint32_t brain_bits(float x) {
        if (std::isnan(x)) return 0x7fc0;
        const uint32_t bits = std::bit_cast<uint32_t>(x), rest = bits & 0xffff;
        const bool up = rest > 0x8000 || (rest == 0x8000 && (bits >> 16 & 1));
        return (bits >> 16) + (up ? 1 : 0);
    }

    const Case& c_;
    Form form_;
    Bench bench_;
    std::vector<uint32_t> expected_;
};

class Matrix : public ::testing::TestWithParam<Case> {
  protected:
    void check(const Form& form) {
        MatrixRun run(GetParam(), form);
        for (const Variant& variant : variants()) ASSERT_NO_FATAL_FAILURE(run.check(variant));
    }
    bool takes(const isa::Inst& inst) {
        return variants()[0].choose({inst, GetParam().arch, GetParam().lanes}).has_value();
    }
};

TEST_P(Matrix, MultipliesAndAddsInTheStatedOrder) {
    for (int values = 0; values < 4; ++values) ASSERT_NO_FATAL_FAILURE(check({.values = values}));
}

TEST_P(Matrix, ResultMayReplaceOrPartlyOverlapTheAddend) {
    ASSERT_NO_FATAL_FAILURE(check({.d = kC}));
    if (!GetParam().sparse) {
        ASSERT_NO_FATAL_FAILURE(check({.d = kC + 2}));
        ASSERT_NO_FATAL_FAILURE(check({.d = kC - 2}));
    }
    ASSERT_NO_FATAL_FAILURE(check({.d = kA}));
}

TEST_P(Matrix, TakesInlineConstantsAsAddend) {
    const Case& c = GetParam();
    if (c.sparse) return;
    const bool half = c.result == "f16", brain = c.result == "bf16";
    const uint32_t minus_two = c.result == "f64" ? 0xc0000000 : half ? 0xc000 : brain ? 0xc000 : 0xc0000000;
    const uint32_t tenth = c.result == "f64" ? 0x3fe00000 : half ? 0x3800 : brain ? 0x3f00 : 0x3f000000;
    ASSERT_NO_FATAL_FAILURE(check({.constant = 245, .constant_bits = minus_two}));
    ASSERT_NO_FATAL_FAILURE(check({.constant = 240, .constant_bits = tenth}));
    ASSERT_NO_FATAL_FAILURE(check({.constant = 128, .constant_bits = 0}));
    if (!c.cdna()) {
        const uint32_t literal = half ? 0x4248 : 0x40490fdb, bits = brain ? 0x0fdb : literal;
        ASSERT_NO_FATAL_FAILURE(check({.constant = 255, .constant_bits = bits, .literal = literal}));
    }
    if (c.result == "i32") {
        ASSERT_NO_FATAL_FAILURE(check({.constant = 195, .constant_bits = static_cast<uint32_t>(-3)}));
    }
}

TEST_P(Matrix, BroadcastsBlocksOfA) {
    const Case& c = GetParam();
    if (c.blocks == 1 || c.a == "f64") return;
    for (int cbsz = 1; 1 << cbsz <= c.blocks; ++cbsz)
        for (int abid : {0, (1 << cbsz) - 1, (1 << cbsz) / 2})
            ASSERT_NO_FATAL_FAILURE(check({.cbsz = cbsz, .abid = abid}));
}

TEST_P(Matrix, PermutesLanesOfB) {
    const Case& c = GetParam();
    const bool single_block = c.arch == Arch::gfx90a || c.a == "f32";
    if (!c.cdna() || c.sparse || c.a == "f64" || (c.blocks == 1 && !single_block)) return;
    for (int blgp = 1; blgp < 8; ++blgp) ASSERT_NO_FATAL_FAILURE(check({.blgp = blgp}));
}

TEST_P(Matrix, NegatesItsOperands) {
    const Case& c = GetParam();
    if (c.arch == Arch::gfx942 && c.a == "f64") {
        for (int blgp = 1; blgp < 8; ++blgp) ASSERT_NO_FATAL_FAILURE(check({.blgp = blgp, .values = 1}));
    }
    if (c.cdna() || c.result == "i32") return;
    const int first = bits_of(c.a) == 16 ? 1 : 4;  // 8-bit sources have no signs
    for (int neg = first; neg < 8; neg += first)
        for (int neg_hi : {0, first, 4, 7 & -first}) ASSERT_NO_FATAL_FAILURE(check({.neg = neg, .neg_hi = neg_hi}));
}

TEST_P(Matrix, TellsSignedFromUnsignedAndClamps) {
    const Case& c = GetParam();
    if (c.cdna() || c.result != "i32") return;
    for (int neg = 0; neg < 4; ++neg)
        for (bool clamp : {false, true}) ASSERT_NO_FATAL_FAILURE(check({.neg = neg, .clamp = clamp}));
}

TEST_P(Matrix, TakesTheSelectedHalfOrIndexSet) {
    const Case& c = GetParam();
    if (c.arch == Arch::gfx1100 && bits_of(c.result) == 16) {
        for (int values = 0; values < 3; ++values) ASSERT_NO_FATAL_FAILURE(check({.op_sel = 4, .values = values}));
    }
    if (!c.sparse) return;
    const int sets = 32 / (2 * elements(c, true));
    for (int set = 1; set < sets; ++set) {
        if (c.cdna()) {
            ASSERT_NO_FATAL_FAILURE(check({.abid = set}));
            ASSERT_NO_FATAL_FAILURE(check({.cbsz = 1, .abid = set}));
        } else {
            ASSERT_NO_FATAL_FAILURE(check({.op_sel = set}));
        }
    }
}

TEST_P(Matrix, RefusesModifiersWithoutMeaning) {
    const Case& c = GetParam();
    if (!c.cdna()) return;
    isa::Row row{c.mnemonic, isa::Format::VOP3P, 0, {}, {}, isa::kMatrix};
    isa::Inst inst = instruction(c, {}, row);
    EXPECT_TRUE(takes(inst));
    if (c.sparse) {
        inst.blgp = 1;
        EXPECT_FALSE(takes(inst));
    } else {
        inst.abid = 1;  // no group to choose from
        EXPECT_FALSE(takes(inst));
        inst.abid = 0, inst.cbsz = 5;
        EXPECT_FALSE(takes(inst));
    }
}

INSTANTIATE_TEST_SUITE_P(All, Matrix, ::testing::ValuesIn(all_cases()), case_name);

}  // namespace
}  // namespace strata::emu
