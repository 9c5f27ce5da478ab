#pragma once
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "strata/codegen/optimize/action.h"
#include "strata/codegen/target/target.h"
#include "strata/executable/code.h"

namespace strata::runtime {

/// Compiles the candidates of a search on all cores, those that are known before there is a judge ahead of him.
class CandidateCompiler {
  public:
    explicit CandidateCompiler(const codegen::Target& target) : target_(target) {}

    /// Does `mine` on this thread. Meanwhile all cores but one compile what `find` gives, until any is asked for or
    /// mine is done.
    void ahead(const std::function<void()>& mine, const std::function<std::vector<codegen::Scheduled>()>& find);

    /// All of them on all cores, each used by the caller's thread in order while others are compiled: `in_flight` are
    /// not done yet.
    void each(std::span<const codegen::Scheduled> candidates,
              const std::function<void(size_t i, Result<executable::Code> compiled, size_t in_flight)>& use);

  private:
    /// One that is compiled ahead.
    struct Candidate {
        codegen::Scheduled scheduled;
        enum class State : uint8_t { waits, in_flight, done } state = State::waits;
        std::optional<Result<executable::Code>> compiled = {};
    };
    using State = Candidate::State;

    void compile_all(std::span<const codegen::Scheduled> candidates);
    Candidate* known(UOp sink);
    bool has_begun(UOp sink);
    std::vector<size_t> longest_first(std::span<const codegen::Scheduled> candidates);
    void compile(Candidate& candidate);
    Result<executable::Code> take(const codegen::Scheduled& scheduled);

    const codegen::Target target_;
    std::atomic<bool> ended_{false};  ///< nothing more is begun ahead
    std::mutex mutex_;                ///< of what follows; not held by those that compile
    std::condition_variable changed_;
    std::deque<Candidate> ahead_;
};

}  // namespace strata::runtime
