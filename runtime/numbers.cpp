#include <algorithm>

#include "strata/runtime/context_p.h"

namespace strata::runtime {

std::vector<codegen::FreeNumber> ChangingNumbers::changing(const codegen::FreeNumbers& numbers) {
    std::lock_guard lock(mutex_);
    Entry* known = all_.find(numbers.form);
    if (!known || known->first.size() != numbers.all.size()) {
        Entry entry{.first = {}, .changing = std::vector<bool>(numbers.all.size())};
        for (const codegen::FreeNumber& number : numbers.all) entry.first.push_back(number.bits);
        (void)all_.put(numbers.form, std::move(entry), 1, kMost);
        return {};
    }
    if (std::ranges::equal(known->first, numbers.all, {}, {}, &codegen::FreeNumber::bits)) return {};
    std::vector<codegen::FreeNumber> changing;
    for (size_t i = 0; i < numbers.all.size(); ++i) {
        if (numbers.all[i].bits != known->first[i]) known->changing[i] = true;
        if (known->changing[i]) changing.push_back(numbers.all[i]);
    }
    return changing;
}

}  // namespace strata::runtime
