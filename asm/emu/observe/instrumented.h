#pragma once
#include <vector>

#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/observe/per_chunk.h"
#include "strata/asm/emu/program/program.h"

// Instrumentation: a copy of a program's ops, each of which first tells those who observe the workgroup. Workgroups that
// nobody observes run the program itself, which knows nothing of this.
namespace strata::emu {

/// An op of a program, by its place.
struct Site {
    const Chunk* chunk = nullptr;
    size_t at = 0;  ///< in chunk->ops
    const Op& op() const { return chunk->ops[at]; }
};

/// One way to look at workgroups while they run. Several look side by side and know nothing of one another.
class Observer {
  public:
    virtual ~Observer() = default;
    /// The op is about to run on the wave. False: this observer has seen enough of the wave.
    virtual bool before(Wave& wave, const Site& site) = 0;
    /// The wave is ready to start.
    virtual void started(const Wave&) {}
    /// The wave has come to its end.
    virtual void ended(const Wave&) {}
    /// Whether the waves of its workgroups take turns at each wait, as in hardware, whatever the seed.
    virtual bool orders_waves() const { return false; }
};

/// The instrumented copy of a program: chunks are copied when a wave comes to them.
class InstrumentedCode final : public Code {
  public:
    explicit InstrumentedCode(Program& program) : program_(program) {}
    /// The copy of an op of the program.
    const Op* copy_of(const Op* plain);
    Result<const Op*> at_address(uint64_t address) override;
    const Op* plain(const Op* op) const override;

    /// Tells the observers of the wave's workgroup, in their order; the handler to go on with, or nullptr if all of them
    /// have seen enough: the wave goes on in the program itself.
    Handler observe(Wave& wave, const Op* op) const;

  private:
    struct Copy {
        const Chunk* chunk = nullptr;
        std::vector<Op> ops;
        std::vector<Handler> handlers;  ///< what the ops do, by op
    };
    const Copy* holder_of(const Op* op) const;

    Program& program_;
    PerChunk<Copy> copies_;
};

}  // namespace strata::emu
