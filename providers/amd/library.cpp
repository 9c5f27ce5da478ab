#include "strata/providers/amd/library.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <filesystem>

namespace strata::providers {
namespace {

constexpr std::string_view kNames[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"};

/// Why a file that is there cannot be opened.
struct Refused {
    std::string file, why;
};

void* open_first(std::span<const std::string> files, std::string& opened, std::vector<Refused>& refused) {
    for (const int mode : {RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD, RTLD_LAZY | RTLD_LOCAL})
        for (const std::string& file : files) {
            if (void* library = dlopen(file.c_str(), mode)) {
                opened = file;
                return library;
            }
            const char* why = mode & RTLD_NOLOAD ? nullptr : dlerror();
            if (why && !std::string_view(why).ends_with("No such file or directory")) refused.push_back({file, why});
        }
    return nullptr;
}

Error not_found(std::span<const std::string> files, const std::vector<Refused>& refused) {
    std::string text = fmt::format("AMD's HIP runtime is not found; looked for {}", fmt::join(files, ", "));
    for (const Refused& one : refused) text += fmt::format("; {} cannot be opened: {}", one.file, one.why);
    return make_error(ErrorKind::Device, "{}", text);
}

Error lacks(std::string_view file, std::string_view call, int since) {
    return make_error(ErrorKind::Device, "{} lacks {}: Strata needs AMD's HIP runtime of version {} or later", file,
                      call, since);
}

constexpr int kOldest = 5;

}  // namespace

std::vector<std::string> amd_library_files() {
    std::vector<std::string> files(std::begin(kNames), std::end(kNames));
    const char* rocm = getenv("ROCM_PATH");
    for (const std::string& folder : {std::string(rocm ? rocm : ""), std::string("/opt/rocm")})
        for (const std::string_view name : kNames)
            if (!folder.empty()) files.push_back(fmt::format("{}/lib/{}", folder, name));
    return files;
}

Result<AmdLibrary> open_amd_library(std::span<const std::string> files) {
    AmdLibrary out;
    std::vector<Refused> refused;
    void* library = open_first(files, out.file, refused);
    if (!library) return not_found(files, refused);
#define CALL(since, result, name, parameters)                               \
    out.name = reinterpret_cast<decltype(out.name)>(dlsym(library, #name)); \
    if (!out.name && since <= kOldest) return lacks(out.file, #name, since);
#include "strata/providers/amd/calls.def"
#undef CALL
    return out;  // open as long as the process lives: drivers do not like to be closed
}

Result<void> AmdLibrary::checked(int code, std::string_view call) const {
    if (code == abi::hipSuccess) return {};
    (void)hipGetLastError();  // who shares the runtime with us finds its own errors there
    const abi::CodeRow& row = abi::row_of(code);
    const std::string_view name = hipGetErrorName(code), text = hipGetErrorString(code);
    return make_error(row.kind, "{}: {} ({})", name, text == name ? row.text : text, call);  // HIP 5 has no texts
}

Result<abi::Properties> AmdLibrary::properties(int device) const {
    alignas(8) std::array<std::byte, 4096> bytes{};  // more than any layout has
    const bool new_layout = hipGetDevicePropertiesR0600;
    const auto get = new_layout ? hipGetDevicePropertiesR0600 : hipGetDeviceProperties;
    STRATA_TRY_VOID(checked(get(bytes.data(), device), "hipGetDeviceProperties"));
    return abi::read_properties(new_layout ? abi::Layout::r0600 : abi::Layout::hip5, bytes);
}

Result<std::string> AmdLibrary::version() const {
    int version = 0;  // major * 10'000'000 + minor * 100'000 + patch
    STRATA_TRY_VOID(checked(hipRuntimeGetVersion(&version), "hipRuntimeGetVersion"));
    return fmt::format("HIP {}.{}.{}", version / 10'000'000, version / 100'000 % 100, version % 100'000);
}

}  // namespace strata::providers
