#include "strata/hip/api/host_access.h"

#include <fstream>
#include <sstream>
#include <string>

#include "strata/hip/api/state.h"

namespace strata::hip::library {

HostAccess host_access(const void* memory, size_t bytes) {
    HostAccess out{true, false, false};
    DevicePtr at = address(memory);
    const DevicePtr end = at + bytes;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; at < end && std::getline(maps, line);) {
        DevicePtr low = 0, high = 0;
        char dash = 0;
        std::string access;
        std::istringstream(line) >> std::hex >> low >> dash >> high >> access;
        if (high <= at) continue;
        if (low > at || access.size() < 4) break;  // a gap
        out.readable &= access[0] == 'r';
        out.writable |= access[1] == 'w';
        out.shared |= access[3] == 's';
        at = high;
    }
    return at < end ? HostAccess{} : out;
}

}  // namespace strata::hip::library
