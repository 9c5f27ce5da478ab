#include <gtest/gtest.h>

#include <set>

#include "../linear/samples.h"
#include "same.h"
#include "strata/codegen/decompose/functions_p.h"
#include "tape.h"

namespace strata::codegen {
namespace {

const Target kTargets[] = {target_of(isa::Arch::gfx1100), target_of(isa::Arch::gfx1201), target_of(isa::Arch::gfx942),
                           target_of(isa::Arch::gfx90a)};

bool is_machine_float(DType t) { return t == dtypes::float16 || t == dtypes::float32 || t == dtypes::float64; }

bool is_machine_cast(DType to, DType from, const Target& target) {
    if (is_native_cast(to, from, target)) return true;
    if (to.is_integer() && from.is_integer()) return true;
    auto pair = [&](DType a, DType b) { return (to == a && from == b) || (to == b && from == a); };
    using namespace dtypes;
    return pair(float32, float16) || pair(float32, float64) || pair(float32, int32) || pair(float32, uint32) ||
           pair(float64, int32) || pair(float64, uint32);
}

/// The list of decompose.h.
bool is_left(UOp u, const Target& target) {
    DType t = u.src().empty() ? u.dtype() : u.src().back().dtype();
    const std::set<Op> floats{Op::add,   Op::sub,  Op::mul,   Op::fma,  Op::neg,   Op::abs,   Op::max,  Op::min,
                              Op::floor, Op::ceil, Op::trunc, Op::rint, Op::cmplt, Op::cmpeq, Op::cmpne},
        integers{Op::add,     Op::sub, Op::mul, Op::bit_and, Op::bit_or, Op::bit_xor,
                 Op::bit_not, Op::shl, Op::shr, Op::cmplt,   Op::cmpeq,  Op::cmpne},
        bits{Op::bit_and, Op::bit_or, Op::bit_xor, Op::logical_not, Op::freeze};
    if (!info(u.op()).elementwise() || u.is(Op::where) || u.is(Op::bitcast)) return true;
    if (u.is(Op::cast)) return is_machine_cast(u.dtype(), t, target);
    if (t.is_bool()) return bits.contains(u.op());
    if (t.is_float()) return is_machine_float(t) && floats.contains(u.op());
    if (u.is(Op::max) || u.is(Op::min)) return t.bits() == 32;
    if (u.is(Op::popcount) || u.is(Op::reverse_bits)) return t.bits() == 32;
    return t.bits() >= 32 && (integers.contains(u.op()) || u.is(Op::bounded));
}

struct Case {
    Op op;
    DType type;
    std::vector<DType> sources;
};
std::vector<Case> all_cases() {
    std::vector<Case> out;
    for (DType t : all_dtypes()) {
        const bool stored = t.is_float() && !is_machine_float(t);  // widen_floats leaves no arithmetic of these
        for (int i = 0; i < kOpCount; ++i) {
            Op op = static_cast<Op>(i);
            const OpInfo& row = info(op);
            if (!row.elementwise() || op == Op::cast || op == Op::bitcast || (op == Op::logical_not && !t.is_bool()) ||
                (stored && op != Op::where))
                continue;
            std::vector<ConstArg> ones(3, ConstArg{1, 1});
            if (!reference(op, t, t, std::span(ones).first(static_cast<size_t>(row.arity)))) continue;
            std::vector<DType> sources(static_cast<size_t>(row.arity), t);
            if (op == Op::where) sources[0] = dtypes::boolean;
            out.push_back({op, row.rule == TypeRule::cmp ? dtypes::boolean : t, sources});
        }
        for (DType to : all_dtypes())
            if (to != t) out.push_back({Op::cast, to, {t}});
    }
    return out;
}

bool undefined(const Case& c, std::span<const ConstArg> v) {
    DType t = c.sources[0];
    if (t.is_bool()) return false;
    if (c.op == Op::idiv || c.op == Op::mod)
        return v[1].i == 0 || (!t.is_unsigned() && v[0].i == int_min(t) && v[1].i == -1);
    return false;
}

TEST(Decompose, LeavesWhatTheHeaderListsAndKeepsEveryValue) {
    GraphScope scope;
    for (const Target& target : kTargets)
        for (const Case& c : all_cases()) {
            std::vector<UOp> sources;
            for (size_t k = 0; k < c.sources.size(); ++k)
                sources.push_back(test_source(static_cast<int>(k) + 1, c.sources[k]));
            UOp node = make(c.op, c.type, sources);
            SCOPED_TRACE(to_string(node) + " of " + std::string(c.sources.back().name()));
            LinearProgram program = decompose(program_of(node), target);
            for (UOp u : program.ops) EXPECT_TRUE(is_left(u, target)) << "left: " << tree(u);
            std::vector<Column> in(c.sources.size());
            std::vector<ConstArg> want;
            std::vector<std::vector<ConstArg>> pools;
            size_t total = 1;
            for (DType t : c.sources)
                pools.push_back(samples(t, {-0.0, 1e-40, 1e-310, 1e300})), total *= pools.back().size();
            for (size_t n = 0; n < total; ++n) {
                std::vector<ConstArg> v;
                for (size_t i = 0, k = n; i < pools.size(); k /= pools[i].size(), ++i)
                    v.push_back(pools[i][k % pools[i].size()]);
                auto value = undefined(c, v) ? std::nullopt : reference(c.op, c.type, c.sources.back(), v);
                if (!value) continue;
                want.push_back(*value);
                for (size_t i = 0; i < v.size(); ++i) in[i].f.push_back(v[i].f), in[i].i.push_back(v[i].i);
            }
            Column got = Tape(program).run(in);
            for (size_t k = 0; k < want.size(); ++k)
                EXPECT_TRUE(is_same(c.type, {got.i[k], got.f[k]}, want[k], 4))
                    << in[0].f[k] << "/" << in[0].i[k] << ", " << in.back().f[k] << "/" << in.back().i[k] << ": "
                    << to_string(want[k], c.type) << " expected, " << to_string(ConstArg{got.i[k], got.f[k]}, c.type)
                    << " got";
        }
}

}  // namespace
}  // namespace strata::codegen
