// Schedule actions: each replaces one range of a kernel by an expression over new ranges.
#include "strata/codegen/optimize/action.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "strata/core/symbolic/symbolic.h"

namespace strata::codegen {
namespace {

constexpr int64_t kMaxUnrolled = 128;  // copies of the kernel's body: more only bloats the code

constexpr std::array<std::string_view, 6> names = {
#define ACTION(name, ...) #name,
#include "strata/codegen/optimize/actions.def"
#undef ACTION
};

bool closes_ranges(UOp u) { return u.is(Op::end) || u.is(Op::reduce); }

/// Rebuilds the sink with `old` replaced by `value` in expressions and by `parts` where it is closed.
UOp replace_range(UOp sink, UOp old, UOp value, std::span<const UOp> parts) {
    UOpMap<UOp> rebuilt{{old, value}};
    std::vector<UOp> sources;
    for (UOp u : toposort(sink)) {
        if (u == old) continue;
        sources.clear();
        for (size_t i = 0; i < u.src().size(); i++) {
            UOp s = u.src()[i];
            if (s == old && closes_ranges(u) && i > 0)
                sources.insert(sources.end(), parts.begin(), parts.end());
            else
                sources.push_back(rebuilt.at(s));
        }
        rebuilt[u] = u.with_src(sources);
    }
    return rebuilt.at(sink);
}

UOp new_range(int id, int64_t size, Axis axis) { return make(Op::range, dtypes::index, {}, RangeArg{id, size, axis}); }

int next_id(UOp sink) {
    int id = 0;
    for (UOp r : ranges(sink)) id = std::max(id, r.as<RangeArg>().id + 1);
    return id;
}

/// range = outer * amount + inner; inner alone when nothing is left of the outer part.
Result<Kernel> split(const Kernel& kernel, UOp range, int64_t amount, Axis inner_axis) {
    const RangeArg& r = range.as<RangeArg>();
    if (amount < 2 || r.size % amount != 0)
        return make_error(ErrorKind::Usage, "cannot split a range of {} by {}", r.size, amount);
    UOp inner = new_range(next_id(kernel.sink), amount, inner_axis);
    if (r.size == amount)
        return Kernel{simplify(replace_range(kernel.sink, range, inner, std::array{inner})), kernel.name};
    UOp outer = new_range(r.id, r.size / amount, r.axis);
    UOp sink = replace_range(kernel.sink, range, outer * amount + inner, std::array{outer, inner});
    return Kernel{simplify(sink), kernel.name};
}

/// The place, touched only where `inside` holds too.
UOp gated(UOp place, UOp inside) {
    std::vector<UOp> sources(place.src().begin(), place.src().end());
    if (sources.size() == 3)
        sources[2] = alu(Op::bit_and, {sources[2], inside});
    else
        sources.push_back(inside);
    return make(Op::index, place.dtype(), sources);
}

UOp gated_load(UOp load, UOp inside) {
    UOp other = load.src().size() > 1 ? load.src(1) : constant(load.dtype(), 0);
    return make(Op::load, load.dtype(), {gated(load.src(0), inside), other});
}

bool depends_on(UOp u, UOp range) {
    for (UOp x : toposort(u))
        if (x == range) return true;
    return false;
}

/// Rounds a range up: loads and stores beyond the old size are masked, reductions see their identity there.
Result<Kernel> pad(const Kernel& kernel, UOp range, int64_t multiple) {
    const RangeArg& r = range.as<RangeArg>();
    bool fits = multiple > 1 && multiple <= r.size * 2;
    int64_t size = fits ? (r.size + multiple - 1) / multiple * multiple : 0;
    if (!fits || size == r.size || size > r.size * 2)
        return make_error(ErrorKind::Usage, "padding a range of {} to a multiple of {} is of no use", r.size, multiple);
    UOp wide = new_range(r.id, size, r.axis), inside = wide < r.size;
    UOp sink = replace_range(kernel.sink, range, wide, std::array{wide});
    UOpMap<UOp> rebuilt;
    std::vector<UOp> sources;
    for (UOp u : toposort(sink)) {
        sources.clear();
        for (UOp s : u.src()) sources.push_back(rebuilt.at(s));
        UOp next = u.with_src(sources);
        if (u.is(Op::load) && depends_on(u.src(0), wide)) {
            next = gated_load(next, inside);
        } else if (u.is(Op::reduce) && std::find(u.src().begin() + 1, u.src().end(), wide) != u.src().end()) {
            sources[0] = alu(Op::where, {inside, sources[0], identity(u.as<ReduceArg>().op, u.dtype())});
            next = u.with_src(sources);
        } else if (u.is(Op::store) && depends_on(u.src(0), wide)) {
            sources[0] = gated(sources[0], inside);
            next = u.with_src(sources);
        }
        rebuilt[u] = next;
    }
    return Kernel{simplify(rebuilt.at(sink)), kernel.name};
}

Result<Kernel> swap(const Kernel& kernel, std::span<const UOp> axes, size_t at) {
    if (at + 1 >= axes.size()) return make_error(ErrorKind::Usage, "swap({}): no output range after it", at);
    const RangeArg &a = axes[at].as<RangeArg>(), &b = axes[at + 1].as<RangeArg>();
    UOp first = new_range(b.id, a.size, a.axis), second = new_range(a.id, b.size, b.axis);
    UOp aside = new_range(next_id(kernel.sink), a.size, a.axis);  // first is the other range itself when sizes agree
    UOp sink = replace_range(kernel.sink, axes[at], aside, std::array{aside});
    sink = replace_range(sink, axes[at + 1], second, std::array{second});
    return Kernel{replace_range(sink, aside, first, std::array{first}), kernel.name};
}

int64_t unrolled_copies(const Kernel& kernel) {
    int64_t n = 1;
    for (UOp r : ranges(kernel.sink)) {
        const RangeArg& arg = r.as<RangeArg>();
        if (arg.axis == Axis::upcast || arg.axis == Axis::unroll) n *= arg.size;
    }
    return n;
}

Result<Kernel> checked(Result<Kernel> kernel, const Target& target) {
    if (!kernel) return kernel;
    if (block_size(*kernel) > target.max_block)
        return make_error(ErrorKind::Usage, "a block of {} threads; the most is {}", block_size(*kernel),
                          target.max_block);
    if (unrolled_copies(*kernel) > kMaxUnrolled)
        return make_error(ErrorKind::Usage, "{} unrolled copies; the most is {}", unrolled_copies(*kernel),
                          kMaxUnrolled);
    return kernel;
}

template <class T>
bool whole_number(std::string_view text, T& value) {
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && stop == text.data() + text.size();
}

}  // namespace

std::vector<UOp> ranges(UOp sink) {
    std::vector<UOp> found;
    for (UOp u : toposort(sink))
        if (u.is(Op::range)) found.push_back(u);
    std::sort(found.begin(), found.end(), [](UOp a, UOp b) { return a.as<RangeArg>().id < b.as<RangeArg>().id; });
    return found;
}

std::string to_string(const Action& action) {
    return fmt::format("{}({}, {})", names[static_cast<size_t>(action.kind)], action.axis, action.amount);
}

std::string to_string(std::span<const Action> actions) {
    std::string out;
    for (const Action& a : actions) out += (out.empty() ? "" : " ") + to_string(a);
    return out;
}

Result<std::vector<Action>> parse_actions(std::string_view text) {
    std::vector<Action> out;
    while (!text.empty()) {
        size_t open = text.find('('), comma = text.find(", "), close = text.find(')');
        if (open == text.npos || comma == text.npos || close == text.npos || !(open < comma && comma < close))
            return make_error(ErrorKind::Usage, "not a list of schedule actions: '{}'", text);
        auto name = std::find(names.begin(), names.end(), text.substr(0, open));
        Action action{static_cast<ActionKind>(name - names.begin())};
        bool numbers = whole_number(text.substr(open + 1, comma - open - 1), action.axis) &&
                       whole_number(text.substr(comma + 2, close - comma - 2), action.amount);
        if (name == names.end() || !numbers)
            return make_error(ErrorKind::Usage, "not a schedule action: '{}'", text.substr(0, close + 1));
        out.push_back(action);
        text.remove_prefix(close + 1);
        if (!text.empty() && text[0] == ' ') text.remove_prefix(1);
    }
    return out;
}

Kernel start_schedule(const Kernel& kernel) {
    UOp sink = kernel.sink;
    for (UOp r : ranges(sink)) {
        const RangeArg& arg = r.as<RangeArg>();
        if (arg.axis != Axis::loop) continue;
        UOp global = new_range(arg.id, arg.size, Axis::global);
        sink = replace_range(sink, r, global, std::array{global});
    }
    return {sink, kernel.name};
}

std::vector<UOp> axes_of(const Kernel& kernel, ActionKind kind) {
    std::vector<UOp> out;
    for (UOp r : ranges(kernel.sink)) {
        Axis axis = r.as<RangeArg>().axis;
        bool output = axis == Axis::global, reduction = axis == Axis::reduce;
        bool fits = kind == ActionKind::group || kind == ActionKind::unroll ? reduction
                    : kind == ActionKind::pad                               ? output || reduction
                                                                            : output;
        if (fits) out.push_back(r);
    }
    return out;
}

int64_t block_size(const Kernel& kernel) {
    int64_t n = 1;
    for (UOp r : ranges(kernel.sink)) {
        const RangeArg& arg = r.as<RangeArg>();
        if (arg.axis == Axis::local || arg.axis == Axis::group) n *= arg.size;
    }
    return n;
}

Result<Kernel> apply(const Kernel& kernel, const Action& action, const Target& target) {
    std::vector<UOp> axes = axes_of(kernel, action.kind);
    size_t at = static_cast<size_t>(action.axis);
    if (action.axis < 0 || at >= axes.size())
        return make_error(ErrorKind::Usage, "{}: the kernel has {} such ranges", to_string(action), axes.size());
    switch (action.kind) {
        case ActionKind::local: return checked(split(kernel, axes[at], action.amount, Axis::local), target);
        case ActionKind::upcast: return checked(split(kernel, axes[at], action.amount, Axis::upcast), target);
        case ActionKind::group: return checked(split(kernel, axes[at], action.amount, Axis::group), target);
        case ActionKind::unroll: return checked(split(kernel, axes[at], action.amount, Axis::unroll), target);
        case ActionKind::pad: return pad(kernel, axes[at], action.amount);
        case ActionKind::swap: return swap(kernel, axes, at);
    }
    return make_error(ErrorKind::Internal, "unknown schedule action");
}

Result<Kernel> apply_all(const Kernel& kernel, std::span<const Action> actions, const Target& target) {
    Kernel current = kernel;
    for (const Action& action : actions) {
        STRATA_TRY(current, apply(current, action, target));
    }
    return current;
}

}  // namespace strata::codegen
