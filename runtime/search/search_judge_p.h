#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "strata/codegen/optimize/beam.h"
#include "strata/executable/code.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/program.h"
#include "strata/runtime/search/reference_output_p.h"
#include "strata/runtime/search/search_compiler_p.h"

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
    /// `start` is the heuristic's schedule of the kernel. `slots` are a launch's: integers are read from its memory,
    /// since they may be indices; floats are drawn at random.
    DeviceJudge(Device& device, const codegen::Kernel& plain, const codegen::Scheduled& start,
                std::span<const uint64_t> slots, CandidateCompiler& compiler);

    std::vector<codegen::Trial> judge(std::span<const codegen::Scheduled> candidates) override;
    std::string objection(const codegen::Scheduled& best) override;

  private:
    using Extent = ReferenceOutput::Extent;
    using Loaded = std::shared_ptr<const Program>;

    void find_expected(const codegen::Kernel& plain, const codegen::Scheduled& start);
    /// Takes what right_ computes as right, and has the outputs for it.
    double expect(Extent extent);
    /// The fault of a launch's output, which is poisoned again; nothing: none of it is known.
    std::optional<std::string> difference(bool partly);
    /// Runs a part, and says what is wrong with it.
    std::string check(const Program& program, uint64_t wave_budget, double& ms, Sample sample = Sample::usual);
    Loaded load(const codegen::Scheduled& scheduled);
    double launch(const Program& program, Extent extent, uint64_t wave_budget, std::span<const uint64_t> slots,
                  Sample sample = Sample::usual);
    double measured(const Program& program);
    void flush_caches();
    void compile(std::span<const codegen::Scheduled> candidates,
                 const std::function<void(size_t, Result<executable::Code>, size_t)>& use);
    codegen::Trial try_one(UOp sink, Result<executable::Code> compiled);
    /// One of several candidates of the same machine code is run.
    codegen::Trial once(const executable::Code& code, const std::function<Loaded()>& load);
    codegen::Trial run(const std::function<Loaded()>& load);
    uint64_t wave_budget() const;

    Device& device_;
    CandidateCompiler& compiler_;
    SearchProgress progress_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::vector<uint64_t> slots_;  ///< numbers as they were given
    std::unique_ptr<Buffer> flush_;
    struct Output {
        size_t slot;
        DType type;
        int64_t size;
        bool at_last = false;  ///< by the finish of the kernel, which not all blocks come to when a part is run
        std::unique_ptr<Buffer> buffer = {};
        std::unique_ptr<ReferenceOutput> reference = {};
    };
    std::vector<Output> outputs_;
    Extent known_ = Extent::part;  ///< of the outputs
    Loaded right_;                 ///< computes them
    UOp trusted_;                  ///< its schedule
    UOpMap<Loaded> loaded_;        ///< schedules that are compiled before the search
    double best_ms_ = 0;
    std::pair<UOp, std::shared_ptr<Program>> fastest_;  ///< of those tried, and its schedule
    std::unordered_map<std::string, codegen::Trial> by_code_;
};

}  // namespace strata::runtime
