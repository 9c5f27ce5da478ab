// Schedule actions as rows: their names, which ranges they may name, how one is applied.
#include "strata/codegen/optimize/action.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "strata/codegen/kernel/last_block.h"
#include "strata/codegen/kernel/offset_of_ranges.h"
#include "strata/codegen/kernel/widen.h"
#include "strata/codegen/optimize/actions_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

// Copies of the kernel's body: more only bloats the code. Waves that share columns are worth more.
constexpr int64_t kMaxUnrolled = 128, kMaxUnrolledByLanes = 256;

/// Parts of a kernel without its finish that actions ask for, found by one walk.
struct Parts {
    explicit Parts(UOp sink) {
        for (UOp u : toposort(sink)) {
            if (u.is(Op::range)) ranges.push_back(u);
            has_matrices |= u.is(Op::wmma);
            if (!u.is(Op::param) || u.as<ParamArg>().space != Space::local) continue;
            has_tiles = true;
            local_bytes += u.as<ParamArg>().size * u.dtype().bytes();
        }
        std::ranges::sort(ranges, {}, [](UOp r) { return range_arg(r).id; });
    }

    int64_t product_of(std::initializer_list<Axis> axes) const {
        int64_t n = 1;
        for (UOp r : ranges)
            if (std::ranges::find(axes, range_arg(r).axis) != axes.end()) n *= range_arg(r).size;
        return n;
    }
    int64_t threads() const { return product_of({Axis::local, Axis::lane, Axis::group}); }
    bool has_lanes() const {
        return std::ranges::any_of(ranges, [](UOp r) { return range_arg(r).axis == Axis::lane; });
    }

    std::vector<UOp> ranges;  ///< in order of ids
    int64_t local_bytes = 0;
    bool has_tiles = false;  ///< in local memory: they are of the ranges that there were, and made last
    bool has_matrices =
        false;  ///< reductions of matrix instructions go in their steps: they are tiled, and nothing else
};

/// Checks the limits that hold for every schedule, whatever its actions.
Result<Kernel> within_limits(Result<Kernel> kernel, const Target& target) {
    if (!kernel) return kernel;
    const Parts parts(kernel->sink);
    if (const int64_t threads = parts.threads(); threads > target.max_block)
        return make_error(ErrorKind::Usage, "a block of {} threads; the most is {}", threads, target.max_block);
    if (parts.local_bytes > target.lds_bytes)
        return make_error(ErrorKind::Usage, "{} bytes of local memory; a workgroup has {}", parts.local_bytes,
                          target.lds_bytes);
    const int64_t most = parts.has_lanes() && !parts.has_matrices ? kMaxUnrolledByLanes : kMaxUnrolled;
    const int64_t copies = parts.product_of({Axis::upcast, Axis::unroll});
    if (!parts.has_tiles && copies > most)  // copies of tiles are few
        return make_error(ErrorKind::Usage, "{} unrolled copies; the most is {}", copies, most);
    return kernel;
}

const ActionRow& row_of(ActionKind kind) { return action_rows()[static_cast<size_t>(kind)]; }

/// "local(range, amount): split an output range: ...; ..."
std::string help() {
    std::string out;
    for (const ActionRow& row : action_rows())
        out += fmt::format("{}{}(range, amount): {}", out.empty() ? "" : "; ", row.name, row.what);
    return out;
}

/// How far a sum of products of constants moves with the range; nothing for others that have it.
std::optional<int64_t> step_of_sum(UOp u, UOp range) {
    if (u == range) return 1;
    if (u.dtype() == dtypes::index && (u.is(Op::add) || u.is(Op::sub))) {
        const auto a = step_of_sum(u.src(0), range), b = step_of_sum(u.src(1), range);
        if (a && b) return u.is(Op::add) ? *a + *b : *a - *b;
        return {};
    }
    if (u.dtype() == dtypes::index && u.is(Op::mul) && u.src(1).is_const()) {
        const auto step = step_of_sum(u.src(0), range);
        return step ? std::optional(*step * const_int(u.src(1))) : std::nullopt;
    }
    return depends_on(u, range) ? std::nullopt : std::optional(0);
}

template <class T>
bool whole_number(std::string_view text, T& value) {
    auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && stop == text.data() + text.size();
}

}  // namespace

std::span<const ActionRow> action_rows() {
    enum : unsigned { output = kOutput, reduction = kReduction, matrices = kMatrices };
    static const std::vector<ActionRow> rows = {
#define ACTION(name, ranges, what, ...) {#name, ranges, what, &actions::name, {__VA_ARGS__}},
#include "strata/codegen/optimize/actions.def"
#undef ACTION
    };
    return rows;
}

bool makes_tiles(ActionKind kind) { return row_of(kind).ranges & kMatrices; }

std::string action_rules() {
    std::string out;
    for (const ActionRow& row : action_rows())
        out += fmt::format("{} {} {}\n", row.name, row.ranges, fmt::join(row.amounts, " "));
    return out;
}

std::string to_string(const Action& action) {
    return fmt::format("{}({}, {})", row_of(action.kind).name, action.axis, action.amount);
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
        std::span<const ActionRow> rows = action_rows();
        auto row = std::ranges::find(rows, text.substr(0, open), &ActionRow::name);
        Action action{static_cast<ActionKind>(row - rows.begin())};
        bool numbers = whole_number(text.substr(open + 1, comma - open - 1), action.axis) &&
                       whole_number(text.substr(comma + 2, close - comma - 2), action.amount);
        if (row == rows.end() || !numbers)
            return make_error(ErrorKind::Usage, "not a schedule action: '{}'; known: {}", text.substr(0, close + 1),
                              help());
        out.push_back(action);
        text.remove_prefix(close + 1);
        if (!text.empty() && text[0] == ' ') text.remove_prefix(1);
    }
    return out;
}

Kernel start_schedule(const Kernel& kernel) {
    UOp sink = without_finish(kernel.sink);
    for (UOp r : ranges(sink)) {
        const RangeArg& arg = range_arg(r);
        if (arg.axis != Axis::loop) continue;
        UOp global = uop::range(arg.size, arg.id, Axis::global);
        sink = replace_range(sink, r, global, std::array{global});
    }
    return {with_finish(sink, finish_of(kernel.sink)), kernel.name};
}

std::vector<UOp> axes_of(const Kernel& kernel, ActionKind kind) {
    Parts parts(without_finish(kernel.sink));
    if (parts.has_tiles) return {};
    const unsigned reduction = parts.has_matrices ? kMatrices : kReduction;
    std::erase_if(parts.ranges, [&](UOp r) {
        const Axis axis = range_arg(r).axis;
        return !(row_of(kind).ranges & (axis == Axis::global ? kOutput : axis == Axis::reduce ? reduction : 0));
    });
    return std::move(parts.ranges);
}

std::optional<int64_t> step_of(UOp offset, UOp range) {
    if (const auto step = step_of_sum(offset, range)) return step;
    UOp step = simplify(substitute(offset, {{range, index_const(1)}}) - substitute(offset, {{range, index_const(0)}}));
    return step.is_const() ? std::optional(const_int(step)) : std::nullopt;
}

int64_t first_step(UOp offset, UOp range) {
    constexpr int64_t kFar = int64_t{1} << 40;
    OffsetOfRanges places(offset, std::array{range});
    const int64_t step = places.at(std::array<int64_t, 1>{1}) - places.at(std::array<int64_t, 1>{0});
    return step > 0 ? step : kFar;
}

int64_t block_size(const Kernel& kernel) { return Parts(without_finish(kernel.sink)).threads(); }

Result<Kernel> apply(const Kernel& kernel, const Action& action, const Target& target, const Others& others) {
    std::vector<UOp> axes = axes_of(kernel, action.kind);
    size_t at = static_cast<size_t>(action.axis);
    if (action.axis < 0 || at >= axes.size())
        return make_error(ErrorKind::Usage, "{}: the kernel has {} such ranges", to_string(action), axes.size());
    const Kernel first = without_finish(kernel);
    const auto by = [&](ActionKind kind) -> Result<Kernel> {
        STRATA_TRY(const Kernel other, others({kind, action.axis, action.amount}));
        return without_finish(other);
    };
    STRATA_TRY(Kernel changed,
               within_limits(row_of(action.kind).change({first, axes, at, action.amount, target, by}), target));
    return with_finish(std::move(changed), finish_of(kernel.sink));
}

Result<Kernel> apply(const Kernel& kernel, const Action& action, const Target& target) {
    return apply(kernel, action, target, [&](const Action& other) { return apply(kernel, other, target); });
}

Result<Kernel> apply_all(const Kernel& kernel, std::span<const Action> actions, const Target& target) {
    Kernel current = kernel;
    for (const Action& action : actions) {
        STRATA_TRY(current, apply(current, action, target));
    }
    return current;
}

}  // namespace strata::codegen
