#include "strata/codegen/lower/regalloc/remat_p.h"

#include <algorithm>

#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/unique_defs.h"

namespace strata::codegen {
namespace {

class Remakes {
  public:
    Remakes(const MachineFunction& function, const Liveness& live)
        : function_(function), live_(live), values_(function), in_loop_(function.blocks.size()) {
        for (uint32_t b = 0; b < function.blocks.size(); ++b)
            for (const Instruction& one : function.blocks[b].code)
                if (is_branch(one) && one.target <= b)
                    std::fill(in_loop_.begin() + one.target, in_loop_.begin() + b + 1, true);
    }

    std::vector<const Instruction*> run() {
        found_.assign(function_.registers.size(), nullptr);
        for (const Block& block : function_.blocks)
            for (size_t i = 0; i < block.code.size(); ++i)
                if (may_be_remade(block, i)) found_[block.code[i].dst[0].reg] = &block.code[i];
        uint32_t k = 0;
        for (const Block& block : function_.blocks)
            for (size_t i = 0; i < block.code.size(); ++i, ++k)
                each_read(function_, block.code[i], [&](Place place) {
                    const Instruction*& made = found_[place.reg];
                    if (made && !has_what_it_takes(*made, block, i, k)) made = nullptr;
                });
        return std::move(found_);
    }

  private:
    /// Values of one dword alone: parts of others are not read by themselves.
    bool may_be_remade(const Block& block, size_t i) const {
        const Instruction& one = block.code[i];
        const bool cheap =
            is_register_copy(one) || (one.pseudo == Pseudo::none && !(one.inst.row->flags & isa::kTrans));
        if (!cheap || !is_pure(function_, one) || !one.dst[0] || one.dst[1]) return false;
        const VirtualRegister& reg = function_.registers[one.dst[0].reg];
        if (reg.dwords > 1 || reg.fixed >= 0 || !values_.holds(one.dst[0])) return false;
        if (one.pseudo == Pseudo::none && reads_scc(function_, one)) return false;
        if (sets_scc(one) && !scc_is_free(block, i + 1)) return false;
        return std::ranges::all_of(one.src, [&](Place source) { return !source || is_steady(source); });
    }

    /// Written once, and not again in another round of a loop.
    bool is_steady(Place place) const {
        if (!values_.holds(place)) return false;
        for (int i = 0; i < place.dwords; ++i) {
            const uint32_t writer = values_.block(values_.unit(place, i));
            if (writer != UniqueDefs::kBefore && in_loop_[writer]) return false;
        }
        return true;
    }

    /// Before instruction k of the function, the i-th of its block.
    bool has_what_it_takes(const Instruction& made, const Block& block, size_t i, uint32_t k) const {
        if (sets_scc(made) && !scc_is_free(block, i)) return false;
        return std::ranges::all_of(made.src, [&](Place source) {
            for (int dword = 0; source && dword < source.dwords; ++dword)
                if (!live_.live_at(live_.unit(source.part(dword)), read_position(k))) return false;
            return true;
        });
    }

    bool sets_scc(const Instruction& one) const { return one.pseudo == Pseudo::none && writes_scc(function_, one); }

    /// SCC lives within a block.
    bool scc_is_free(const Block& block, size_t i) const {
        for (; i < block.code.size(); ++i) {
            if (block.code[i].pseudo != Pseudo::none) continue;
            if (reads_scc(function_, block.code[i])) return false;
            if (writes_scc(function_, block.code[i])) return true;
        }
        return true;
    }

    const MachineFunction& function_;
    const Liveness& live_;
    UniqueDefs values_;
    std::vector<bool> in_loop_;  // blocks
    std::vector<const Instruction*> found_;
};

}  // namespace

std::vector<const Instruction*> rematerialisations(const MachineFunction& function, const Liveness& live) {
    return Remakes(function, live).run();
}

}  // namespace strata::codegen
