#pragma once
#include <array>
#include <bitset>
#include <cstdint>
#include <vector>

#include "strata/asm/emu/observe/instrumented.h"
#include "strata/asm/lint/access.h"

namespace strata::emu {

using ScalarSet = std::bitset<lint::kMode + 1>;

/// Rows of vector registers, v0 first.
class RowSet {
  public:
    static constexpr size_t kWord = 64, kWords = 512 / kWord;
    bool operator[](size_t row) const { return words_[row / kWord] >> row % kWord & 1; }
    void set(size_t row) { words_[row / kWord] |= 1ull << row % kWord; }
    void reset(size_t row) { words_[row / kWord] &= ~(1ull << row % kWord); }
    void reset() { words_.fill(0); }
    uint64_t& word(size_t i) { return words_[i]; }
    uint64_t word(size_t i) const { return words_[i]; }

  private:
    std::array<uint64_t, kWords> words_{};
};

/// Registers that a sequence of instructions reads before it writes them, or writes. Rows count from v0.
struct RunRegisters {
    std::vector<uint16_t> read;  ///< rows, in the active lanes
    std::vector<uint16_t> read_across,
        rewritten;  ///< in all lanes; rewritten: after some instruction of the run wrote them
    std::vector<uint16_t> written, written_across;  ///< in the active lanes; in all
    std::vector<uint16_t> read_low, written_low;    ///< their lower halves only, in the active lanes
    /// In some lanes only; own: read after the run wrote it in the active ones.
    struct Lanes {
        uint16_t row;
        uint64_t lanes;
        bool own = false;
    };
    std::vector<Lanes> read_lanes, written_lanes;
    ScalarSet scalars_read{}, scalars_written{};  ///< without those that always hold something
    RowSet all_read{}, all_written{};             ///< in whatever lanes; without halves and written_lanes
    RowSet all_read_low{};
    size_t words = 0;              ///< of these three, in which there are rows
    bool written_in_part = false;  ///< lanes or halves of rows
};

/// A straight run of instructions that strict mode may pass as one: whenever the first one runs all do. EXEC stays as
/// it is after the first one, while there are lanes to it. Only the first op may need a check of its memory or barrier;
/// ops that access local memory are checked one by one.
struct Run {
    static constexpr uint16_t kNoScalar = 0xffff;
    uint32_t id = 0;            ///< among those of the program
    uint32_t first = 0;         ///< instruction, by Op::index
    uint32_t last = 0, at = 0;  ///< the last one, and its op
    bool barrier = false;
    bool is_private = false;                  ///< one access to private memory, which passes on what it does not know
    bool stores = false, wants_lane = false;  ///< some instruction (Checked)
    uint8_t widened = 0;                      ///< the first one (Checked)
    /// The first one gives lanes back: EXEC is then this scalar, or that and what it was.
    uint16_t lanes_back = kNoScalar;
    bool keeps_lanes = false;
    RunRegisters registers;
};

struct Checked;
struct Watched;

/// Finds the straight runs of a chunk.
class RunBuilder {
  public:
    RunBuilder(const Chunk& chunk, const std::vector<Checked>& instructions, const Program& program,
               const Watched& watched);
    std::vector<InRun> in_run;  ///< by op
    std::vector<Run> runs;

  private:
    bool alone(size_t at) const;
    bool starts(size_t at) const;
    bool ends(size_t at) const;
    bool writes_exec(size_t at) const;
    bool is_scalar(size_t at) const;
    bool gives_lanes_back(size_t at);
    void find_targets();
    bool is_private(size_t at) const;
    bool is_local(size_t at) const;
    void add(const isa::Inst& inst, const Checked& checked);
    bool add_lane(const isa::Inst& inst);

    const Chunk& chunk_;
    const std::vector<Checked>& instructions_;
    int vgprs_, wave_size_;
    bool accesses_private_, shares_;
    std::vector<bool> targets_;  ///< by op
};

}  // namespace strata::emu
