#pragma once
#include <cstddef>

namespace strata::hip::library {

/// This process's access to a range of its addresses, as /proc/self/maps has it now.
struct HostAccess {
    bool readable = false;  ///< every page of it
    bool writable = false;  ///< any page of it
    bool shared = true;     ///< other processes may see what is written there; so may they where nothing is mapped
};
HostAccess host_access(const void* memory, size_t bytes);

}  // namespace strata::hip::library
