// Values that selection computed in a loop that may run no iteration are not used after it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "function.h"
#include "strata/codegen/select/select.h"
#include "strata/core/uop/kernel.h"
#include "virtual_code.h"

namespace strata::codegen {
namespace {

/// A program written by hand, each node after its sources: the stages before selection would move what a loop repeats.
class Tape {
  public:
    Tape() {
        program.name = "skipped";
        program.block = {64, 1, 1};
    }
    UOp add(UOp u) {
        if (!added_.try_emplace(u, true).second) return u;
        for (UOp s : u.src()) add(s);
        const bool parameter = u.is(Op::define_var) || (u.is(Op::param) && u.as<ParamArg>().space == Space::global);
        parameter ? program.params.push_back(u) : program.ops.push_back(u);
        return u;
    }
    LinearProgram program;

  private:
    UOpMap<bool> added_;
};

/// The sources of a value or a place: lanes differ in `lane`, and in `x`, and share `s` and `t`.
struct Sources {
    UOp lane, s, t, x, memory, floats;
};
/// One of two stores, different nodes, that selection makes of one value or several that it remembers.
using Use = std::function<UOp(const Sources&, int which)>;

UOp out(int which, UOp lane) { return uop::at(uop::buffer(which, dtypes::int32, 1 << 20), lane); }

const std::map<std::string, Use> kUses = {
    {"a sum of scalars",
     [](const Sources& of, int which) { return uop::store(out(which, of.lane), of.x * (which + 3) + of.s + of.t); }},
    {"the scaled numerator and denominator of a quotient",
     [](const Sources& of, int which) {
         const UOp n = uop::load(uop::at(of.floats, of.lane)), d = uop::load(uop::at(of.floats, of.lane + 64));
         const UOp scaled = make(Op::div_scale_n, dtypes::float32, {n, d});
         const UOp fused =
             make(Op::div_fmas, dtypes::float32, {n, d, n, make(Op::div_scales, dtypes::boolean, {n, d})});
         return uop::store(uop::at(uop::buffer(which, dtypes::float32, 1 << 20), of.lane), which ? scaled : fused);
     }},
    {"the base of an address",
     [](const Sources& of, int which) {
         return uop::store(out(which, of.lane), uop::load(uop::at(of.memory, of.s * 64 + of.lane + which)));
     }},
    {"the product of an address",
     [](const Sources& of, int which) {
         return uop::store(out(which, of.lane), uop::load(uop::at(of.memory, of.x * 12 + which)));
     }},
    {"a sum of an address",
     [](const Sources& of, int which) {
         return uop::store(out(which, of.lane), uop::load(uop::at(of.memory, (of.x + of.lane) + which)));
     }},
};

class Remembered : public testing::TestWithParam<isa::ArchInfo> {};

/// The first use in the loop, the second after it; a loop that surely runs may leave what it computed.
Result<size_t> selected(isa::Arch arch, const Use& inside, const Use& after, bool may_be_skipped) {
    GraphScope scope;
    Tape tape;
    Sources of{.lane = make(Op::special, dtypes::int32, {}, SpecialArg{true, 0, 64}),
               .s = uop::variable(4, dtypes::int32),
               .t = uop::variable(5, dtypes::int32),
               .x = {},
               .memory = uop::buffer(2, dtypes::int32, 1 << 20),
               .floats = uop::buffer(3, dtypes::float32, 1 << 20)};
    of.x = uop::load(uop::at(of.memory, of.lane));
    const UOp first = inside(of, 0), second = after(of, 1);
    const std::vector<UOp> nodes = toposort(second);
    for (UOp u : toposort(first))  // what both are made of is computed before the loop
        if (std::ranges::find(nodes, u) != nodes.end()) tape.add(u);
    const UOp count = uop::variable(6, dtypes::int32);
    const UOp steps = may_be_skipped ? count : alu(Op::max, {count, constant_int(dtypes::int32, 1)});
    const UOp loop = tape.add(make(Op::range, dtypes::int32, {steps}, RangeArg{0, 8, Axis::loop}));
    tape.add(uop::end(tape.add(first), {loop}));
    tape.add(second);
    const Target target = target_of(arch, Route::asm_);
    STRATA_TRY(const MachineFunction function, select(tape.program, target));
    STRATA_TRY_VOID(verify(function, Check::virtual_));
    size_t count_of_all = 0;
    for (const Block& block : function.blocks) count_of_all += block.code.size();
    return count_of_all;
}

TEST_P(Remembered, HasAValueOnEveryWayToWhereItIsUsed) {
    for (const auto& [name, inside] : kUses)
        for (const auto& [other, after] : kUses) {
            const Result<size_t> made = selected(GetParam().arch, inside, after, true);
            EXPECT_TRUE(made) << name << ", then " << other << ": " << made.error().message;
        }
}

TEST_P(Remembered, IsUsedAgainWhereItIsValid) {
    for (const auto& [name, use] : kUses) {
        const Result<size_t> skipped = selected(GetParam().arch, use, use, true),
                             runs = selected(GetParam().arch, use, use, false);
        ASSERT_TRUE(skipped && runs) << name << ": " << (skipped ? runs : skipped).error().message;
        // The maximum, and the branch past the loop.
        EXPECT_LT(*runs, *skipped) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Arch, Remembered, testing::ValuesIn(isa::first_archs()), arch_name);

}  // namespace
}  // namespace strata::codegen
