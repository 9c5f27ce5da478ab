// sink_predicates: predicate sinking. A value that only predicated instructions read is computed for their lanes alone,
// beside them.
//
// Before  copy v1, 0; ds_load v1 keeps predicate m; v_add v2, v1, v0; ds_store v2 predicate m
// After   ds_load v1 predicate m; v_add v2, v1, v0 predicate m; ds_store v2 predicate m
#include <unordered_map>

#include "strata/codegen/machine/operands.h"
#include "strata/codegen/machine/passes.h"

namespace strata::codegen {
namespace {

/// How a register is written and read, over the whole function.
struct Uses {
    uint32_t writes = 0, reads = 0;
    uint32_t block = UINT32_MAX;  ///< that all of it is in; UINT32_MAX - 1: several
};
constexpr uint32_t kSeveral = UINT32_MAX - 1;

class Spreader {
  public:
    explicit Spreader(MachineFunction& function) : function_(function), uses_(function.registers.size()) {
        for (uint32_t b = 0; b < function.blocks.size(); ++b)
            for (const Instruction& instruction : function.blocks[b].code) {
                for (Place p : instruction.dst) note(p, b, true);
                for (Place p : instruction.src) note(p, b, false);
                note(instruction.predicate, b, false);
            }
    }

    void run(std::vector<Instruction>& code) {
        predicates_.clear();
        for (size_t i = code.size(); i-- > 0;) {
            Instruction& instruction = code[i];
            if (instruction.predicate && instruction.keeps) release(code, i);
            if (!instruction.predicate && computes(instruction))
                if (const Place predicate = predicate_of_readers(instruction);
                    predicate && defined_before(code, i, predicate)) {
                    instruction.predicate = predicate;
                    instruction.as_readers = true;
                }
            for (Place p : instruction.src) read(p, instruction.predicate);
            if (instruction.keeps) read(instruction.dst[0], {});
        }
        std::erase_if(code, [](const Instruction& i) { return i.pseudo == Pseudo::copy && !i.dst[0]; });
    }

  private:
    struct Readers {
        Place predicate;  ///< of all of them; none: they differ
        uint32_t reads = 0;
    };

    void note(Place place, uint32_t block, bool writes) {
        if (!place) return;
        Uses& uses = uses_[place.reg];
        ++(writes ? uses.writes : uses.reads);
        uses.block = uses.block == UINT32_MAX || uses.block == block ? block : kSeveral;
    }

    void read(Place place, Place predicate) {
        if (!place) return;
        auto [at, first] = predicates_.try_emplace(place.reg, Readers{predicate, 0});
        if (!first && !(at->second.predicate == predicate)) at->second.predicate = {};
        ++at->second.reads;
    }

    /// A vector instruction that does no more than fill its destinations: of lanes, or with a bit a lane.
    bool computes(const Instruction& instruction) const {
        if (instruction.pseudo != Pseudo::none || !instruction.dst[0] || instruction.keeps) return false;
        const isa::Row& row = *instruction.inst.row;
        if (row.flags & (isa::kMemory | isa::kMatrix | isa::kWritesExec) || row.format <= isa::Format::SMEM ||
            crosses_lanes(instruction))
            return false;
        return function_.bank(instruction.dst[0]) == Bank::vector || instruction.inst.dst[0].type == isa::Type::lanes;
    }

    /// The predicate of all that read what an instruction writes: registers of one writer, or parts of tuples. None
    /// where some have others.
    Place predicate_of_readers(const Instruction& instruction) const {
        Place predicate{};
        for (Place dst : instruction.dst) {
            if (!dst || !uses_[dst.reg].reads) continue;
            const Uses& uses = uses_[dst.reg];
            auto found = predicates_.find(dst.reg);
            const bool part = dst.dwords < function_.registers[dst.reg].dwords;
            if (found == predicates_.end() || !found->second.predicate || found->second.reads != uses.reads ||
                uses.block == kSeveral || (uses.writes > 1 && !part) ||
                (predicate && !(predicate == found->second.predicate)))
                return {};
            predicate = found->second.predicate;
        }
        return predicate;
    }

    /// Scalars that a predicate is made of in this block must stand before what it predicates.
    bool defined_before(const std::vector<Instruction>& code, size_t at, Place predicate) const {
        for (size_t i = at; i < code.size(); ++i)
            for (Place p : code[i].dst)
                if (p && p.reg == predicate.reg) return false;
        return true;
    }

    /// A predicated load whose readers are predicated alike need not keep what was there.
    void release(std::vector<Instruction>& code, size_t at) {
        Instruction& load = code[at];
        const uint32_t reg = load.dst[0].reg;
        auto found = predicates_.find(reg);
        const Uses& uses = uses_[reg];
        if (found == predicates_.end() || !(found->second.predicate == load.predicate) ||
            found->second.reads != uses.reads || uses.block == kSeveral)
            return;
        uint32_t others = uses.writes - 1;
        std::vector<size_t> copies;
        for (size_t i = at; i-- > 0 && others;)
            if (code[i].dst[0] && code[i].dst[0].reg == reg) {
                if (code[i].pseudo != Pseudo::copy) return;
                copies.push_back(i);
                --others;
            }
        if (others) return;
        for (size_t i : copies) code[i].dst[0] = {};
        load.keeps = false;
    }

    MachineFunction& function_;
    std::vector<Uses> uses_;
    std::unordered_map<uint32_t, Readers> predicates_;
};

}  // namespace

Result<void> sink_predicates(MachineFunction& function) {
    if (!any_of(function, [](const Instruction& one) { return bool(one.predicate); })) return {};
    Spreader spreader(function);
    for (Block& block : function.blocks) spreader.run(block.code);
    remove_dead_code(function);
    return {};
}

}  // namespace strata::codegen
