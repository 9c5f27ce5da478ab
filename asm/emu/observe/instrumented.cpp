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

/// True if the op stands for itself alone, or all those that it stands for too are left as in the program.
template <class Left>
bool runs_as_one(const Op& op, size_t at, Left left) {
    if (op.layout != Layout::memory || !op.memory().is(kGrouped)) return true;
    for (size_t follower = at + 1; follower < at + op.memory().group().loads; ++follower)
        if (!left(follower)) return false;
    return true;
}

}  // namespace

void InstrumentedCode::copy_runs(Copy& made) const {
    made.in_run = runs_->runs_of(*made.chunk);
    made.fast = made.chunk->ops;
    const auto is_inside = [&](size_t at) { return made.in_run[at] == InRun::inside; };
    for (size_t at = 0; at < made.fast.size(); ++at) {
        Op& op = made.fast[at];
        made.fast_handlers.push_back(runs_as_one(op, at, is_inside) ? op.run : made.handlers[at]);
        op.run = is_inside(at) ? made.fast_handlers[at] : observed;
    }
}

void InstrumentedCode::copy_watched(Copy& made) const {
    const std::span<const uint8_t> watched = watch_->watched(*made.chunk);
    made.light = made.chunk->ops;
    for (size_t at = 0; at < made.light.size(); ++at) {
        Op& op = made.light[at];
        if (watched[at])
            op.run = observed;
        else if (!runs_as_one(op, at, [&](size_t follower) { return !watched[follower]; }))
            op.run = made.handlers[at];
    }
}

InstrumentedCode::Copy InstrumentedCode::copy(const Chunk& chunk) const {
    Copy made;
    made.chunk = &chunk;
    made.ops = chunk.ops;
    for (Op& op : made.ops) {
        made.handlers.push_back(handlers().plain(op));
        op.run = observed;
    }
    if (runs_) copy_runs(made);
    if (watch_) copy_watched(made);
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
    const Site site{copy.chunk, copy.place_of(op)};
    if (runs_) {
        const InRun place = copy.in_run[site.at];
        Observer& observer = *wave.group->observers[0];
        if (place == InRun::start ? observer.before_run(wave, site)
                                  : copy.is_fast(op) && place == InRun::asked && observer.within_run(wave, site))
            return {copy.fast_handlers[site.at], &copy.fast[site.at]};
    }
    Wants wants = Wants::nothing;
    for (Observer* observer : wave.group->observers) wants = std::max(wants, observer->before(wave, site));
    if (wants == Wants::nothing) return {nullptr, op};
    return {copy.handlers[site.at], &(wants == Wants::watched && watch_ ? copy.light : copy.ops)[site.at]};
}

}  // namespace strata::emu
