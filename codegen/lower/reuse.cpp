// reuse: what was computed already is not computed again.
// Before:  v_lshlrev_b32 %v4, 2, %v1        After:  v_lshlrev_b32 %v4, 2, %v1
//          ...                                      ...
//          v_lshlrev_b32 %v9, 2, %v1                global_load_b32 %v10, %v4, %s2
//          global_load_b32 %v10, %v9, %s2
// An instruction that only computes, from dwords of one value, gives what one like it gave further up.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "strata/codegen/lower/operands_p.h"
#include "strata/codegen/lower/passes_p.h"
#include "strata/codegen/lower/single_values_p.h"

namespace strata::codegen {
namespace {

/// An instruction without the names of registers, and the value of each dword that it reads.
struct Computation {
    isa::Inst inst;
    std::array<Bank, 2> banks{};
    std::array<Place, 4> sources{};  ///< after replacement
    uint32_t scc = 0;                ///< who wrote it, where it is read
    bool operator==(const Computation&) const = default;
};

struct Hash {
    size_t operator()(const Computation& c) const {
        uint64_t hash = reinterpret_cast<uintptr_t>(c.inst.row) ^ uint64_t { c.inst.literal } << 20 ^ c.scc;
        auto mix = [&](uint64_t x) { hash = (hash ^ x) * 0x9e3779b97f4a7c15 ^ hash >> 29; };
        for (const Place& place : c.sources) mix(uint64_t{place.reg} << 8 | place.first);
        for (const isa::Operand& operand : c.inst.src) mix(operand.code);
        mix(uint64_t{c.inst.neg} | uint64_t{c.inst.abs} << 8 | uint64_t{c.inst.op_sel} << 16);
        return hash;
    }
};

class Reuse {
  public:
    explicit Reuse(MachineFunction& function) : function_(function), values_(function), same_(values_.units()) {}

    void run() {
        for (Block& block : function_.blocks) {
            scc_ = 0;
            for (Instruction& instruction : block.code) {
                for (Place& place : instruction.src) place = known(place);
                instruction.gate = known(instruction.gate);
                number(instruction);
            }
        }
        if (found_) remove_unused(function_);
    }

  private:
    /// Where a value is, or was first.
    Place known(Place place) const {
        if (!place) return place;
        const Place first = same_[values_.unit(place)];
        if (!first) return place;
        for (int i = 1; i < place.dwords; ++i)
            if (same_[values_.unit(place, i)] != first.part(i)) return place;
        return first.part(0, place.dwords);
    }

    void number(const Instruction& instruction) {
        const bool sets_scc = writes_scc(function_, instruction);
        const bool known_scc = scc_ || !reads_scc(function_, instruction);
        if (!known_scc || !is_pure(function_, instruction) || !of_values(instruction)) {
            if (sets_scc) scc_ = ++last_scc_;
            return;
        }
        Computation what{instruction.inst, {}, instruction.src, reads_scc(function_, instruction) ? scc_ : 0};
        what.inst.dst = {};
        for (size_t i = 0; i < 2; ++i)
            if (instruction.dst[i]) what.banks[i] = function_.bank(instruction.dst[i]);
        auto [at, added] = made_.try_emplace(what, Made{instruction.dst, 0});
        if (added)
            at->second.scc = sets_scc ? ++last_scc_ : 0;
        else
            replace(instruction, at->second.dst);
        if (sets_scc) scc_ = at->second.scc;
    }

    bool of_values(const Instruction& instruction) const {
        auto holds = [&](Place place) { return !place || values_.holds(place); };
        return std::ranges::all_of(instruction.src, holds) && std::ranges::all_of(instruction.dst, holds);
    }

    /// Parts of tuples stand for parts of tuples like theirs: what reads several wants them aligned.
    void replace(const Instruction& instruction, const std::array<Place, 2>& by) {
        for (size_t i = 0; i < 2; ++i) {
            const Place old = instruction.dst[i];
            if (!old) continue;
            const VirtualRegister &a = function_.registers[old.reg], &b = function_.registers[by[i].reg];
            if (old.first != by[i].first || old.dwords != by[i].dwords || a.dwords != b.dwords || a.align != b.align)
                continue;
            for (int d = 0; d < old.dwords; ++d) same_[values_.unit(old, d)] = by[i].part(d);
            found_ = true;
        }
    }

    struct Made {
        std::array<Place, 2> dst;
        uint32_t scc;
    };
    MachineFunction& function_;
    SingleValues values_;
    std::vector<Place> same_;  // of each unit: the dword that has its value already
    std::unordered_map<Computation, Made, Hash> made_;
    uint32_t scc_ = 0, last_scc_ = 0;  // which value SCC has; 0: unknown
    bool found_ = false;
};

}  // namespace

Result<void> reuse(MachineFunction& function) {
    Reuse(function).run();
    return {};
}

}  // namespace strata::codegen
