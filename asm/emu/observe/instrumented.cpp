#include "strata/asm/emu/observe/instrumented.h"

#include "strata/asm/emu/program/handlers.h"

namespace strata::emu {
namespace {

/// The handler of every op of a copy.
const Op* observed(Wave* wave, const Op* op) {
    const auto& code = static_cast<const InstrumentedCode&>(*wave->group->code);
    const Handler run = code.observe(*wave, op);
    if (wave->stop == Stop::fault) return nullptr;  // an observer ended the launch
    if (!run) {
        const Op* const plain = code.plain(op);
        STRATA_EMU_GOTO(plain);
    }
#if defined(__clang__)
    [[clang::musttail]]
#endif
    return run(wave, op);
}

}  // namespace

const Op* InstrumentedCode::copy_of(const Op* plain) {
    const Chunk* const chunk = program_.chunk(plain);
    if (!chunk) return plain;
    const Copy& copy = copies_.get(*chunk, [&] {
        Copy made{chunk, chunk->ops, {}};
        for (Op& op : made.ops) {
            made.handlers.push_back(handlers().plain(op));
            op.run = observed;
        }
        return made;
    });
    return copy.ops.data() + (plain - chunk->ops.data());
}

Result<const Op*> InstrumentedCode::at_address(uint64_t address) {
    STRATA_TRY(const Op* plain, program_.at_address(address));
    return copy_of(plain);
}

const InstrumentedCode::Copy* InstrumentedCode::holder_of(const Op* op) const {
    return copies_.find_if(
        [op](const Copy& copy) { return op >= copy.ops.data() && op < copy.ops.data() + copy.ops.size(); });
}

const Op* InstrumentedCode::plain(const Op* op) const {
    const Copy* const copy = holder_of(op);
    return copy ? copy->chunk->ops.data() + (op - copy->ops.data()) : op;
}

Handler InstrumentedCode::observe(Wave& wave, const Op* op) const {
    const Copy* const copy = holder_of(op);
    const Site site{copy->chunk, static_cast<size_t>(op - copy->ops.data())};
    bool looking = false;
    for (Observer* observer : wave.group->observers) looking |= observer->before(wave, site);
    return looking ? copy->handlers[site.at] : nullptr;
}

}  // namespace strata::emu
