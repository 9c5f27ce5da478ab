#pragma once
#include <cstdint>
#include <string>

namespace strata {

/// The bytes of addresses that this process may have (ulimit -v); 0: as many as there are.
uint64_t address_limit();
/// The same after a message about memory that is not there; empty without a limit.
std::string address_limit_note();

}  // namespace strata
