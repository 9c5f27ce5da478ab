#include "strata/runtime/realize/numbers_p.h"

#include <algorithm>
#include <optional>

#include "strata/codegen/kernel/dynamic_shapes.h"
#include "strata/codegen/kernel/scalar_parameters.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/realize.h"

namespace strata::runtime {
namespace {

thread_local bool serves_any_sizes = false;

std::vector<executable::Number> launch_numbers(std::span<const uint64_t> all) {
    std::vector<executable::Number> out;
    for (uint64_t bits : all) out.push_back({-1, bits});
    return out;
}

/// None: the kernel needs its sizes.
std::optional<codegen::TakenValues> take_changing_sizes(UOp& sink, size_t first_slot) {
    if (!any_sizes() || settings().beam) return {};
    const std::optional<codegen::Sizes> sizes = codegen::sizes_of(sink);
    if (!sizes) return {};
    const std::vector<bool> changing = context().numbers.changing(sizes->form, sizes->values);
    if (std::ranges::find(changing, true) == changing.end()) return codegen::TakenValues{};
    const codegen::AnySize made = codegen::with_any_size(sink, changing, static_cast<int>(first_slot));
    sink = made.sink;
    return codegen::TakenValues{launch_numbers(made.numbers), true};
}

codegen::TakenValues take_changing_numbers(UOp& sink, size_t first_slot) {
    const codegen::FreeNumbers numbers = codegen::free_numbers(sink);
    std::vector<uint64_t> bits, changed_bits;
    for (const codegen::FreeNumber& number : numbers.all) bits.push_back(number.bits);
    if (bits.empty()) return {};
    const std::vector<bool> changed = context().numbers.changing(numbers.form, bits);
    std::vector<codegen::FreeNumber> changing;
    for (size_t i = 0; i < bits.size(); ++i) {
        if (!changed[i]) continue;
        changing.push_back(numbers.all[i]);
        changed_bits.push_back(bits[i]);
    }
    if (changing.empty()) return {};
    sink = codegen::with_parameters(sink, changing, static_cast<int>(first_slot));
    return {launch_numbers(changed_bits)};
}

}  // namespace

bool any_sizes() { return serves_any_sizes; }
bool set_any_sizes(bool any) { return std::exchange(serves_any_sizes, any); }

codegen::TakenValues take_changing_values(UOp& sink, size_t first_slot) {
    if (std::optional<codegen::TakenValues> sizes = take_changing_sizes(sink, first_slot)) return std::move(*sizes);
    return take_changing_numbers(sink, first_slot);
}

std::vector<bool> ChangingNumbers::changing(uint64_t form, std::span<const uint64_t> values) {
    std::lock_guard lock(mutex_);
    const std::vector<bool> none(values.size());
    Entry* known = all_.find(form);
    if (!known || known->first.size() != values.size()) {
        (void)all_.put(form, Entry{{values.begin(), values.end()}, none}, 1, kMost);
        return none;
    }
    if (std::ranges::equal(known->first, values)) return none;
    for (size_t i = 0; i < values.size(); ++i)
        if (values[i] != known->first[i]) known->changing[i] = true;
    return known->changing;
}

}  // namespace strata::runtime
