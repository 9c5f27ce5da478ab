#include "strata/asm/emu/observe/instrumented.h"

#include <algorithm>

#include "strata/asm/emu/program/handlers.h"

namespace strata::emu {
namespace {

/// The handler of the observed ops of a copy.
const Op* observed(Wave* wave, const Op* op) {
    const auto& code = static_cast<const InstrumentedCode&>(*wave->group->code);
    const InstrumentedCode::Next next = code.observe(*wave, op);
    if (wave->stop == Stop::fault) return nullptr;  // an observer ended the launch
    if (!next.run) {
        const Op* const plain = code.plain(op);
        STRATA_EMU_GOTO(plain);
    }
#if defined(__clang__)
    [[clang::musttail]]
#endif
    return next.run(wave, next.op);
}

/// Whether the ops that one stands for are all in one straight run.
bool is_in_run(const Op& op, std::span<const InRun> behind) {
    if (op.layout != Layout::memory || !op.memory().is(kGrouped)) return true;
    return std::ranges::all_of(behind.first(op.memory().group().loads - 1),
                               [](InRun place) { return place == InRun::inside; });
}

}  // namespace

InstrumentedCode::Copy InstrumentedCode::copy(const Chunk& chunk) const {
    Copy made;
    made.chunk = &chunk;
    made.ops = chunk.ops;
    for (Op& op : made.ops) {
        made.handlers.push_back(handlers().plain(op));
        op.run = observed;
    }
    if (!runs_) return made;
    made.in_run = runs_->runs_of(chunk);
    made.fast = chunk.ops;
    for (size_t at = 0; at < made.fast.size(); ++at) {
        Op& op = made.fast[at];
        const InRun place = made.in_run[at];
        made.fast_handlers.push_back(is_in_run(op, made.in_run.subspan(at + 1)) ? op.run : made.handlers[at]);
        op.run = place == InRun::inside ? made.fast_handlers[at] : observed;
    }
    return made;
}

const Op* InstrumentedCode::copy_of(const Op* plain) {
    const Chunk* const chunk = program_.chunk(plain);
    if (!chunk) return plain;
    const Copy& made = copies_.get(*chunk, [&] { return copy(*chunk); });
    return made.ops.data() + (plain - chunk->ops.data());
}

Result<const Op*> InstrumentedCode::at_address(uint64_t address) {
    STRATA_TRY(const Op* plain, program_.at_address(address));
    return copy_of(plain);
}

const InstrumentedCode::Copy* InstrumentedCode::holder_of(const Op* op) const {
    return copies_.find_if([op](const Copy& copy) { return copy.holds(op); });
}

const Op* InstrumentedCode::plain(const Op* op) const {
    const Copy* const copy = holder_of(op);
    return copy ? copy->chunk->ops.data() + copy->place_of(op) : op;
}

InstrumentedCode::Next InstrumentedCode::observe(Wave& wave, const Op* op) const {
    const Copy& copy = *holder_of(op);
    const bool is_fast = copy.is_fast(op);
    const Site site{copy.chunk, static_cast<size_t>(op - (is_fast ? copy.fast : copy.ops).data())};
    if (runs_) {
        const InRun place = copy.in_run[site.at];
        Observer& observer = *wave.group->observers[0];
        if (place == InRun::start ? observer.before_run(wave, site)
                                  : is_fast && place == InRun::asked && observer.within_run(wave, site))
            return {copy.fast_handlers[site.at], &copy.fast[site.at]};
        op = &copy.ops[site.at];
    }
    bool looking = false;
    for (Observer* observer : wave.group->observers) looking |= observer->before(wave, site);
    return {looking ? copy.handlers[site.at] : nullptr, op};
}

}  // namespace strata::emu
