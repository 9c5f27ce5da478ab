#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "strata/codegen/compile/compiled.h"
#include "strata/codegen/optimize/beam.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/expected_p.h"
#include "strata/runtime/program.h"

namespace strata::runtime {

/// A line on a terminal that says how far a long search is; erased at the end.
class SearchProgress {
  public:
    explicit SearchProgress(std::string what);
    ~SearchProgress();
    SearchProgress(const SearchProgress&) = delete;
    /// One more candidate; `best_ms` of all before, 0: there is none.
    void step(double best_ms);

  private:
    using Clock = std::chrono::steady_clock;

    std::string what_;
    bool shown_, printed_ = false;
    int done_ = 0;
    Clock::time_point start_ = Clock::now(), last_{};
};

/// Runs candidates on data of their own, and compares what they compute with what the kernel does.
class DeviceJudge : public codegen::Judge {
  public:
    /// `slots` are a launch's: integers are read from its memory, since they may be indices; floats are drawn at random.
    DeviceJudge(Device& device, const codegen::Kernel& plain, std::span<const uint64_t> slots);

    std::vector<codegen::Trial> judge(std::span<const codegen::Scheduled> candidates) override;
    std::string objection(const codegen::Scheduled& winner) override;

  private:
    enum class Extent : uint8_t { whole, sample };

    void find_expected(const codegen::Kernel& plain);
    /// Takes what the program computes as right.
    void expect(const Program& program);
    /// What is wrong with what a launch left; all of it is poisoned again.
    std::string difference(bool partly);
    std::shared_ptr<const Program> load(const codegen::Scheduled& scheduled);
    double launch(const Program& program, Extent extent, uint64_t wave_budget = 0);
    double launch(const Program& program, Extent extent, uint64_t wave_budget, std::span<const uint64_t> slots);
    double measured(const Program& program);
    void flush_caches();
    codegen::Trial try_one(Result<codegen::Compiled>& compiled);
    codegen::Trial run(codegen::Compiled compiled);
    uint64_t wave_budget() const;

    Device& device_;
    SearchProgress progress_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::vector<uint64_t> slots_;  ///< numbers as they were given
    std::unique_ptr<Buffer> flush_;
    struct Output {
        size_t slot;
        std::unique_ptr<Expected> expected;
    };
    std::vector<Output> outputs_;
    UOp trusted_;  ///< the schedule that computed it
    double best_ms_ = 0;
    std::unordered_map<std::string, codegen::Trial> by_code_;
};

}  // namespace strata::runtime
