#pragma once
#include "machine_code.h"
#include "machine_model.h"
#include "strata/codegen/lower/emit_p.h"

// Helpers of tests of passes over virtual registers.
namespace strata::codegen::test {

class EachArch : public testing::TestWithParam<isa::ArchInfo> {
  protected:
    isa::Arch arch() const { return GetParam().arch; }
};
inline std::string arch_name(const testing::TestParamInfo<isa::ArchInfo>& info) { return std::string(info.param.name); }

/// Code that begins with an address in two registers of its own.
struct AddressedCode : Code {
    explicit AddressedCode(isa::Arch arch, uint32_t threads = 64) : Code(arch, threads) {
        op("v_add_f32", {address.part(0)}, {item, item});
        copy(address.part(1), Constant{1});
    }
    Place product(Place a, Argument b) {
        const Place to = vector();
        op("v_mul_f32", {to}, {b, a});
        return to;
    }
    const Place item = fixed(Bank::vector, 1, isa::code::vgpr0), address = vector(2);
};

/// A pass after which the same is stored.
inline void expect_same(MachineFunction& function, Result<void> (*pass)(MachineFunction&)) {
    const std::vector<uint64_t> wanted = run_virtual(function);
    ASSERT_FALSE(wanted.empty());
    const std::string before = to_string(function);
    ASSERT_TRUE(pass(function));
    ASSERT_EQ(run_virtual(function), wanted) << before << to_string(function);
}

/// By how much less `count` finds after a pass that has the same stored.
inline size_t fewer(MachineFunction& function, Result<void> (*pass)(MachineFunction&),
                    size_t (*count)(const MachineFunction&)) {
    const size_t before = count(function);
    expect_same(function, pass);
    EXPECT_LE(count(function), before);
    return before - count(function);
}

}  // namespace strata::codegen::test
