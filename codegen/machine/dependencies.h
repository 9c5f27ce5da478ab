#pragma once
#include <span>
#include <vector>

#include "strata/codegen/machine/liveness.h"

namespace strata::codegen {

/// `to` stands after `from`, and waits for its result if it is issued less than `latency` clocks later.
struct Dependency {
    uint32_t from, to, latency;
};

/// The order that a block must keep: values of registers, of SCC, VCC, M0 and EXEC, and effects on memory.
class Dependencies {
  public:
    Dependencies(const MachineFunction& function, const Liveness& liveness);

    /// The dependencies of the first `count` instructions of a block, each pair at most twice.
    const std::vector<Dependency>& of(const Block& block, uint32_t count);

  private:
    static constexpr uint32_t kNone = UINT32_MAX;
    /// Who wrote a register last, and who has read it since.
    struct State {
        uint32_t block = kNone;  ///< that this is about
        uint32_t writer = kNone, readers = kNone;
    };
    struct Reader {
        uint32_t instruction, next;
    };
    /// isa::implicit bits.
    struct Implied {
        uint8_t reads, writes;
    };
    enum Special { kVcc, kM0, kExec, kSpecials };
    enum Space { kGlobal, kLds, kScratch, kSpaces };

    State& state(size_t i);
    void add(uint32_t from, uint32_t to, uint32_t latency);
    void read(State& state, uint32_t i);
    void write(State& state, uint32_t i);
    void registers(const Instruction& instruction, uint32_t i);
    void specials(const Instruction& instruction, uint32_t i);
    void scc(const Instruction& instruction, uint32_t i);
    bool reads_scc(const Instruction& instruction, uint32_t i) const;
    void memory(const Instruction& instruction, uint32_t i);
    void barrier(uint32_t i);
    void schedule_barriers(const Block& block, uint32_t count);
    void find_live_scc(const Block& block, uint32_t count);

    const MachineFunction& function_;
    const Liveness& live_;
    std::vector<State> states_;  // of units, then of Special
    std::vector<Reader> readers_;
    std::vector<Dependency> found_;
    std::vector<Implied> implied_;   // by each instruction of the block
    std::vector<uint32_t> latency_;  // of each instruction
    std::vector<uint32_t> last_;     // of each instruction: the last one that was found to depend on it
    uint32_t block_ = 0;
    std::vector<bool> scc_live_;  // whether what the instruction leaves in SCC is read
    uint32_t scc_writer_ = kNone;
    std::vector<uint32_t> scc_readers_, scc_dead_;  // readers of that writer; writers since whom nobody reads
    std::vector<uint32_t> loads_[kSpaces], stores_[kSpaces];
    uint32_t fence_ = kNone, check_ = kNone, barrier_ = kNone;
};

/// The kinds of schedule_classes.def that an instruction is of.
int schedule_classes(const MachineFunction& function, const Instruction& instruction);

/// Clocks until a result can be used, as the scheduler sees it.
uint32_t result_latency(const MachineFunction& function, const Instruction& instruction);

}  // namespace strata::codegen
