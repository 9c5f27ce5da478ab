#pragma once
#include <span>
#include <vector>

#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/observe/per_chunk.h"
#include "strata/asm/emu/program/program.h"

// Instrumentation: a copy of a program's ops, each of which first tells those who observe the workgroup. Workgroups
// that nobody observes run the program itself, which knows nothing of this.
namespace strata::emu {

/// An op of a program, by its place.
struct Site {
    const Chunk* chunk = nullptr;
    size_t at = 0;  ///< in chunk->ops
    const Op& op() const { return chunk->ops[at]; }
};

/// Where an op stands in the straight runs of its program: those that an observer may pass as one.
enum class InRun : uint8_t {
    no,     ///< it is looked at by itself
    start,  ///< the ops after it, as far as they are inside or asked, run whenever it does
    inside,
    asked,  ///< inside, but the observer is asked at the op itself too
};
/// Who says what the straight runs of a program are: by op of a chunk.
class Runs {
  public:
    virtual std::span<const InRun> runs_of(const Chunk& chunk) = 0;

  protected:
    ~Runs() = default;
};

/// Who says which ops are watched: by op of a chunk.
class Watch {
  public:
    virtual std::span<const uint8_t> watched(const Chunk& chunk) = 0;

  protected:
    ~Watch() = default;
};

/// The next event that an observer wants.
enum class Wants : uint8_t {
    nothing,  ///< it has seen enough of the wave
    watched,  ///< the watched ops; it may get others, which it passes over
    every,
};

/// One way to look at workgroups while they run. Several look side by side and know nothing of one another.
class Observer {
  public:
    virtual ~Observer() = default;
    /// The op is about to run on the wave. Returns the observer's wish for the wave from the next op on.
    virtual Wants before(Wave& wave, const Site& site) = 0;
    /// Called before the first op of a straight run, where this is the only observer. True: the observer needs no call
    /// for the ops of the run; false: before() is called for each.
    virtual bool before_run(Wave&, const Site&) { return false; }
    /// The same before an op inside a run whose earlier ops needed no call. False: before() is called for this op and
    /// the rest of the run.
    virtual bool within_run(Wave&, const Site&) { return false; }
    /// The wave is ready to start.
    virtual void started(const Wave&) {}
    /// The wave has come to its end.
    virtual void ended(const Wave&) {}
    /// True if the waves of its workgroups take turns at each wait, as in hardware, whatever the seed.
    virtual bool orders_waves() const { return false; }
};

/// The instrumented copy of a program: chunks are copied when a wave comes to them. With `runs` each chunk is copied
/// twice. In one copy all ops are observed; in the other the ops inside of straight runs are as in the program. With
/// `watch` there is a copy too in which only watched ops are observed.
class InstrumentedCode final : public Code {
  public:
    explicit InstrumentedCode(Program& program, Runs* runs = nullptr, Watch* watch = nullptr)
        : program_(program), runs_(runs), watch_(watch) {}
    /// The copy of an op of the program.
    const Op* copy_of(const Op* plain);
    Result<const Op*> at_address(uint64_t address) override;
    const Op* plain(const Op* op) const override;

    struct Next {
        Handler run = nullptr;
        const Op* op = nullptr;
    };
    /// Calls the observers of the wave's workgroup, in their order. Gives the next op, or nothing if all of them have
    /// seen enough: the wave goes on in the program itself.
    Next observe(Wave& wave, const Op* op) const;

  private:
    struct Copy {
        const Chunk* chunk = nullptr;
        std::vector<Op> ops, fast, light;              ///< fast: with `runs`; light: with `watch`
        std::vector<Handler> handlers, fast_handlers;  ///< what the ops do, by op
        std::span<const InRun> in_run;
        bool holds(const Op* op) const { return is_fast(op) || is_among(ops, op) || is_among(light, op); }
        bool is_fast(const Op* op) const { return is_among(fast, op); }
        size_t place_of(const Op* op) const {
            return static_cast<size_t>(op - (is_among(ops, op) ? ops : is_fast(op) ? fast : light).data());
        }

      private:
        static bool is_among(const std::vector<Op>& all, const Op* op) {
            return op >= all.data() && op < all.data() + all.size();
        }
    };
    Copy copy(const Chunk& chunk) const;
    void copy_runs(Copy& made) const;
    void copy_watched(Copy& made) const;
    const Copy* holder_of(const Op* op) const;

    Program& program_;
    Runs* runs_;
    Watch* watch_;
    PerChunk<Copy> copies_;
};

}  // namespace strata::emu
