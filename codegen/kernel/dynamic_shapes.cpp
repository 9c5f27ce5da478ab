#include "strata/codegen/kernel/dynamic_shapes.h"
#include "strata/codegen/kernel/last_block.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "strata/codegen/kernel/scalar_parameters.h"
#include "strata/codegen/kernel/widen.h"
#include "strata/core/support/hash.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"

namespace strata::codegen {
namespace {

constexpr uint64_t kLeastRange = 32;                  // what shorter ranges end at
constexpr uint64_t kLeastMemory = uint64_t{1} << 20;  // elements; a parameter's size is a bound of offsets

/// True if a source is a number that a launch can give as well.
bool is_number(UOp user, size_t source) {
    const UOp u = user.src(source);
    if (!u.is_const()) return false;
    if (u.dtype() == dtypes::index)
        return std::in_range<int32_t>(const_int(u)) &&
               (user.is(Op::index) ? source == 1 : no_faster_for_knowing(user.op(), source));
    return can_be_parameter(u.dtype()) && no_faster_for_knowing(user.op(), source);
}

uint64_t number_bits(UOp u) {
    return u.dtype() == dtypes::index ? static_cast<uint64_t>(const_int(u)) : parameter_bits(u);
}

/// Calls range(u), memory(u) and number(u, source) for what may differ, in an order that no size decides.
template <class F, class G, class H>
void visit(std::span<const UOp> order, F range, G memory, H number) {
    for (UOp u : order) {
        if (u.is(Op::range)) range(u);
        if (u.is(Op::param)) memory(u);
        for (size_t i = 0; i < u.src().size(); ++i)
            if (is_number(u, i)) number(u, i);
    }
}

/// Everything of a node but its size.
uint64_t own_form(UOp u) {
    const uint64_t head =
        hash_mix(static_cast<uint64_t>(u.op()), static_cast<uint64_t>(u.dtype().scalar) << 8 | u.dtype().lanes);
    if (u.is(Op::range))
        return hash_mix(hash_mix(head, static_cast<uint64_t>(range_arg(u).id)),
                        static_cast<uint64_t>(range_arg(u).axis));
    if (u.is(Op::param)) {
        const auto& arg = u.as<ParamArg>();
        return hash_mix(hash_mix(head, static_cast<uint64_t>(arg.slot)), static_cast<uint64_t>(arg.space));
    }
    return hash_mix(head, hash(u.arg()));
}

/// Parameters of one kernel: equal values of a type are one.
class Parameters {
  public:
    explicit Parameters(int first_slot) : first_slot_(first_slot) {}

    UOp get(uint64_t bits, DType type) {
        const auto same = [&](const Known& k) { return k.bits == bits && k.type == type; };
        auto at = std::ranges::find_if(known_, same);
        if (at == known_.end()) {
            const int slot = first_slot_ + static_cast<int>(known_.size());
            const UOp made =
                type == dtypes::index ? cast(uop::variable(slot, dtypes::int32), type) : number_parameter(slot, type);
            at = known_.insert(at, {bits, type, made});
        }
        return at->made;
    }

    std::vector<uint64_t> numbers() const {
        std::vector<uint64_t> out;
        for (const Known& k : known_) out.push_back(k.bits);
        return out;
    }

  private:
    struct Known {
        uint64_t bits;
        DType type;
        UOp made;
    };
    int first_slot_;
    std::vector<Known> known_;
};

}  // namespace

std::optional<Sizes> sizes_of(UOp sink) {
    if (finish_of(sink)) return {};
    const std::vector<UOp> order = toposort(sink);
    const auto needs_them = [](UOp u) {
        return u.is(Op::scan) ||
               (u.is(Op::range) && (!u.src().empty() || !std::in_range<int32_t>(range_arg(u).size))) ||
               (u.is(Op::param) && u.as<ParamArg>().space != Space::global);
    };
    if (std::ranges::any_of(order, needs_them)) return {};
    Sizes found;
    visit(
        order, [&](UOp r) { found.values.push_back(static_cast<uint64_t>(range_arg(r).size)); },
        [&](UOp p) { found.values.push_back(static_cast<uint64_t>(p.as<ParamArg>().size)); },
        [&](UOp u, size_t i) { found.values.push_back(number_bits(u.src(i))); });
    UOpMap<uint64_t> forms;
    for (UOp u : order) {
        uint64_t form = own_form(u);
        for (size_t i = 0; i < u.src().size(); ++i)
            form =
                hash_mix(form, is_number(u, i) ? static_cast<uint64_t>(u.src(i).dtype().scalar) : forms.at(u.src(i)));
        forms[u] = form;
    }
    found.form = forms.at(sink);
    return found;
}

AnySize with_any_size(UOp sink, const std::vector<bool>& changing, int first_slot) {
    Parameters parameters(first_slot);
    size_t at = 0;
    std::vector<std::pair<UOp, UOp>> ranges;  // with their sizes
    UOpMap<UOp> memory;
    UOpMap<std::vector<UOp>> numbers;  // by user, by source
    visit(
        toposort(sink),
        [&](UOp r) {
            if (changing[at++])
                ranges.emplace_back(r, parameters.get(static_cast<uint64_t>(range_arg(r).size), dtypes::index));
        },
        [&](UOp p) {
            if (!changing[at++]) return;
            const auto size = static_cast<uint64_t>(p.as<ParamArg>().size);
            memory[p] = uop::buffer(p.as<ParamArg>().slot, p.dtype(),
                                    static_cast<int64_t>(std::bit_ceil(std::max(size, kLeastMemory))));
        },
        [&](UOp u, size_t i) {
            if (!changing[at++]) return;
            auto& sources = numbers[u];
            sources.resize(u.src().size());
            sources[i] = parameters.get(number_bits(u.src(i)), u.src(i).dtype());
        });
    sink = rebuild(sink, [&](UOp u, std::vector<UOp>& sources) {
        if (const auto found = memory.find(u); found != memory.end()) return found->second;
        if (const auto found = numbers.find(u); found != numbers.end())
            for (size_t i = 0; i < sources.size(); ++i)
                if (found->second[i]) sources[i] = found->second[i];
        return u.with_src(sources);
    });
    for (const auto& [range, size] : ranges) {
        const RangeArg& r = range_arg(range);
        const uint64_t end = std::bit_ceil(std::max(static_cast<uint64_t>(r.size), kLeastRange));
        sink = widen_range(sink, range, uop::range(static_cast<int64_t>(end), r.id, r.axis), size);
    }
    return {simplify(sink), parameters.numbers()};
}

}  // namespace strata::codegen
