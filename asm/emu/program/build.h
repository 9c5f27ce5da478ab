#pragma once
#include <set>
#include <utility>

#include "strata/asm/emu/program/handlers.h"
#include "strata/asm/emu/program/program.h"

// Between following the control flow (program.cpp) and laying out ops (build.cpp).
namespace strata::emu {

/// Where control goes after an instruction.
enum class Flow { next, branch, conditional, call, stop };
Flow flow_of(const isa::Inst& inst);
/// Target of a branch whose instruction is at byte offset `offset`.
uint64_t branch_target(uint64_t offset, const isa::Inst& inst);

/// How the order of workgroups can change an instruction's result.
Order order_of(isa::Family family, const isa::Inst& inst);
/// True if control may go on where following the code's own flow does not lead.
bool leaves_known_code(const isa::Inst& inst);

/// The code that is reachable from one entry and not decoded yet.
struct Explored {
    struct Found {
        uint64_t offset = 0;  ///< byte offset in the text
        bool valid = true;
        bool soft = false;  ///< reached only after a trap or a call, from where nobody may come back
        isa::Inst inst;
    };
    std::vector<Found> found;    ///< ascending offsets
    std::set<uint64_t> targets;  ///< of branches: these keep an op even if they do nothing
    /// The instruction found at an offset, or the end of `found`.
    std::vector<Found>::const_iterator at(uint64_t offset) const;
};

/// Glue between chunks: goes on at a byte offset of the text, in whatever chunk that is.
const Op* go_on_elsewhere(Wave* wave, const Op* op);

/// Before a vector instruction of code that uses gfx9's register indexing or VSKIP (CDNA3 ISA, "VGPR Indexing"): runs
/// it as MODE says.
const Op* indexed(Wave* wave, const Op* op);
/// True if the instruction turns on one of those modes.
bool starts_indexing(const isa::Inst& inst);

/// Lays out what was found as ops: in the order of the text, with glue where that has gaps.
class ChunkBuilder {
  public:
    ChunkBuilder(const Program& program, const Explored& explored) : program_(program), explored_(explored) {}
    Result<std::unique_ptr<Chunk>> build();

  private:
    static constexpr uint64_t kNowhere = ~0ull;
    struct Jump {
        size_t op;
        uint64_t target;
    };

    Result<void> add(uint64_t offset, isa::Inst& inst);
    Result<void> place_registers(uint64_t offset, isa::Inst& inst) const;
    uint8_t take_hit_slot(const isa::Inst& inst);
    uint64_t vector_use_after(uint64_t offset) const;
    void emit(Op op);
    void glue(uint64_t offset);
    void link(const Jump& jump);

    const Program& program_;
    const Explored& explored_;
    std::unique_ptr<Chunk> chunk_ = std::make_unique<Chunk>();
    std::vector<std::pair<uint64_t, size_t>> position_;  ///< offsets, ascending, and their first ops
    std::vector<uint64_t> waiting_;  ///< instructions left out, and the one at hand: they go to the next op
    std::vector<Jump> jumps_;
    uint64_t next_ = kNowhere;  ///< where the instruction before goes on, if it does
    uint32_t loads_ = 0, scalar_loads_ = 0, stores_ = 0;
};

}  // namespace strata::emu
