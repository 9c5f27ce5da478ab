#pragma once
#include <array>
#include <span>
#include <vector>

#include "strata/asm/emu/check/known.h"
#include "strata/asm/emu/check/launch_checks.h"
#include "strata/asm/emu/check/moment.h"
#include "strata/asm/emu/check/runs.h"
#include "strata/asm/emu/check/transfer.h"

namespace strata::emu {

/// Which bits of a wave's registers come from what was written, and not from what happened to be there. Instructions pass
/// on what they know (transfers.def); that an unknown bit forms an address, decides where the wave goes on or is stored in
/// memory that others read is a finding, after which it counts as known.
class Registers {
  public:
    void start(const Wave& wave, const GivenScalars& given);
    /// Looks at what the instruction reads, and notes what it writes.
    void step(const Moment& moment);
    /// Whether all is known that a run of instructions reads; what it writes then is known too, which pass() notes.
    bool knows(const Run& run, uint64_t exec) const;
    void pass(const Run& run, uint64_t exec);

    /// Known bits of a register in a lane.
    uint32_t bits(uint16_t reg, int lane) const {
        if (reg < lint::kVectors) return reg >= scalars_.size() || whole_[reg] ? ~0u : scalars_[reg];
        const size_t row = reg - size_t{lint::kVectors};
        if (row >= rows_.size() || rows_[row] >> lane & 1) return ~0u;
        return partial_[row * static_cast<size_t>(lanes_) + static_cast<size_t>(lane)];
    }
    void put(uint16_t reg, int lane, uint32_t bits);
    /// The same, of a load at `pc` that brought what nothing has written.
    void put_loaded(uint16_t reg, int lane, uint32_t bits, uint64_t pc);

  private:
    struct Result {
        uint16_t reg;
        int lane;
        uint32_t bits;
    };
    /// One half of a VOPD, or an instruction of one half.
    struct Part {
        const isa::Row& row;
        std::span<const isa::Operand> src;
        const isa::Operand& dst;
        Transfer transfer;
    };

    uint64_t need(const Moment& moment, const lint::Read& read) const;
    bool whole(const lint::Registers& registers, uint64_t lanes) const;
    /// Nothing is known of them in any lane.
    bool unknown(const lint::Registers& registers) const;
    void mark(const Moment& moment);
    void move_row(const Moment& moment);
    void mark_indexed(const Moment& moment);
    void check(const Moment& moment);
    void use(const Moment& moment, const lint::Registers& registers, uint64_t lanes, std::string_view how,
             uint32_t asked = ~0u);
    void branch(const Moment& moment, const lint::Read& read);

    Known fetch(const Moment& moment, const isa::Operand& operand, int lane) const;
    bool knows_all(const Moment& moment, int lane, int half = 0) const;
    Known result(const Moment& moment, const Part& part, int lane) const;
    void derive(const Moment& moment);
    void derive_vector(const Moment& moment, const Part& part);
    void derive_scalar(const Moment& moment);
    bool move_lane(const Moment& moment);
    void write_exec(const Moment& moment, uint64_t bits);
    void set(const isa::Operand& dst, int lane, Known value, const isa::Row& row, uint8_t op_sel, bool partly);

    int lanes_ = 32;
    std::vector<uint64_t> rows_;     ///< lanes that are known whole, by row
    std::vector<uint32_t> partial_;  ///< known bits of the others, by row and lane
    std::vector<uint64_t> loaded_;   ///< by row: pc + 1 of the load that brought what is not known; 0: none did
    ScalarSet whole_;                ///< scalars that are known whole
    std::array<uint32_t, lint::kMode + 1> scalars_{};  ///< known bits of the others
    std::vector<Result> results_;                      ///< of the instruction at hand
    /// When a run was last passed: once more, with the same lanes, it finds and leaves the same unless something became
    /// unknown meanwhile.
    struct Passed {
        uint64_t exec = 0, losses = 0;
        bool operator==(const Passed&) const = default;
    };
    bool passed(const Run& run, uint64_t exec) const {
        return run.id < passed_.size() && passed_[run.id] == Passed{exec, losses_};
    }
    std::vector<Passed> passed_;  ///< by run
    uint64_t losses_ = 0;         ///< how often a register became unknown
};

}  // namespace strata::emu
