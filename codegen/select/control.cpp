// Loops and barriers.
#include "strata/codegen/select/control_p.h"

#include <fmt/format.h>

namespace strata::codegen {

void Control::begin_loop(UOp range) {
    const Place counter = function_.add(Bank::scalar, dwords_of(range.dtype()));
    code_.copy(counter, Source::of_number(0));
    auto steps = Source::of_number(static_cast<uint64_t>(range_arg(range).size));
    if (!range.src().empty()) {
        const Place limit = function_.add(Bank::scalar, counter.dwords);
        code_.copy(limit, plain(value(range.src(0)), range.dtype()));
        steps = Source::of(limit);
    }
    std::optional<uint32_t> skipped_from;
    if (!range.src().empty() && !proves_at_least(range.src(0), 1)) {
        skipped_from = code_.block();
        context_.regions.open();
        code_.open_front();
    }
    code_.open_block(fmt::format("r{}", range_arg(range).id), code_.depth() + 1);
    loops_.push_back({counter, steps, code_.block(), skipped_from});
    context_.loops.push_back(range);
    addresses_.change_loop();
    set(range, Source::of(counter));
}

void Control::end_loop(UOp range) {
    STRATA_CHECK(!loops_.empty() && context_.loops.back() == range, "loops end in another order than they began");
    const Loop loop = loops_.back();
    loops_.pop_back();
    context_.loops.pop_back();
    addresses_.change_loop();
    const Source counter = Source::of(loop.counter);
    if (loop.counter.dwords == 1) {
        code_.scalar_to(loop.counter, "s_add_u32", {counter, Source::of_number(1)});
        code_.scalar_compare("s_cmp_lg_u32", counter, loop.steps);
    } else {
        code_.scalar_to(loop.counter.part(0), "s_add_u32", {dword(counter, 0), Source::of_number(1)});
        code_.scalar_to(loop.counter.part(1), "s_addc_u32", {dword(counter, 1), Source::of_number(0)});
        code_.scalar_compare("s_cmp_lg_u64", counter, loop.steps);
    }
    code_.add("s_cbranch_scc1").target = loop.block;
    code_.open_block("", code_.depth() - 1);
    if (loop.skipped_from) skip_loop(loop);
}

/// Goes on in a block of its own, which is reached from in front of the loop too.
void Control::skip_loop(const Loop& loop) {
    const uint32_t depth = code_.depth();
    code_.open_block("", depth);
    const uint32_t behind = code_.block();
    code_.go_to(*loop.skipped_from);
    code_.scalar_compare(pick(loop.counter.dwords == 1, "s_cmp_eq_u32", "s_cmp_eq_u64"), loop.steps,
                         Source::of_number(0));
    code_.add("s_cbranch_scc1").target = behind;
    code_.go_to(behind);
    context_.regions.close();
}

void Control::barrier() {
    if (!code_.has("s_barrier_signal")) {
        code_.add("s_barrier");
        return;
    }
    // RDNA4 ISA 16.5: barrier -1 is the workgroup's.
    code_.add("s_barrier_signal").inst.src[0].code = isa::code::inline_minus_one;
    code_.add("s_barrier_wait").inst.offset = 0xffff;
}

}  // namespace strata::codegen
