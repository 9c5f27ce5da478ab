#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "strata/asm/emu/launch/plan.h"

namespace strata::emu {

/// One thread's share of a launch: a few resident workgroups whose waves take turns.
class Worker {
  public:
    Worker(Plan& plan, std::atomic<uint64_t>& next);
    ~Worker();
    /// Runs workgroups until none is left or one faults.
    void run();

    Outcome outcome;
    std::optional<Error> error;
    uint64_t error_group = 0;

  private:
    struct Resident;  // one workgroup and the memory of its waves
    bool admit();
    bool start(Resident& resident);
    void start_wave(Resident& resident, uint32_t index);
    bool step(Wave* wave);
    void end_wave(Resident& resident, const Wave& wave);
    void release_barrier(Resident& resident);
    void release_split_barrier(Resident& resident);
    void fault(const Wave& wave);
    bool serve(Wave& wave);
    void stuck(const Resident& resident);
    bool turn(Resident& resident);
    void rotate();
    size_t resident_groups() const;

    Plan& plan_;
    std::atomic<uint64_t>& next_;
    std::vector<std::unique_ptr<Resident>> residents_;
    std::vector<Resident*> running_;
    uint64_t quantum_ = 0, since_progress_ = 0;
    std::string fault_text_;
};

}  // namespace strata::emu
