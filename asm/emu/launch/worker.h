#pragma once
#include <atomic>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "strata/asm/emu/launch/plan.h"

namespace strata::emu {

/// One thread's share of a launch: a few resident workgroups whose waves take turns.
class Worker {
  public:
    /// `share`: of the workgroups, those left for each of the workers.
    Worker(Plan& plan, std::atomic<uint64_t>& next, uint64_t share, bool polls);
    ~Worker();
    /// Runs workgroups until none is left, one faults, or another worker stops the launch. One of them, on the
    /// launching thread, polls for interrupts.
    void run();

    Outcome outcome;
    std::optional<Error> error;
    uint64_t error_group = 0;
    bool over_budget = false;   ///< the error is of a wave that ran as many instructions as it may
    std::exception_ptr thrown;  ///< an interruption

  private:
    struct Resident;  // one workgroup and the memory of its waves
    bool admit();
    bool admit_as_many();
    bool start(Resident& resident);
    void start_wave(Resident& resident, uint32_t index);
    bool step(Wave* wave);
    bool may_go_on(const Wave& wave);
    void end_wave(Resident& resident, const Wave& wave);
    void release_barrier(Resident& resident);
    void release_split_barrier(Resident& resident);
    void fail(const Wave& wave, ErrorKind kind);
    void fault(const Wave& wave);
    bool serve(Wave& wave);
    void stuck(const Resident& resident, std::string_view why);
    bool turn(Resident& resident);
    void rotate();
    size_t resident_groups() const;

    Plan& plan_;
    std::atomic<uint64_t>& next_;
    const uint64_t share_;
    std::vector<std::unique_ptr<Resident>> residents_;
    std::vector<Resident*> running_;
    uint64_t quantum_ = 0, check_every_ = 0, since_progress_ = 0;
    uint64_t reported_ = 0, since_check_ = 0;  ///< of the launch's budget, to the plan; since may_go_on()
    const bool polls_;
    bool idle_ = false, asleep_ = false;  ///< this round of turns: all waves waited for others; some in s_sleep
    std::string fault_text_;
};

}  // namespace strata::emu
