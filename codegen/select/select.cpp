// select: a linear program as code over virtual registers.
#include "strata/codegen/select/select.h"

#include <fmt/format.h>

#include <algorithm>

#include "strata/codegen/machine/passes.h"
#include "strata/codegen/select/select_p.h"

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

Selector::Selector(const LinearProgram& program, MachineFunction& function)
    : program_(program), function_(function), code_(function), numbers_(program.ops.size()) {}

Result<void> Selector::run() {
    find_uses();
    find_addresses();
    find_bounded();
    begin();
    function_.blocks[0].code.reserve(2 * program_.ops.size());
    for (size_t i = 0; i < program_.ops.size(); ++i) {
        code_.set_origin(static_cast<uint32_t>(i));
        const UOp u = program_.ops[i];
        if (!select(u))
            return make_error(ErrorKind::Unsupported, "{}: direct lowering for {} has no {}; use target 'hip'",
                              program_.name, isa::info(function_.target.arch).name, to_string(u));
        if (in_addresses_.contains(u)) split(u);
    }
    code_.add("s_endpgm");
    return {};
}

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

void Selector::find_uses() {
    const std::vector<UOp>& ops = program_.ops;
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
        if (u.is(Op::store) || u.is(Op::atomic_add)) {
            const UOp memory = memory_of(u.src(0));
            written_[memory] = true;
            stores_[memory].push_back(i);
        }
    }
    first.push_back(sources.size());
    for (UOp u : program_.params) numbers_.add(u);
    values_.resize(numbers_.size());
    // The loop around each operation, and around each loop; 0 for none.
    struct Around {
        size_t first, end, outer;
    };
    std::vector<Around> loops{{0, 0, 0}};
    std::vector<size_t> around;
    size_t now = 0;
    for (size_t i = 0; i < ops.size(); ++i) {
        if (ops[i].is(Op::range)) {
            loops.push_back({i, i, now});
            now = loops.size() - 1;
        }
        around.push_back(now);
        if (!ops[i].is(Op::end)) continue;
        loops[now].end = i;
        now = loops[now].outer;
    }
    for (size_t i = ops.size(); i-- > 0;)
        for (size_t k = first[i]; k < first[i + 1]; ++k) {
            size_t use = passes_on(ops[i]) ? std::max(i, uses_[i].last) : i;
            for (size_t loop = around[use]; loops[loop].first > sources[k]; loop = loops[loop].outer)
                use = loops[loop].end;
            uses_[sources[k]].last = std::max(uses_[sources[k]].last, use);
        }
}

void Selector::begin_loop(UOp range) {
    const Place counter = function_.add(Bank::scalar, dwords_of(range.dtype()));
    code_.copy(counter, Source::of_number(0));
    auto steps = Source::of_number(static_cast<uint64_t>(range_arg(range).size));
    if (!range.src().empty()) {
        const Place limit = function_.add(Bank::scalar, counter.dwords);
        code_.copy(limit, plain(value(range.src(0)), range.dtype()));
        steps = Source::of(limit);
    }
    std::optional<Skip> skip;
    if (!range.src().empty() && !proves_at_least(range.src(0), 1)) {
        skip = Skip{code_.block(), offsets_, bases_.size(), products_.size()};
        code_.open_front();
    }
    code_.open_block(fmt::format("r{}", range_arg(range).id), code_.depth() + 1);
    loops_.push_back({range, counter, steps, code_.block(), std::move(skip)});
    slopes_.clear();
    set(range, Source::of(counter));
}

void Selector::end_loop(UOp range) {
    STRATA_CHECK(!loops_.empty() && loops_.back().range == range, "loops end in another order than they began");
    const Loop loop = std::move(loops_.back());
    loops_.pop_back();
    slopes_.clear();
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
    if (loop.skip) skip_loop(loop);
}

/// Goes on in a block of its own, which is reached from in front of the loop too.
void Selector::skip_loop(const Loop& loop) {
    const uint32_t depth = code_.depth();
    code_.open_block("", depth);
    const uint32_t behind = code_.block();
    code_.go_to(loop.skip->from);
    code_.scalar_compare(loop.counter.dwords == 1 ? "s_cmp_eq_u32" : "s_cmp_eq_u64", loop.steps, Source::of_number(0));
    code_.add("s_cbranch_scc1").target = behind;
    code_.go_to(behind);
    offsets_ = loop.skip->offsets;
    bases_.resize(loop.skip->bases);
    products_.resize(loop.skip->products);
}

void Selector::barrier() {
    if (!code_.has("s_barrier_signal")) {
        code_.add("s_barrier");
        return;
    }
    // RDNA4 ISA 16.5: barrier -1 is the workgroup's.
    code_.add("s_barrier_signal").inst.src[0].code = isa::code::inline_minus_one;
    code_.add("s_barrier_wait").inst.offset = 0xffff;
}

bool Selector::select(UOp u) {
    switch (u.op()) {
        case Op::param:
            if (const ParamArg& arg = u.as<ParamArg>(); arg.space == Space::reg) {
                std::vector<Place>& elements = registers_[u];
                for (int64_t i = 0; i < arg.size; ++i)
                    elements.push_back(function_.add(Bank::vector, dwords_of(u.dtype())));
            }
            return true;
        case Op::define_var:
        case Op::special:
        case Op::index: return true;
        case Op::constant: set(u, Source::of_number(encoded(u))); return true;
        case Op::range: begin_loop(u); return true;
        case Op::end: end_loop(skip_after(u.src(1))); return true;
        case Op::barrier: barrier(); return true;
        case Op::load: return load(u);
        case Op::store: return store(u);
        case Op::atomic_add: return atomic(u);
        case Op::first_wave: first_wave(u); return true;
        case Op::last_block: last_block(u); return true;
        case Op::vec: {
            Value all;
            for (UOp s : u.src()) all.lanes.push_back(value(s));
            set(u, std::move(all));
            return true;
        }
        case Op::lane: set(u, value(u.src(0)).lanes[static_cast<size_t>(u.as<IndexArg>().index)]); return true;
        case Op::shuffle_xor: return shuffle(u);
        case Op::wmma: return matrix_product(u);
        default: return info(u.op()).computes() && u.dtype().lanes == 1 && elementwise(u);
    }
}

uint64_t Selector::encoded(UOp constant) {
    const DType type = constant.dtype();
    if (type.is_float()) return encode_scalar(type, const_value(constant));
    return static_cast<uint64_t>(const_int(constant));
}

Source Selector::dword(const Source& wide, int i) const {
    if (wide.place) return Source::of(wide.place.part(i));
    return Source::of_number(static_cast<uint32_t>(*wide.number >> 32 * i));
}

Source Selector::plain(const Value& value, DType type) {
    if (!value.neg && !value.abs) return value;
    return Source::of(code_.in_vector(value, dwords_of(type), type.bits() == 16 ? 0x8000 : 0x80000000));
}

/// Masks have no bit of a lane that does not run.
Source Selector::all_lanes() const {
    return function_.partial_waves ? Source::of(function_.all_lanes) : Source::of_number(~uint64_t{0});
}

Source Selector::mask_of(const Value& truth) {
    if (truth.mask) return truth;
    const Place mask = function_.add(Bank::scalar, function_.mask_dwords());
    const char* select = mask.dwords == 1 ? "s_cselect_b32" : "s_cselect_b64";
    const char* move = mask.dwords == 1 ? "s_mov_b32" : "s_mov_b64";
    const Source all = all_lanes(), none = Source::of_number(0);
    if (truth.number) {
        code_.scalar_to(mask, move, {*truth.number ? all : none});
    } else {
        code_.scalar_compare("s_cmp_lg_u32", truth, Source::of_number(0));
        code_.scalar_to(mask, select, {all, none});
    }
    return Source::of(mask);
}

bool Selector::takes_scalars(std::span<const Value> values) const {
    return std::all_of(values.begin(), values.end(),
                       [&](const Value& v) { return code_.is_scalar(v) && !v.mask && !v.neg && !v.abs; });
}

Result<MachineFunction> select(const LinearProgram& program, const Target& target) {
    MachineFunction function{.program = program, .target = target, .family = isa::info(target.arch).family};
    Selector selector(program, function);
    STRATA_TRY_VOID(selector.run());
    remove_dead_code(function);
    return function;
}

}  // namespace strata::codegen
