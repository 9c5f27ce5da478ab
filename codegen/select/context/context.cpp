#include "strata/codegen/select/context/context.h"

#include <algorithm>

namespace strata::codegen {

using namespace number_class;

NumberClass class_of(DType type) {
    if (type.is_bool()) return truth;
    if (type.is_float()) {
        if (type.scalar == Scalar::float16) return f16;
        return type.bits() == 32 ? f32 : type.bits() == 64 ? f64 : bits16;
    }
    if (type.bits() == 64) return type.is_unsigned() ? u64 : i64;
    return type.is_unsigned() ? u32 : i32;
}

int dwords_of(DType type) { return (type.element().bytes() * type.lanes + 3) / 4; }

bool is_once(UOp range) { return range_arg(range).size == 1 && range.src().empty(); }

/// Operations whose value may be no more than their sources' registers, or be taken apart by what uses them.
static bool passes_on(UOp u) {
    switch (u.op()) {
        case Op::neg:
        case Op::abs:
        case Op::vec:
        case Op::lane:
        case Op::cast:
        case Op::bitcast:
        case Op::index:
        case Op::mul:
        case Op::add:
        case Op::shl: return true;
        default: return false;
    }
}

SelectionContext::SelectionContext(const LinearProgram& program, MachineFunction& function)
    : program(program), function(function), code(function), numbers_(program.ops.size()) {
    find_uses();
}

void SelectionContext::find_uses() {
    const std::vector<UOp>& ops = program.ops;
    position_.reserve(ops.size());
    uses_.resize(ops.size());
    std::vector<size_t> sources, first;  // positions of all sources; of each operation's first
    for (size_t i = 0; i < ops.size(); ++i) {
        const UOp u = ops[i];
        first.push_back(sources.size());
        for (UOp s : u.src()) {
            const uint32_t number = numbers_.find(skip_after(s));
            if (number == NodeNumbers::kNone) continue;
            sources.push_back(position_[number]);
            ++uses_[position_[number]].count;
        }
        const uint32_t number = numbers_.add(u);
        if (number == position_.size()) position_.push_back(i);
        position_[number] = i;
        if (writes_memory(u)) stores_[memory_of(u.src(0))].push_back(i);
    }
    first.push_back(sources.size());
    for (UOp u : program.params) numbers_.add(u);
    values_.resize(numbers_.size());
    find_last_uses(sources, first);
}

/// A value that a loop takes from in front of it is used until the loop's end.
void SelectionContext::find_last_uses(std::span<const size_t> sources, std::span<const size_t> first) {
    const std::vector<UOp>& ops = program.ops;
    // The loop around each operation, and around each loop; 0 for none.
    struct Around {
        size_t first, end, outer;
    };
    std::vector<Around> all_loops{{0, 0, 0}};
    std::vector<size_t> around;
    size_t now = 0;
    for (size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].is(Op::range)) {
            all_loops.push_back({i, i, now});
            now = all_loops.size() - 1;
        }
        around.push_back(now);
        if (!ops[i].is(Op::end)) continue;
        all_loops[now].end = i;
        now = all_loops[now].outer;
    }
    for (size_t i = ops.size(); i-- > 0;)
        for (size_t k = first[i]; k < first[i + 1]; ++k) {
            size_t use = passes_on(ops[i]) ? std::max(i, uses_[i].last) : i;
            for (size_t loop = around[use]; all_loops[loop].first > sources[k]; loop = all_loops[loop].outer)
                use = all_loops[loop].end;
            uses_[sources[k]].last = std::max(uses_[sources[k]].last, use);
        }
}

int SelectionContext::uses(UOp u) const {
    const std::optional<size_t> at = position(u);
    return at ? uses_[*at].count : 0;
}

std::optional<size_t> SelectionContext::position(UOp u) const {
    const uint32_t number = numbers_.find(u);
    return number < position_.size() ? std::optional(position_[number]) : std::nullopt;
}

std::span<const size_t> SelectionContext::stores_to(UOp memory) const {
    const auto found = stores_.find(memory);
    return found == stores_.end() ? std::span<const size_t>{} : found->second;
}

uint64_t encoded(UOp constant) {
    const DType type = constant.dtype();
    if (type.is_float()) return encode_scalar(type, const_value(constant));
    return static_cast<uint64_t>(const_int(constant));
}

Source dword(const Source& wide, int i) {
    if (wide.place) return Source::of(wide.place.part(i));
    return Source::of_number(static_cast<uint32_t>(*wide.number >> 32 * i));
}

Source SelectionContext::plain(const Value& value, DType type) {
    if (!value.neg && !value.abs) return value;
    return Source::of(code.in_vector(value, dwords_of(type), type.bits() == 16 ? 0x8000 : 0x80000000));
}

/// Masks have no bit of a lane that does not run.
Source SelectionContext::all_lanes() const {
    return function.partial_waves ? Source::of(function.all_lanes) : Source::of_number(~uint64_t{0});
}

Source SelectionContext::mask_of(const Value& truth) {
    if (truth.mask) return truth;
    const Place mask = function.add(Bank::scalar, function.mask_dwords());
    const Mnemonic select = pick(mask.dwords == 1, "s_cselect_b32", "s_cselect_b64");
    const Mnemonic move = pick(mask.dwords == 1, "s_mov_b32", "s_mov_b64");
    const Source all = all_lanes(), none = Source::of_number(0);
    if (truth.number) {
        code.scalar_to(mask, move, {*truth.number ? all : none});
    } else {
        code.scalar_compare("s_cmp_lg_u32", truth, Source::of_number(0));
        code.scalar_to(mask, select, {all, none});
    }
    return Source::of(mask);
}

Place SelectionContext::predicate_of(UOp index) {
    return among_active(index.src().size() < 3 ? Place{} : mask_of(value(index.src(2))).place);
}

Place SelectionContext::among_active(Place predicate) {
    if (!predicate || !active) return predicate ? predicate : active;
    auto& last = among_active_;
    if (last.predicate == predicate && last.active == active && last.block == code.block()) return last.lanes;
    const Place lanes = code.scalar(pick(active.dwords == 1, "s_and_b32", "s_and_b64"),
                                    {Source::of(predicate), Source::of(active)}, active.dwords);
    last = {predicate, active, lanes, code.block()};
    return lanes;
}

bool SelectionContext::takes_scalars(std::span<const Value> values) const {
    return std::all_of(values.begin(), values.end(),
                       [&](const Value& v) { return code.is_scalar(v) && !v.mask && !v.neg && !v.abs; });
}

}  // namespace strata::codegen
