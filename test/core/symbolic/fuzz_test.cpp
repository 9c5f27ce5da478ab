#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <random>

#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/reference.h"

// Random expressions: simplify(e) has the value of e for random values of its variables, and bounds hold every value.

namespace strata {
namespace {

using Values = UOpMap<ConstArg>;

const uint64_t kSeeds =
    std::getenv("STRATA_FUZZ_SEEDS") ? std::strtoull(std::getenv("STRATA_FUZZ_SEEDS"), nullptr, 10) : 1;

class Fuzzer {
  public:
    explicit Fuzzer(uint64_t seed) : random_(seed) {}

    int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
    template <class T>
    T one_of(std::initializer_list<T> list) {
        return list.begin()[pick(0, static_cast<int64_t>(list.size()) - 1)];
    }

    UOp variable(DType t) {
        if (t == dtypes::index) {
            static constexpr int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 32, 100};
            int id = static_cast<int>(pick(0, 11));
            return make(Op::range, t, {}, RangeArg{id, sizes[id], Axis::loop});
        }
        UOp memory = make(Op::param, t, {}, ParamArg{Space::global, static_cast<int>(pick(0, 3)), 16});
        return make(Op::load, t, {make(Op::index, t, {memory, constant_int(dtypes::index, 0)})});
    }

    ConstArg value_of(UOp u) {
        DType t = u.dtype();
        if (u.is(Op::range)) return {pick(0, u.as<RangeArg>().size - 1), 0};
        if (t.is_float()) return {0, round_to(t, special_float())};
        int64_t x = pick(0, 2) ? pick(-20, 20) : static_cast<int64_t>(random_());
        if (pick(0, 9) == 0) x = pick(0, 1) ? int_min(t) : int_max(t);
        return {wrap_to(t, x), 0};
    }

    double special_float() {
        constexpr double inf = std::numeric_limits<double>::infinity();
        switch (pick(0, 9)) {
            case 0: return one_of({0.0, -0.0, inf, -inf, std::nan("")});
            case 1: return std::ldexp(static_cast<double>(pick(-100, 100)), static_cast<int>(pick(-160, 120)));
            default: return static_cast<double>(pick(-64, 64)) / 8;
        }
    }

    UOp number(DType t) {
        if (t.is_float()) return constant(t, pick(0, 3) ? special_float() : one_of({0.0, -0.0, 1.0, -1.0, 2.0, 0.5}));
        if (t.is_bool()) return constant_int(t, pick(0, 1));
        if (t == dtypes::index || pick(0, 4))
            return constant_int(t,
                                one_of<int64_t>({0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, -1, -2, -3, -8}));
        return constant_int(t, static_cast<int64_t>(random_()));
    }

    UOp positive(DType t) {
        return constant_int(t, one_of<int64_t>({1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 96}));
    }

    UOp expression(DType t, int depth) {
        if (depth == 0) return pick(0, 2) ? variable(t) : number(t);
        auto sub = [&] { return expression(t, depth - static_cast<int>(pick(1, 2)) < 0 ? 0 : depth - 1); };
        if (pick(0, 9) == 0) return alu(Op::where, {expression(dtypes::boolean, depth - 1), sub(), sub()});
        if (t.is_bool()) return boolean(depth);
        if (t.is_float()) return floating(t, depth);
        switch (pick(0, 13)) {
            case 0:
            case 1:
            case 2: return sub() + sub();
            case 3: return sub() - sub();
            case 4:
            case 5:
                return sub() * (t == dtypes::index && pick(0, 3) ? number(t)
                                : t == dtypes::index             ? variable(t)
                                                                 : sub());
            case 6:
            case 7: return sub() / (pick(0, 5) ? positive(t) : number(t));
            case 8:
            case 9: return sub() % (pick(0, 5) ? positive(t) : number(t));
            case 10: return alu(one_of({Op::max, Op::min}), {sub(), sub()});
            case 11:
                return t == dtypes::index ? sub() + number(t)
                                          : alu(one_of({Op::bit_and, Op::bit_or, Op::bit_xor}),
                                                {sub(), pick(0, 1) ? sub() : number(t)});
            case 12: return alu(one_of({Op::shl, Op::shr}), {sub(), constant_int(t, pick(0, 4))});
            default:
                return pick(0, 1) ? alu(one_of({Op::neg, Op::abs}), {sub()})
                                  : cast(expression(other_type(), depth - 1), t);
        }
    }

    DType other_type() {
        return one_of({dtypes::int8, dtypes::uint8, dtypes::int16, dtypes::int32, dtypes::uint32, dtypes::int64,
                       dtypes::boolean, dtypes::index, dtypes::float16, dtypes::float32});
    }

    UOp boolean(int depth) {
        auto sub = [&](DType t) { return expression(t, depth - 1); };
        DType t = pick(0, 2) ? dtypes::index : other_type();
        switch (pick(0, 8)) {
            case 0:
            case 1: return sub(t) < (t.is_float() || pick(0, 1) ? sub(t) : number(t));
            case 2: return number(t) < sub(t);
            case 3: return alu(one_of({Op::cmpeq, Op::cmpne}), {sub(t), pick(0, 1) ? sub(t) : number(t)});
            case 4: return alu(Op::logical_not, {sub(dtypes::boolean)});
            case 5:
                return alu(
                    one_of({Op::bit_xor, Op::add, Op::mul, Op::max, Op::min, Op::cmplt, Op::cmpeq, Op::cmpne, Op::sub}),
                    {sub(dtypes::boolean), sub(dtypes::boolean)});
            case 6: return cast(sub(t), dtypes::boolean);
            default: return alu(one_of({Op::bit_and, Op::bit_or}), {sub(dtypes::boolean), sub(dtypes::boolean)});
        }
    }

    UOp floating(DType t, int depth) {
        auto sub = [&] { return expression(t, depth - 1); };
        switch (pick(0, 9)) {
            case 0: return alu(one_of({Op::neg, Op::abs, Op::floor, Op::trunc, Op::sqrt, Op::recip}), {sub()});
            case 1: return alu(Op::fma, {sub(), sub(), sub()});
            case 2: return cast(expression(other_type(), depth - 1), t);
            case 3: return cast(expression(dtypes::float16, depth - 1), t);
            default: return alu(one_of({Op::add, Op::sub, Op::mul, Op::fdiv, Op::max, Op::min}), {sub(), sub()});
        }
    }

    uint64_t bits() { return random_(); }

  private:
    std::mt19937_64 random_;
};

struct Outcome {
    bool defined = true;  ///< every index value is an offset
    ConstArg value;
};

/// Index arithmetic is about offsets: far below 64 bits in every step, however its sums are grouped.
bool is_offset(DType t, const ConstArg& v) {
    return t != dtypes::index || (v.i < int64_t{1} << 50 && v.i > -(int64_t{1} << 50));
}

bool is_leaf(UOp u) { return u.is(Op::load) || u.is(Op::range); }

Outcome evaluate(UOp root, const Values& leaves, bool check_bounds) {
    Values values;
    Outcome out;
    for (UOp u : toposort(root, is_leaf)) {
        if (is_leaf(u)) {
            values[u] = leaves.at(u);
        } else if (u.is_const()) {
            values[u] = u.as<ConstArg>();
        } else {
            std::array<ConstArg, 3> v;
            for (size_t i = 0; i < u.src().size(); ++i) v[i] = values.at(u.src()[i]);
            auto value = reference(u.op(), u.dtype(), u.src().back().dtype(), std::span(v.data(), u.src().size()));
            if (!value) {
                ADD_FAILURE() << "no value for " << to_string(u) << "\n" << tree(root);
                return {false, {}};
            }
            values[u] = *value;
            out.defined = out.defined && is_offset(u.dtype(), *value);
        }
        if (!out.defined || !check_bounds || u.dtype().is_float()) continue;
        Bounds b = bounds(u);
        int64_t x = values[u].i;
        if (u.dtype() == dtypes::uint64 && x < 0) x = std::numeric_limits<int64_t>::max();
        if (x < b.low || x > b.high) {
            ADD_FAILURE() << "value " << x << " outside [" << b.low << ", " << b.high << "] of\n" << tree(u);
            return {false, {}};
        }
    }
    out.value = values.at(root);
    return out;
}

bool same_value(DType t, const ConstArg& a, const ConstArg& b) {
    if (!t.is_float()) return a.i == b.i;
    return (a.f != a.f && b.f != b.f) || std::bit_cast<int64_t>(a.f) == std::bit_cast<int64_t>(b.f);
}

void fuzz(DType type, uint64_t seed, int expressions, int depth) {
    Fuzzer fuzzer(seed);
    int64_t compared = 0, changed = 0;
    for (int i = 0; i < expressions && !testing::Test::HasFailure(); ++i) {
        GraphScope scope;
        UOp e = fuzzer.expression(type, depth);
        UOp s = simplify(e);
        ASSERT_EQ(s.dtype(), e.dtype());
        ASSERT_EQ(simplify(s), s) << "simplify is not idempotent on\n"
                                  << tree(e) << "first\n"
                                  << tree(s) << "second\n"
                                  << tree(simplify(s));
        changed += s != e;
        Values leaves;
        std::vector<UOp> variables;
        for (UOp root : {e, s})
            for (UOp u : toposort(root, is_leaf))
                if (is_leaf(u) && leaves.try_emplace(u).second) variables.push_back(u);
        for (int round = 0; round < 12; ++round) {
            for (UOp u : variables) leaves[u] = fuzzer.value_of(u);
            Outcome before = evaluate(e, leaves, true);
            if (!before.defined) continue;
            Outcome after = evaluate(s, leaves, true);
            compared++;
            ASSERT_TRUE(same_value(type, before.value, after.value))
                << "seed " << seed << " expression " << i << "\n"
                << tree(e) << "became\n"
                << tree(s) << "values " << before.value.i << " " << before.value.f << " and " << after.value.i << " "
                << after.value.f << [&] {
                       std::string at;
                       for (UOp u : variables)
                           at += fmt::format("\n{} = {} {}", to_string(u), leaves[u].i, leaves[u].f);
                       return at;
                   }();
        }
    }
    EXPECT_GT(compared, expressions);
    EXPECT_GT(changed, expressions / 2);
    sweep();
}

class FuzzOfType : public testing::TestWithParam<DType> {};

TEST_P(FuzzOfType, SimplifiedExpressionsKeepTheirValue) {
    for (uint64_t seed = 1; seed <= kSeeds && !HasFailure(); ++seed) {
        fuzz(GetParam(), seed, 1500, 3);
        fuzz(GetParam(), seed + 100, 400, 5);
    }
}

INSTANTIATE_TEST_SUITE_P(Types, FuzzOfType,
                         testing::Values(dtypes::index, dtypes::boolean, dtypes::int8, dtypes::uint8, dtypes::int32,
                                         dtypes::uint32, dtypes::int64, dtypes::uint64, dtypes::float16,
                                         dtypes::float32),
                         [](const auto& info) { return std::string(info.param.name()); });

}  // namespace
}  // namespace strata
