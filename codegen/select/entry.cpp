// Registers that a kernel has when it begins, and the values made of them before anything else (LLVM AMDGPUUsage,
// "Initial Kernel Execution State").
#include <algorithm>

#include "strata/codegen/linear/scalar_threads.h"
#include "strata/codegen/machine/workarounds.h"
#include "strata/codegen/select/entry_p.h"

namespace strata::codegen {

Place KernelEntry::fixed(Bank bank, int dwords, uint16_t code) {
    const Place place = function_.add(bank, dwords);
    function_.registers[place.reg].fixed = static_cast<int16_t>(code);
    return place;
}

void KernelEntry::begin() {
    function_.blocks.push_back({});
    for (UOp u : program_.ops)
        if (u.is(Op::special)) {
            const SpecialArg& arg = u.as<SpecialArg>();
            if (arg.thread)
                function_.workitem_id_dims = std::max(function_.workitem_id_dims, arg.dim);
            else
                function_.workgroup_ids[static_cast<size_t>(arg.dim)] = true;
        }
    const Place arguments = fixed(Bank::scalar, 2, 0);
    begin_ids();
    begin_parameters(arguments);
}

/// Ids of workgroup and work-item, and EXEC.
void KernelEntry::begin_ids() {
    const bool in_ttmp = function_.family == isa::Family::rdna4;
    std::array<Place, 3> groups{};
    const auto ids = std::count(function_.workgroup_ids.begin(), function_.workgroup_ids.end(), true);
    function_.user_sgprs = user_scalars(function_.target, static_cast<int>(ids));
    auto next = static_cast<uint16_t>(function_.user_sgprs);
    for (size_t dim = 0; dim < 3; ++dim)
        if (function_.workgroup_ids[dim] && !in_ttmp) groups[dim] = fixed(Bank::scalar, 1, next++);
    const auto& block = program_.block;
    function_.partial_waves = block[0] * block[1] * block[2] % static_cast<uint32_t>(function_.wave_size()) != 0;
    if (function_.partial_waves) {
        function_.all_lanes = function_.add(Bank::scalar, function_.mask_dwords());
        code_.scalar_to(function_.all_lanes, pick(function_.mask_dwords() == 1, "s_mov_b32", "s_mov_b64"),
                        {Source::of_code(isa::code::exec_lo)});
    }
    const std::array<bool, 3> scalar = scalar_threads(program_, function_.target);
    const Source items = Source::of(fixed(Bank::vector, 1, isa::code::vgpr0));
    for (UOp u : program_.ops) {
        if (!u.is(Op::special)) continue;
        const SpecialArg& arg = u.as<SpecialArg>();
        const auto dim = static_cast<uint16_t>(arg.dim);
        if (!arg.thread && in_ttmp) {
            // RDNA4 ISA 3.13: ttmp9 is the workgroup id x, ttmp7 y in its low half and z in its high half.
            const Source ids = Source::of_code(static_cast<uint16_t>(isa::code::ttmp0 + (dim == 0 ? 9 : 7)));
            set(u, dim == 0   ? Source::of(code_.scalar("s_mov_b32", {ids}))
                   : dim == 1 ? Source::of(code_.scalar("s_and_b32", {ids, Source::of_number(0xffff)}))
                              : Source::of(code_.scalar("s_lshr_b32", {ids, Source::of_number(16)})));
        } else if (!arg.thread) {
            set(u, Source::of(groups[dim]));
        } else if (function_.workitem_id_dims == 0) {
            set(u, items);
        } else {
            // Ten bits a dimension.
            const Source lanes =
                Source::of(code_.vector("v_bfe_u32", {items, Source::of_number(10u * dim), Source::of_number(10)}));
            set(u, scalar[dim] ? Source::of(code_.scalar("v_readfirstlane_b32", {lanes})) : lanes);
        }
    }
}

/// Addresses and numbers in one run of loads, the widest that still fit.
void KernelEntry::begin_parameters(Place arguments) {
    struct Row {
        uint32_t bytes;
        Mnemonic name;
    };
    static constexpr Row kLoads[] = {
        {64, "s_load_b512"}, {32, "s_load_b256"}, {16, "s_load_b128"}, {8, "s_load_b64"}, {4, "s_load_b32"}};
    const std::vector<executable::ParameterPlace> places = parameter_places(program_);
    const uint32_t end = executable::bytes_of(places);
    uint32_t done = 0;
    size_t next = 0;
    for (auto [bytes, name] : kLoads)
        for (; done + bytes <= end; done += bytes) {
            Instruction& made = code_.add(name);
            made.inst.offset = static_cast<int32_t>(done);
            made.inst.src[1].code = isa::code::null;
            made.src[0] = arguments;
            const Place loaded = made.dst[0] = function_.add(Bank::scalar, static_cast<int>(bytes / 4));
            for (; next < places.size() && places[next].offset < done + bytes; ++next)
                set(program_.params[next], Source::of(loaded.part(static_cast<int>(places[next].offset - done) / 4,
                                                                  static_cast<int>(places[next].bytes) / 4)));
        }
}

}  // namespace strata::codegen
