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

/// Which bits of a wave's registers come from what was written, and not from what happened to be there. Instructions
/// pass on which bits are known (transfers.def). An unknown bit is a finding if it forms an address, decides a branch
/// or is stored in memory that others read. It counts as known after that.
class Registers {
  public:
    void start(const Wave& wave, const ScalarSet& given);
    /// With those that always hold something.
    static ScalarSet known_at_start(const GivenScalars& given);
    /// Looks at what the instruction reads, and notes what it writes.
    void step(const Moment& moment);
    /// True if all is known that a run of instructions reads; what it writes then is known too, which pass() notes.
    bool knows(const Run& run, uint64_t exec) const {
        const RunRegisters& all = run.registers;
        if ((all.scalars_read & ~whole_).any()) return false;
        uint64_t missing = 0;
        for (size_t i = 0; i < all.words; ++i) {
            const uint64_t full = full_.word(i);
            missing |= (all.all_read.word(i) & ~full) | (all.all_read_low.word(i) & ~(full | full_low_.word(i)));
        }
        return !missing || knows_in(all, exec);
    }
    void pass(const Run& run, uint64_t exec) {
        const RunRegisters& all = run.registers;
        whole_ |= all.scalars_written;
        uint64_t missing = 0;
        for (size_t i = 0; i < all.words; ++i) missing |= all.all_written.word(i) & ~full_.word(i);
        if (missing || all.written_in_part) pass_in(all, exec);
    }

    /// Known bits of a register in a lane.
    uint32_t bits(uint16_t reg, int lane) const {
        if (reg < lint::kVectors) return reg >= scalars_.size() || whole_[reg] ? ~0u : scalars_[reg];
        const size_t row = reg - size_t{lint::kVectors};
        if (row >= rows_.size() || known_lanes(row) >> lane & 1) return ~0u;
        const uint32_t low = low_lanes(row) >> lane & 1 ? 0xffff : 0;
        return partly_[row] >> lane & 1 ? partial_[place(row, lane)] | low : low;
    }
    /// Lanes in which a vector register is known whole, and those in which bits of it are.
    uint64_t whole_lanes(uint16_t reg) const {
        const size_t row = reg - size_t{lint::kVectors};
        return row < rows_.size() ? known_lanes(row) : ~0ull;
    }
    uint64_t partial_lanes(uint16_t reg) const {
        const size_t row = reg - size_t{lint::kVectors};
        return row < rows_.size() ? (partly_[row] | low_lanes(row)) & ~known_lanes(row) : 0;
    }
    void put(uint16_t reg, int lane, uint32_t bits);
    /// In some lanes nothing of a vector register is known: a load at `pc` brought what nothing has written.
    void lose_loaded(uint16_t reg, uint64_t lanes, uint64_t pc);
    /// put() of such a load.
    void put_loaded(uint16_t reg, int lane, uint32_t bits, uint64_t pc);
    /// A scalar load found `inside` bytes, and then the end of its memory.
    void lose_beyond(const Moment& moment, uint32_t inside);
    /// A load took in such lanes what the launch has written over it.
    void lose_stale(const Moment& moment, uint64_t lanes);

  private:
    struct Result {
        uint16_t reg;
        int lane;
        uint32_t bits;
        bool rest = false;  ///< what is not known was not before
    };
    /// One half of a VOPD, or an instruction of one half.
    struct Part {
        const isa::Row& row;
        std::span<const isa::Operand> src;
        const isa::Operand& dst;
        Transfer transfer;
    };

    uint64_t known_lanes(size_t row) const { return full_[row] ? ~0ull : rows_[row]; }
    /// Lanes of which the lower half is known, where not all are known whole.
    uint64_t low_lanes(size_t row) const { return full_low_[row] ? ~0ull : low_[row]; }
    size_t place(size_t row, int lane) const { return row * static_cast<size_t>(lanes_) + static_cast<size_t>(lane); }
    bool knows_in(const RunRegisters& all, uint64_t exec) const;
    void pass_in(const RunRegisters& all, uint64_t exec);
    void know(size_t row, uint64_t lanes);
    void know_low(size_t row, uint64_t lanes);
    void lose(size_t row, uint64_t lanes);
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
    bool knows_operands(const Moment& moment, const Part& part, int lane) const;
    Known result(const Moment& moment, const Part& part, int lane) const;
    void derive(const Moment& moment);
    void derive_vector(const Moment& moment, const Part& part);
    void derive_scalar(const Moment& moment);
    bool move_lane(const Moment& moment);
    void write_exec(const Moment& moment, uint64_t bits);
    void set(const isa::Operand& dst, int lane, Known value, const isa::Row& row, uint8_t op_sel, bool partly);

    int lanes_ = 32;
    uint64_t everyone_ = ~0u;     ///< all lanes
    RowSet full_;                 ///< rows that are known whole in all lanes
    std::vector<uint64_t> rows_;  ///< lanes that are known whole, by row, of the others
    RowSet full_low_;             ///< the same of lower halves
    std::vector<uint64_t> low_;
    std::vector<uint64_t> partly_;   ///< lanes of which partial_ tells more, if they are not known whole
    std::vector<uint32_t> partial_;  ///< known bits, by row and lane
    /// Origin of an unknown value: pc + 1 of the load that read it. Flags mark a read past the end of its memory
    /// (kBeyond) and bytes that another pointer has written (kStale). 0: no load.
    using Origin = uint64_t;
    static constexpr Origin kBeyond = 1ull << 63, kStale = 1ull << 62;
    Origin origin(uint16_t reg) const;
    Origin origin(const Moment& moment) const;
    void set_origin(uint16_t reg, Origin origin);
    std::vector<Origin> row_origins_;
    std::array<Origin, lint::kMode + 1> scalar_origins_{};
    ScalarSet whole_;                                  ///< scalars that are known whole
    std::array<uint32_t, lint::kMode + 1> scalars_{};  ///< known bits of the others
    std::vector<Result> results_;                      ///< of the instruction at hand
};

}  // namespace strata::emu
