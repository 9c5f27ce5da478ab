#include <gtest/gtest.h>

#include <random>

#include "../target/gfx1100.h"
#include "strata/core/symbolic/symbolic.h"
#include "tape.h"

namespace strata::codegen {
namespace {

std::vector<int64_t> edges(DType t) {
    std::vector<int64_t> out;
    for (int i = 0; i < t.bits(); ++i)
        for (int64_t off : {-1, 0, 1})
            for (int64_t sign : {1, -1})
                out.push_back(wrap_to(t, static_cast<int64_t>(static_cast<uint64_t>(sign) *
                                                              ((uint64_t{1} << i) + static_cast<uint64_t>(off)))));
    for (int64_t v : {int_min(t), int_max(t), int_max(t) - 1, int_min(t) + 1, int64_t{0}, int64_t{10}})
        out.push_back(wrap_to(t, v));
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

/// A random number, of all sizes.
int64_t random_of(DType t, std::mt19937_64& random) {
    int keep = 1 + static_cast<int>(random() % static_cast<uint64_t>(t.bits()));
    int64_t v = static_cast<int64_t>(random() >> (64 - keep));
    return wrap_to(t, random() % 2 ? v : -v);
}

bool is_defined(DType t, int64_t n, int64_t d) { return d != 0 && (t.is_unsigned() || n != int_min(t) || d != -1); }

void expect_as_reference(Tape& tape, Op op, DType t, const std::vector<Column>& in) {
    Column got = tape.run(in);
    int wrong = 0;
    std::vector<ConstArg> v(in.size());
    for (size_t k = 0; k < in[0].i.size() && wrong < 5; ++k) {
        for (size_t j = 0; j < in.size(); ++j) v[j] = {in[j].i[k], 0};
        int64_t want = reference(op, t, t, v)->i;
        if (got.i[k] == want) continue;
        ADD_FAILURE() << info(op).name << " of " << t.name() << " " << v[0].i << ", " << v.back().i << ": " << want
                      << " expected, " << got.i[k] << " got";
        ++wrong;
    }
}

const DType kIntegers[] = {dtypes::int8,  dtypes::uint8,  dtypes::int16, dtypes::uint16,
                           dtypes::int32, dtypes::uint32, dtypes::int64, dtypes::uint64};

class Integers : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(All, Integers, testing::ValuesIn(kIntegers),
                         [](auto& p) { return std::string(p.param.name()); });

TEST_P(Integers, AreDividedByVariables) {
    GraphScope scope;
    const DType t = GetParam();
    std::mt19937_64 random(1);
    Column n, d;
    auto add = [&](int64_t x, int64_t y) {
        if (is_defined(t, x, y)) n.i.push_back(x), d.i.push_back(y);
    };
    if (t.bits() == 8)
        for (int64_t x = int_min(t); x <= int_max(t); ++x)
            for (int64_t y = int_min(t); y <= int_max(t); ++y) add(x, y);
    for (int64_t x : edges(t))
        for (int64_t y : edges(t)) add(x, y);
    if (t.bits() == 16)
        for (int64_t x = int_min(t); x <= int_max(t); ++x)
            for (int64_t y : {3, 10, 255, 32767}) add(x, y), add(y, x);
    for (int i = 0; i < 20'000; ++i) {
        int64_t x = random_of(t, random), y = random_of(t, random);
        add(x, y);
        if (!y) continue;
        int64_t q = wrap_to(t, random_of(t, random));  // next to a multiple
        for (int64_t off : {-1, 0, 1})
            add(wrap_to(t, static_cast<int64_t>(static_cast<uint64_t>(q) * static_cast<uint64_t>(y) +
                                                static_cast<uint64_t>(off))),
                y);
    }
    n.f.resize(n.i.size()), d.f.resize(n.i.size());
    for (Op op : {Op::idiv, Op::mod})
        for (bool nudge : {false, true}) {
            Tape tape(alu(op, {test_source(1, t), test_source(2, t)}), gfx1100, nudge);
            expect_as_reference(tape, op, t, {n, d});
        }
}

TEST_P(Integers, AreDividedByConstants) {
    GraphScope scope;
    const DType t = GetParam();
    std::mt19937_64 random(2);
    std::vector<int64_t> divisors = edges(t);
    for (int i = 0; i < 40; ++i) divisors.push_back(random_of(t, random));
    if (t.bits() == 8)
        for (int64_t x = int_min(t); x <= int_max(t); ++x) divisors.push_back(x);
    for (int64_t d : divisors) {
        Column n, by;
        auto add = [&](int64_t x) {
            if (is_defined(t, x, d)) n.i.push_back(x), by.i.push_back(d);
        };
        for (int64_t x : edges(t)) add(x);
        if (t.bits() <= 16)
            for (int64_t x = int_min(t); x <= int_max(t); ++x) add(x);
        for (int i = 0; i < 200; ++i) {
            add(random_of(t, random));
            int64_t q = random_of(t, random);
            for (int64_t off : {-1, 0, 1})
                add(wrap_to(t, static_cast<int64_t>(static_cast<uint64_t>(q) * static_cast<uint64_t>(d) +
                                                    static_cast<uint64_t>(off))));
        }
        if (n.i.empty()) continue;
        n.f.resize(n.i.size()), by.f.resize(n.i.size());
        for (Op op : {Op::idiv, Op::mod}) {
            Tape tape(alu(op, {test_source(1, t), constant_int(t, d)}), gfx1100);
            expect_as_reference(tape, op, t, {n, by});
        }
    }
}

TEST_P(Integers, OfKnownBoundsAreDividedByLessWork) {
    GraphScope scope;
    const DType t = GetParam();
    std::mt19937_64 random(3);
    for (int i = 0; i < 60; ++i) {
        const auto mask =
            static_cast<int64_t>((uint64_t{1} << (1 + random() % static_cast<uint64_t>(t.bits() - 1))) - 1);
        int64_t d = 1 + (random_of(t, random) & int_max(t) >> 1);
        Column n, masks, by;
        for (int k = 0; k < 500; ++k) {
            int64_t q = random_of(t, random);
            for (int64_t x :
                 {q, static_cast<int64_t>(static_cast<uint64_t>(q % (mask / d + 1)) * static_cast<uint64_t>(d)) - 1})
                n.i.push_back(wrap_to(t, x)), masks.i.push_back(mask), by.i.push_back(d);
        }
        n.f.resize(n.i.size()), by.f.resize(n.i.size());
        UOp x = alu(Op::bit_and, {test_source(1, t), constant_int(t, mask)});
        for (Op op : {Op::idiv, Op::mod}) {
            Tape tape(alu(op, {x, constant_int(t, d)}), gfx1100);
            std::vector<Column> in{n};
            Column masked = n;
            for (int64_t& v : masked.i) v &= mask;
            Column got = tape.run(in);
            for (size_t k = 0; k < n.i.size(); ++k)
                ASSERT_EQ(got.i[k], op == Op::idiv ? masked.i[k] / d : masked.i[k] % d)
                    << masked.i[k] << " " << d << " " << mask;
        }
    }
}

TEST_P(Integers, AreRaisedToPowers) {
    GraphScope scope;
    const DType t = GetParam();
    std::mt19937_64 random(4);
    Column base, exponent;
    for (int64_t x : edges(t))
        for (int64_t y : edges(t)) base.i.push_back(x), exponent.i.push_back(y);
    for (int i = 0; i < 3000; ++i)
        base.i.push_back(random_of(t, random)), exponent.i.push_back(random_of(t, random) % 70);
    base.f.resize(base.i.size()), exponent.f.resize(base.i.size());
    Tape tape(alu(Op::pow, {test_source(1, t), test_source(2, t)}), gfx1100);
    expect_as_reference(tape, Op::pow, t, {base, exponent});
    for (int64_t y : {0, 1, 2, 3, 7, 10, 100}) {
        std::fill(exponent.i.begin(), exponent.i.end(), y);
        Tape constant(alu(Op::pow, {test_source(1, t), constant_int(t, y)}), gfx1100);
        expect_as_reference(constant, Op::pow, t, {base, exponent});
    }
}

}  // namespace
}  // namespace strata::codegen
