// exec_masks: EXEC around what runs for some lanes only.
// Before:  predicate s4: v_mov_b32 v0, v1   After:  s_mov_b32 exec_lo, s4
//          predicate s4: global_store ...           s_cbranch_execz after
//          v_add_f32 v2, v2, v2                     v_mov_b32 v0, v1;  global_store ...
//                                            after: s_mov_b32 exec_lo, -1
//                                                   v_add_f32 v2, v2, v2
// Neighbours of one predicate are one stretch, and EXEC stays as it is until an instruction looks at it. Memory
// instructions want a lane, so a branch leads around them; others without one are cheaper than the branch. A single
// predicated instruction runs for all lanes if only its readers gave it the predicate, unless it reads what some lanes
// have not.
#include "strata/asm/lint/access.h"
#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"
#include "strata/codegen/machine/placed_code.h"

namespace strata::codegen {
namespace {

constexpr uint32_t kRenamed = uint32_t{1} << 31;  ///< a branch's target that counts the new blocks

class Predicates {
  public:
    explicit Predicates(MachineFunction& function) : function_(function) {}

    void run() {
        std::vector<Block> old = std::move(function_.blocks);
        function_.blocks.clear();
        for (Block& block : old) {
            first_.push_back(next_block());
            open(block.label, block.depth);
            predicate(block.code);
        }
        for (Block& block : function_.blocks)
            for (Instruction& instruction : block.code) {
                if (!is_branch(instruction)) continue;
                uint32_t& target = instruction.target;
                target = target & kRenamed ? target & ~kRenamed : first_[target];
            }
    }

  private:
    uint32_t next_block() const { return static_cast<uint32_t>(function_.blocks.size()); }
    void open(std::string label, uint32_t depth) { function_.blocks.push_back({std::move(label), depth, {}}); }
    void put(Instruction instruction) {
        instruction.predicate = {};
        function_.blocks.back().code.push_back(std::move(instruction));
    }
    uint16_t code_of(Place place) const {
        return static_cast<uint16_t>(function_.registers[place.reg].place + place.first);
    }
    lint::Access access_of(const Instruction& instruction) const {
        return lint::access_of(function_.target.arch, instruction.inst, function_.wave_size());
    }

    void predicate(const std::vector<Instruction>& code) {
        lanes_ = {};
        for (size_t i = 0; i < code.size();)
            if (code[i].predicate)
                i = stretch(code, i);
            else
                plain(code[i], access_of(code[i])), ++i;
        const bool ends = !code.empty() && code.back().inst.row->mnemonic == "s_endpgm";
        if (!ends) restore(code.empty() ? 0 : code.back().origin);
    }

    /// Instructions of one predicate; returns the one after them.
    size_t stretch(const std::vector<Instruction>& code, size_t first) {
        const Place predicate = code[first].predicate;
        const lint::Registers mask{code_of(predicate), function_.mask_dwords()};
        size_t end = first;
        bool memory = false, rewritten = false, free = lanes_ != predicate;
        accesses_.clear();
        for (; end < code.size() && code[end].predicate == predicate && !rewritten; ++end) {
            memory |= (code[end].inst.row->flags & isa::kMemory) != 0;
            const lint::Access& access = accesses_.emplace_back(access_of(code[end]));
            free &= code[end].as_readers && !memory && !reads_partial(access);
            for (const lint::Write& write : access.all_writes()) rewritten |= write.registers.overlaps(mask);
        }
        if (free) {
            for (size_t i = first; i < end; ++i) plain(code[i], accesses_[i - first]);
            return end;
        }
        for (const lint::Access& access : accesses_) note_writes(access, true);
        if (lanes_ != predicate) put(move_mask(function_, isa::code::exec_lo, mask.first, code[first].origin));
        lanes_ = predicate;
        const uint32_t depth = function_.blocks.back().depth;
        if (memory) {
            put(branch(function_, "s_cbranch_execz", (next_block() + 1) | kRenamed, code[first].origin));
            open("", depth);
        }
        for (size_t i = first; i < end; ++i) put(code[i]);
        if (memory) open("", depth);
        if (rewritten)
            lanes_ = {.reg = predicate.reg, .first = predicate.first, .dwords = 0};  // EXEC is no register's value
        return end;
    }

    void plain(const Instruction& instruction, const lint::Access& access) {
        const lint::Registers exec{isa::code::exec_lo, 2};
        bool reads = is_branch(instruction);
        for (const lint::Read& read : access.all_reads()) reads |= read.registers.overlaps(exec);
        if (reads) restore(instruction.origin);
        for (const lint::Write& write : access.all_writes()) {
            if (write.registers.overlaps(exec)) lanes_ = {};
            if (lanes_ && write.registers.overlaps({code_of(lanes_), function_.mask_dwords()})) lanes_.dwords = 0;
        }
        note_writes(access, false);
        put(instruction);
    }

    void note_writes(const lint::Access& access, bool predicated) {
        for (const lint::Write& write : access.all_writes())
            for (uint32_t i = 0; i < write.registers.count && is_vector(write.registers); ++i) {
                const size_t row = write.registers.first - size_t{lint::kVectors} + i;
                if (row >= partial_.size()) partial_.resize(row + 1);
                if (predicated || !write.partly) partial_[row] = predicated;
            }
    }
    bool reads_partial(const lint::Access& access) const {
        for (const lint::Read& read : access.all_reads())
            for (uint32_t i = 0; i < read.registers.count && is_vector(read.registers); ++i) {
                const size_t row = read.registers.first - size_t{lint::kVectors} + i;
                if (row < partial_.size() && partial_[row]) return true;
            }
        return false;
    }

    void restore(uint32_t origin) {
        if (!lanes_) return;
        const Place all = function_.all_lanes;
        put(move_mask(function_, isa::code::exec_lo, all ? code_of(all) : isa::code::inline_minus_one, origin));
        lanes_ = {};
    }

    MachineFunction& function_;
    Place lanes_;  ///< the predicate that EXEC has; none: all lanes. Of no dwords: a value that is nowhere else
    std::vector<uint32_t> first_;         ///< of each old block
    std::vector<lint::Access> accesses_;  ///< of a stretch
    std::vector<bool>
        partial_;  ///< vector registers that have been written for some lanes alone since they were for all
};

}  // namespace

Result<void> exec_masks(MachineFunction& function) {
    if (any_of(function, [](const Instruction& one) { return bool(one.predicate); })) Predicates(function).run();
    return {};
}

}  // namespace strata::codegen
