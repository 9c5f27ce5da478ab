#include <algorithm>
#include <tuple>
#include <utility>

#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/kernel/flops.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/parallel.h"
#include "strata/runtime/search/search_compiler_p.h"

namespace strata::runtime {

using executable::Code, codegen::Scheduled;

void CandidateCompiler::ahead(const std::function<void()>& mine, const std::function<std::vector<Scheduled>()>& find) {
    const auto first = [&] {
        try {
            mine();
        } catch (...) {
            ended_ = true;
            throw;
        }
        ended_ = true;
    };
    side_by_side(first, [&] {
        if (!ended_) compile_all(find());
    });
}

void CandidateCompiler::compile_all(std::span<const Scheduled> candidates) {
    const std::vector<size_t> order = longest_first(candidates);
    {
        std::lock_guard lock(mutex_);
        if (ended_) return;
        for (size_t i : order) ahead_.push_back({candidates[i]});
    }
    const auto next = [&](size_t i) {
        {
            std::lock_guard lock(mutex_);
            if (ended_ || ahead_[i].state != State::waits) return;
            ahead_[i].state = State::in_flight;
        }
        compile(ahead_[i]);
    };
    parallel_for(candidates.size(), next, static_cast<int>(std::max<size_t>(core_count() - 1, 1)));
}

void CandidateCompiler::each(std::span<const Scheduled> candidates,
                             const std::function<void(size_t, Result<executable::Code>, size_t)>& use) {
    ended_ = true;
    std::vector<Result<executable::Code>> compiled(candidates.size(), executable::Code{});
    std::atomic<size_t> in_flight = candidates.size();
    parallel_in_order(
        longest_first(candidates),
        [&](size_t i) {
            compiled[i] = take(candidates[i]);
            --in_flight;
        },
        [&](size_t i) { use(i, std::move(compiled[i]), in_flight); });
}

CandidateCompiler::Candidate* CandidateCompiler::known(UOp sink) {
    const auto found = std::ranges::find(ahead_, sink, [](const Candidate& c) { return c.scheduled.kernel.sink; });
    return found == ahead_.end() ? nullptr : &*found;
}

bool CandidateCompiler::has_begun(UOp sink) {
    std::lock_guard lock(mutex_);
    const Candidate* const found = known(sink);
    return found && found->state != State::waits;
}

/// The longest first, so that no thread is left alone with it at the end; what somebody is at last, as that is waited
/// for.
std::vector<size_t> CandidateCompiler::longest_first(std::span<const Scheduled> candidates) {
    std::vector<std::tuple<bool, int64_t, size_t>> keys;
    for (size_t i = 0; i < candidates.size(); ++i) {
        const UOp sink = candidates[i].kernel.sink;
        keys.emplace_back(has_begun(sink), -static_cast<int64_t>(codegen::count_unrolled(sink)), i);
    }
    std::ranges::sort(keys);
    std::vector<size_t> order;
    for (const auto& [begun, nodes, i] : keys) order.push_back(i);
    return order;
}

/// Compiles one that this thread has in hand. Where it fails to the end, as interrupted, the next caller tries again.
void CandidateCompiler::compile(Candidate& candidate) {
    const auto leave = [&](State state) {
        std::lock_guard lock(mutex_);
        candidate.state = state;
        changed_.notify_all();
    };
    try {
        candidate.compiled = codegen::compile_kernel(candidate.scheduled, target_);
    } catch (...) {
        leave(State::waits);
        throw;
    }
    leave(State::done);
}

Result<executable::Code> CandidateCompiler::take(const Scheduled& scheduled) {
    std::unique_lock lock(mutex_);
    Candidate* const found = known(scheduled.kernel.sink);
    if (!found) {
        lock.unlock();
        return codegen::compile_kernel(scheduled, target_);
    }
    const auto interruption = wait_polling(changed_, lock, [&] { return found->state != State::in_flight; }, [] {});
    if (interruption) std::rethrow_exception(interruption);
    if (found->state == State::waits) {
        found->state = State::in_flight;
        lock.unlock();
        compile(*found);
        lock.lock();
    }
    found->state = State::waits;  // for who asks once more
    return *std::exchange(found->compiled, {});
}

}  // namespace strata::runtime
