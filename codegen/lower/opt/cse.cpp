// cse: common subexpression elimination. A value that was computed already is not computed again.
// Before:  v_lshlrev_b32 %v4, 2, %v1        After:  v_lshlrev_b32 %v4, 2, %v1
//          ...                                      ...
//          v_lshlrev_b32 %v9, 2, %v1                global_load_b32 %v10, %v4, %s2
//          global_load_b32 %v10, %v9, %s2
// An instruction that only computes, from dwords of one value, gives what one like it gave further up.
#include <algorithm>
#include <array>
#include <bit>

#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/machine/unique_defs.h"

namespace strata::codegen {
namespace {

/// Who computed something first: registers that it reads are those that hold a value first.
struct Made {
    uint64_t hash = 0;
    const Instruction* by = nullptr;
    uint32_t scc_read = 0, scc_left = 0;  ///< which value SCC had, and had then; 0: it is not read, not written
    uint32_t end = 0;                     ///< the block from which on it need not have run
};

uint64_t hash_of(const Instruction& instruction, uint32_t scc_read) {
    const isa::Inst& inst = instruction.inst;
    uint64_t hash = reinterpret_cast<uintptr_t>(inst.row) ^ uint64_t { inst.literal } << 20 ^ scc_read;
    auto mix = [&](uint64_t x) { hash = (hash ^ x) * 0x9e3779b97f4a7c15 ^ hash >> 29; };
    for (size_t i = 0; i < 4; ++i)
        mix(uint64_t{instruction.src[i].reg} << 24 | uint64_t{instruction.src[i].first} << 16 | inst.src[i].code);
    mix(uint64_t{inst.neg} | uint64_t{inst.abs} << 8 | uint64_t{inst.op_sel} << 16);
    return hash ^ hash >> 32;
}

class Reuse {
  public:
    explicit Reuse(MachineFunction& function) : function_(function), values_(function), same_(values_.units()) {
        size_t count = 0;
        for (const Block& block : function.blocks) count += block.code.size();
        made_.resize(std::bit_ceil(2 * count + 1));
    }

    void run() {
        const std::vector<uint32_t> ends = ends_of_ways();
        for (block_ = 0; block_ < function_.blocks.size(); ++block_) {
            scc_ = 0, end_ = ends[block_];
            for (Instruction& instruction : function_.blocks[block_].code) {
                for (Place& place : instruction.src) place = known(place);
                instruction.predicate = known(instruction.predicate);
                number(instruction);
            }
        }
        if (found_) remove_dead_code(function_);
    }

  private:
    /// For each block, where the first branch past it leads.
    std::vector<uint32_t> ends_of_ways() const {
        std::vector<uint32_t> ends(function_.blocks.size(), UINT32_MAX);
        for (uint32_t b = 0; b < ends.size(); ++b)
            for (const Instruction& one : function_.blocks[b].code)
                if (is_branch(one))
                    for (uint32_t past = b + 1; past < one.target; ++past)
                        ends[past] = std::min(ends[past], one.target);
        return ends;
    }

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
        const uint32_t scc_read = reads_scc(function_, instruction) ? scc_ : 0;
        const uint64_t hash = hash_of(instruction, scc_read);
        Made& made = find(instruction, hash, scc_read);
        if (!made.by || made.end <= block_)
            made = {hash, &instruction, scc_read, sets_scc ? ++last_scc_ : 0, end_};
        else
            replace(instruction, made.by->dst);
        if (sets_scc) scc_ = made.scc_left;
    }

    /// The equal computation that was made before, or the place for this one.
    Made& find(const Instruction& instruction, uint64_t hash, uint32_t scc_read) {
        const size_t last = made_.size() - 1;
        for (size_t at = hash & last;; at = (at + 1) & last) {
            Made& made = made_[at];
            const bool same = made.by && made.hash == hash && made.scc_read == scc_read;
            if (!made.by || (same && is_same(*made.by, instruction))) return made;
        }
    }

    /// True if both differ in the names of what they write alone.
    bool is_same(const Instruction& a, const Instruction& b) const {
        for (size_t i = 0; i < 2; ++i)
            if (bool(a.dst[i]) != bool(b.dst[i]) || (a.dst[i] && function_.bank(a.dst[i]) != function_.bank(b.dst[i])))
                return false;
        isa::Inst inst = a.inst;
        inst.dst = b.inst.dst;
        return a.src == b.src && inst == b.inst;
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

    MachineFunction& function_;
    UniqueDefs values_;
    std::vector<Place> same_;                // of each unit: the dword that has its value already
    std::vector<Made> made_;                 // by hash, with open addressing
    uint32_t block_ = 0, end_ = UINT32_MAX;  // which is gone through; where a way past it leads
    uint32_t scc_ = 0, last_scc_ = 0;        // which value SCC has; 0: unknown
    bool found_ = false;
};

}  // namespace

Result<void> cse(MachineFunction& function) {
    Reuse(function).run();
    return {};
}

}  // namespace strata::codegen
