// Loops that threads leave by themselves: what passes.def promises after each pass, and what becomes of the lanes.
#include "function.h"
#include "strata/codegen/decompose/decompose.h"
#include "strata/codegen/select/select.h"
#include "strata/core/uop/kernel.h"
#include "virtual_code.h"

namespace strata::codegen {
namespace {

UOp integer(int64_t n) { return constant_int(dtypes::int32, n); }
UOp unless(UOp condition) { return alu(Op::logical_not, {condition}); }

struct Parts {
    UOp out = uop::buffer(0, dtypes::int32, 1 << 20), x = uop::buffer(1, dtypes::int32, 1 << 20);
    UOp t = uop::range(96, 0, Axis::local), g = uop::range(4, 1, Axis::global);
    UOp acc = uop::placeholder(1, dtypes::int32, Space::reg, 0);
    UOp start = uop::store(uop::at(acc, 0), integer(0));
};

/// Sums of x[r] for r below x[t], where `outer` holds.
Kernel summing(UOp (*outer)(const Parts&), UOp (*inner)(const Parts&, UOp r)) {
    const Parts p;
    const UOp once = uop::range(1, 2, Axis::loop), r = uop::range(INT32_MAX, 3, Axis::loop);
    const UOp taken = uop::break_if(unless(outer(p)), once);
    const UOp left = uop::break_if(unless(uop::after(inner(p, r), {taken})), r);
    const UOp now = uop::after(p.acc, {p.start, taken, r, left}), next = uop::load(uop::at(uop::after(p.x, {left}), r));
    const UOp stored = uop::store(uop::at(now, 0), uop::load(uop::at(now, 0)) + next);
    const UOp done = uop::end(uop::end(stored, {r}), {once});
    const UOp result = uop::load(uop::at(uop::after(p.acc, {done}), 0));
    return kernel("summing", uop::end(uop::store(uop::at(p.out, p.g * 96 + p.t), result), {p.t, p.g}));
}

UOp of_thread(const Parts& p) { return p.t < 50; }
UOp of_block(const Parts& p) { return p.g < 2; }
UOp count_of_thread(const Parts& p, UOp r) { return cast(r, dtypes::int32) < uop::load(uop::at(p.x, p.t)); }
UOp count_of_block(const Parts& p, UOp r) { return r < p.g * 3 + 1; }

struct Pass {
    std::string_view name;
    Check check;
    Result<void> (*run)(MachineFunction&);
};
constexpr Pass kPasses[] = {
#define PASS(name, check, after) {#name, Check::check, name},
#include "strata/codegen/machine/passes.def"
#undef PASS
};

struct Lanes {
    size_t masks = 0, left = 0;  ///< where lanes are taken out of a mask, branches past the end of a loop
};

class BreakIfLowered : public testing::TestWithParam<isa::Arch> {
  protected:
    /// The result of selection; all passes keep their promises.
    Lanes lowered(const Kernel& kernel) {
        GraphScope scope;
        const Target target = target_of(GetParam(), Route::asm_);
        Lanes lanes;
        Result<LinearProgram> program = linearize(kernel, target);
        EXPECT_TRUE(program) << program.error().message;
        if (!program) return lanes;
        const LinearProgram decomposed = decompose(*program, target);
        Result<MachineFunction> function = select(decomposed, target);
        EXPECT_TRUE(function) << function.error().message;
        if (!function) return lanes;
        for (const Block& block : function->blocks)
            for (const Instruction& one : block.code) {
                const std::string_view name = one.pseudo == Pseudo::none ? one.inst.row->mnemonic : "copy";
                lanes.masks += name.starts_with("s_and_not1") || name.starts_with("s_andn2");
                lanes.left += is_branch(one) && one.target > static_cast<uint32_t>(&block - function->blocks.data());
            }
        Result<void> valid = verify(*function, Check::virtual_);
        EXPECT_TRUE(valid) << valid.error().message << to_string(*function);
        for (const Pass& pass : kPasses) {
            EXPECT_TRUE(pass.run(*function)) << pass.name;
            valid = verify(*function, pass.check);
            EXPECT_TRUE(valid) << pass.name << ": " << valid.error().message << to_string(*function);
            if (!valid) break;
        }
        return lanes;
    }
};

TEST_P(BreakIfLowered, LanesThatDifferAreTakenOutOfAMask) {
    const Lanes lanes = lowered(summing(of_thread, count_of_thread));
    EXPECT_EQ(lanes.masks, 2u);
    EXPECT_EQ(lanes.left, 2u);
}

TEST_P(BreakIfLowered, WhatAllLanesShareIsABranchAlone) {
    const Lanes lanes = lowered(summing(of_block, count_of_block));
    EXPECT_EQ(lanes.masks, 0u);
    EXPECT_EQ(lanes.left, 2u);
}

TEST_P(BreakIfLowered, EitherStandsInTheOther) {
    EXPECT_EQ(lowered(summing(of_block, count_of_thread)).masks, 1u);
    EXPECT_EQ(lowered(summing(of_thread, count_of_block)).masks, 1u);
}

INSTANTIATE_TEST_SUITE_P(Arch, BreakIfLowered, testing::ValuesIn(kArchs));

}  // namespace
}  // namespace strata::codegen
