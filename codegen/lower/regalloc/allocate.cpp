// allocate: register allocation. Every register gets a place.
// Before: instructions over virtual registers, copies between them. After: operands are registers of the machine,
// copies are moves or gone, the function knows how many registers it takes.
#include <algorithm>

#include "strata/codegen/lower/regalloc/colour_p.h"
#include "strata/codegen/lower/regalloc/rewrite_p.h"
#include "strata/codegen/lower/regalloc/spill_p.h"
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"

namespace strata::codegen {
namespace {

constexpr int kMaxRounds = 32;

uint32_t threads(const LinearProgram& program) { return program.block[0] * program.block[1] * program.block[2]; }

/// Copies that no single move makes go through a vector register: accumulation registers take no literal and go to no
/// scalar register.
void split_copies(MachineFunction& function) {
    for (Block& block : function.blocks)
        for (size_t i = 0; i < block.code.size(); ++i) {
            const Instruction& copy = block.code[i];
            if (!is_copy(copy)) continue;
            const Bank to = function.bank(copy.dst[0]);
            const bool literal = !copy.src[0] && copy.inst.src[0].is_literal() && to == Bank::accumulation;
            const bool down = copy.src[0] && function.bank(copy.src[0]) == Bank::accumulation && to == Bank::scalar;
            if (!literal && !down) continue;
            Instruction first = copy;
            first.dst[0] = function.add(Bank::vector, copy.dst[0].dwords);
            block.code[i].src[0] = first.dst[0];
            block.code.insert(block.code.begin() + static_cast<ptrdiff_t>(i++), std::move(first));
        }
}

}  // namespace

Result<void> allocate(MachineFunction& function) {
    split_copies(function);
    const RegisterLimits limits = register_limits(function);
    std::vector<bool> kept(function.registers.size());
    if (function.all_lanes) kept[function.all_lanes.reg] = true;
    Spiller spiller(function, limits);
    for (int round = 0;; ++round) {
        const Liveness live(function);
        const std::vector<uint32_t> unplaced = assign(function, live, limits, kept);
        if (unplaced.empty()) break;
        if (round == kMaxRounds || std::ranges::any_of(unplaced, [&](uint32_t reg) { return kept[reg]; }))
            return make_error(
                ErrorKind::Unsupported,
                "kernel {} needs more registers than a wave of {} has in a workgroup of {} threads; smaller "
                "workgroups leave more to each",
                function.program.name, isa::info(function.target.arch).name, threads(function.program));
        spiller.spill(unplaced, live, kept);
    }
    resolve(function);
    return {};
}

}  // namespace strata::codegen
