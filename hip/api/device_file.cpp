#include "strata/hip/api/device_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

#include "strata/core/process/memory_file.h"

namespace strata::hip::library {

int make_file(int number, size_t bytes) {
    const int file = make_memory_file(fmt::format("{}{}", kLibraryFile, number));
    if (file < 0 || (ftruncate(file, static_cast<off_t>(bytes)) == 0 && fix_size(file))) return file;
    close(file);
    return -1;
}

std::optional<int> device_of_file(int file) {
    char text[128];
    const ssize_t length = readlink(fmt::format("/proc/self/fd/{}", file).c_str(), text, sizeof text);
    if (length <= 0) return {};
    if (!is_memory_file(file, kLibraryFile)) return {};
    std::string_view name(text, static_cast<size_t>(length));
    name.remove_prefix(std::string_view("/memfd:").size() + kLibraryFile.size());
    int number = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return error == std::errc{} ? std::optional(number) : std::nullopt;
}

}  // namespace strata::hip::library
