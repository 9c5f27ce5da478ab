#include "strata/codegen/select/context/divergence.h"

#include <algorithm>

namespace strata::codegen {

bool Divergence::varies(UOp u) {
    u = skip_after(u);
    if (const auto found = varies_.find(u); found != varies_.end()) return found->second;
    const auto any_source = [&] { return std::ranges::any_of(u.src(), [&](UOp s) { return varies(s); }); };
    bool differs = false;
    switch (u.op()) {
        case Op::special: differs = u.as<SpecialArg>().thread; break;
        case Op::load: {
            const UOp memory = memory_of(u);
            const bool is_constant = memory.as<ParamArg>().space == Space::global && !context_.writes(memory);
            differs = !is_constant || any_source();
            break;
        }
        case Op::fetched:
        case Op::shuffle_xor:
        case Op::shuffle:
        case Op::foreign:  // in vector registers
        case Op::wmma: differs = true; break;
        case Op::param:
        case Op::range:
        case Op::ballot: break;
        default: differs = any_source();
    }
    return varies_[u] = differs;
}

void Divergence::find() {
    for (UOp u : program_.ops)
        if (u.is(Op::break_if) && varies(u.src(0))) splits_[u.src(1)] = true;
    split_at_.resize(program_.ops.size());
    size_t around = 0;
    for (size_t i = 0; i < program_.ops.size(); ++i) {
        const UOp u = program_.ops[i];
        around += u.is(Op::range) && splits(u);
        split_at_[i] = around > 0;
        around -= u.is(Op::end) && splits(skip_after(u.src(1)));
    }
}

}  // namespace strata::codegen
