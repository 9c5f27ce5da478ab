// Loops and barriers. Lanes that leave a loop by themselves are taken out of a mask, SelectionContext::active. Accesses
// to memory and stores to registers have it as their predicate. All else runs for all lanes, so that EXEC, registers
// and exchanges of lanes are as anywhere else. The wave leaves where no lane is left.
#include "strata/codegen/select/control_p.h"

#include <fmt/format.h>

#include <algorithm>

#include "strata/asm/lint/wait_fields.h"

namespace strata::codegen {

void Control::begin_loop(UOp range) {
    Loop loop;
    loop.around = context_.active;
    if (is_once(range)) {
        loops_.push_back(loop);
        context_.loops.push_back(range);
        addresses_.change_loop();
        set(range, Source::of_number(0));
        return;
    }
    loop.counter = function_.add(Bank::scalar, dwords_of(range.dtype()));
    code_.copy(loop.counter, Source::of_number(0));
    loop.steps = Source::of_number(static_cast<uint64_t>(range_arg(range).size));
    if (!range.src().empty()) {
        const Place limit = function_.add(Bank::scalar, loop.counter.dwords);
        code_.copy(limit, plain(value(range.src(0)), range.dtype()));
        loop.steps = Source::of(limit);
    }
    if (divergence_.splits(range)) {
        context_.active = function_.add(Bank::scalar, function_.mask_dwords());
        code_.copy(context_.active, loop.around ? Source::of(loop.around) : all_lanes());
    }
    if (!range.src().empty() && !proves_at_least(range.src(0), 1)) {
        loop.skipped_from = code_.block();
        context_.regions.open();
        code_.open_front();
    }
    code_.open_block(fmt::format("r{}", range_arg(range).id), code_.depth() + 1);
    loop.block = code_.block();
    loops_.push_back(loop);
    context_.loops.push_back(range);
    addresses_.change_loop();
    set(range, Source::of(loop.counter));
}

void Control::take_step(const Loop& loop) {
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
}

void Control::end_loop(UOp range) {
    STRATA_CHECK(!loops_.empty() && context_.loops.back() == range, "loops end in another order than they began");
    const Loop loop = loops_.back();
    loops_.pop_back();
    context_.loops.pop_back();
    addresses_.change_loop();
    if (loop.counter) take_step(loop);
    context_.active = loop.around;
    for (size_t i = 0; i < loop.left_from.size(); ++i) code_.end_detour();
    if (loop.counter || !loop.left_from.empty()) code_.open_block("", code_.depth() - (loop.counter ? 1 : 0));
    for (uint32_t from : loop.left_from) {
        function_.blocks[from].code.back().target = code_.block();
        context_.regions.close();
    }
    if (loop.skipped_from) skip_loop(loop);
}

/// Later instructions run for the lanes that are left, and not at all where there are none. Constants that stand in
/// front of all loops stand in front of the branch.
void Control::break_if(UOp u) {
    const Value& condition = value(u.src(0));
    if (condition.number && !*condition.number) return;
    code_.open_front();
    if (!condition.mask) {
        code_.scalar_compare("s_cmp_lg_u32", condition, Source::of_number(0));
        return leave_by("s_cbranch_scc1");
    }
    const int dwords = function_.mask_dwords();
    if (!divergence_.splits(u.src(1))) {
        code_.scalar_compare(pick(dwords == 1, "s_cmp_lg_u32", "s_cmp_lg_u64"), condition, Source::of_number(0));
        return leave_by("s_cbranch_scc1");
    }
    // The mask of a loop is one register in all its steps.
    const Source before = context_.active ? Source::of(context_.active) : all_lanes();
    if (!loops_.back().counter) context_.active = function_.add(Bank::scalar, dwords);
    code_.scalar_to(context_.active, pick(dwords == 1, "s_and_not1_b32", "s_and_not1_b64"), {before, condition});
    leave_by("s_cbranch_scc0");
}

/// Branches to where the innermost loop ends, and goes on.
void Control::leave_by(Mnemonic branch) {
    loops_.back().left_from.push_back(code_.block());
    code_.add(branch);
    code_.open_front();
    code_.begin_detour();
    context_.regions.open();
}

/// Goes on in a block of its own, which is reached from in front of the loop too.
void Control::skip_loop(const Loop& loop) {
    const uint32_t depth = code_.depth();
    code_.open_block("", depth);
    const uint32_t end = code_.block();
    code_.go_to(*loop.skipped_from);
    code_.scalar_compare(pick(loop.counter.dwords == 1, "s_cmp_eq_u32", "s_cmp_eq_u64"), loop.steps,
                         Source::of_number(0));
    code_.add("s_cbranch_scc1").target = end;
    code_.go_to(end);
    context_.regions.close();
}

/// Lanes go on together: that memory is touched in the order of the list is all there is to it. Nothing passes this.
void Control::wave_barrier() { code_.add("s_nop").inst.offset = 0; }

void Control::schedule(UOp u) {
    const ScheduleArg& arg = u.as<ScheduleArg>();
    Instruction& place = code_.add("s_nop");
    place.passes = arg.mask;
    place.group_size = static_cast<uint16_t>(arg.size);
    place.group = static_cast<uint16_t>(arg.number);
}

void Control::wait_for_copies(int left) {
    uint32_t counts = 0;
    for (const lint::WaitField& field : lint::kWaitFields) {
        if (!field.families.has(function_.family) || field.mnemonic != "s_waitcnt") continue;
        const bool loads = field.counter == isa::counter::vmcnt;
        counts |= lint::put(
            field, loads ? std::min<uint32_t>(static_cast<uint32_t>(left), lint::most(field) - 1) : lint::most(field));
    }
    code_.add("s_waitcnt").inst.offset = static_cast<int32_t>(counts);
}

/// The machine's trap 2, as __builtin_trap() of clang.
void Control::trap(UOp u) {
    const Place mask = context_.among_active(mask_of(value(u.src(0))).place);
    code_.open_front();
    code_.scalar_compare(pick(mask.dwords == 1, "s_cmp_lg_u32", "s_cmp_lg_u64"), Source::of(mask),
                         Source::of_number(0));
    const uint32_t from = code_.block();
    code_.add("s_cbranch_scc0");
    code_.open_front();
    code_.add("s_trap").inst.offset = 2;
    code_.open_front();
    function_.blocks[from].code.back().target = code_.block();
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
