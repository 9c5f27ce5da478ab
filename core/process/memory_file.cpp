#include "strata/core/process/memory_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <string>

#include "strata/core/support/file.h"

namespace strata {
namespace {

constexpr int kFixed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

}  // namespace

int make_memory_file(std::string_view name) {
    return memfd_create(std::string(name).c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

bool fix_size(int file) { return fcntl(file, F_ADD_SEALS, kFixed) == 0; }

bool is_memory_file(int file, std::string_view name) {
    struct stat theirs{}, ours{};
    const UniqueFd like(make_memory_file("strata-like"));
    if (!like || fstat(like.get(), &ours) != 0 || fstat(file, &theirs) != 0) return false;
    const int seals = fcntl(file, F_GET_SEALS);
    if (theirs.st_dev != ours.st_dev || theirs.st_uid != geteuid() || !S_ISREG(theirs.st_mode) || seals < 0 ||
        (seals & kFixed) != kFixed)
        return false;
    std::array<char, 256> path{};
    const ssize_t length = readlink(fmt::format("/proc/self/fd/{}", file).c_str(), path.data(), path.size());
    const std::string wanted = fmt::format("/memfd:{}", name);
    return length > 0 && std::string_view(path.data(), static_cast<size_t>(length)).starts_with(wanted);
}

}  // namespace strata
