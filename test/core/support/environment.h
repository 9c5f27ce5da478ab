#pragma once
#include <cstdint>
#include <cstdlib>

namespace strata {

/// A number of the environment, such as STRATA_FUZZ_SECONDS.
inline uint64_t number_of(const char* variable, uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace strata
