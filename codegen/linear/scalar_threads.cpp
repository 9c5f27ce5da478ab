// Waves are of neighbours along x, then y: where the dimensions before one are whole waves all lanes have one index of
// it. It is worth a scalar register where memory that is only read is read by it and by nothing that differs between
// lanes.
#include "strata/codegen/linear/scalar_threads.h"

#include "strata/core/uop/kernel.h"

namespace strata::codegen {

std::array<bool, 3> scalar_threads(const LinearProgram& program, const Target& target) {
    std::array<bool, 3> same{}, wanted{};
    uint32_t before = program.block[0];
    for (size_t dim = 1; dim < 3; before *= program.block[dim++])
        same[dim] = program.block[dim] > 1 && before % static_cast<uint32_t>(target.wave_size) == 0;
    if (!target.arch.is_amd() || same == std::array<bool, 3>{}) return wanted;
    constexpr uint8_t kDiffers = 1;  // between lanes; bit dim: by that index
    UOpMap<uint8_t> by;
    UOpMap<bool> written;
    for (UOp u : program.ops)
        if (writes_memory(u)) written[memory_of(u)] = true;
    for (UOp u : program.ops) {
        uint8_t& mine = by[u];
        if (u.is(Op::special)) {
            const SpecialArg& arg = u.as<SpecialArg>();
            const auto dim = static_cast<size_t>(arg.dim);
            mine = !arg.thread ? uint8_t{0} : same[dim] ? static_cast<uint8_t>(1u << dim) : kDiffers;
            continue;
        }
        uint8_t all = 0;
        for (UOp s : u.src())
            if (const auto found = by.find(skip_after(s)); found != by.end()) all |= found->second;
        const bool of_lane =
            u.is(Op::load) || u.is(Op::fetched) || u.is(Op::shuffle) || u.is(Op::shuffle_xor) || u.is(Op::foreign);
        mine = of_lane ? kDiffers : all;
        if (!u.is(Op::load) || all & kDiffers || u.src(0).src().size() > 2) continue;
        const UOp memory = memory_of(u);
        if (memory.as<ParamArg>().space != Space::global || written.contains(memory) || u.dtype().bytes() < 4) continue;
        for (size_t dim = 1; dim < 3; ++dim) wanted[dim] |= (all >> dim & 1) != 0;
    }
    return wanted;
}

}  // namespace strata::codegen
