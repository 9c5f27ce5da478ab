#include "strata/codegen/toolchain/clang/toolchain.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "strata/codegen/toolchain/clang/device_libs.h"
#include "strata/core/process/beside.h"
#include "strata/core/process/subprocess.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/settings.h"

namespace strata::codegen {
namespace {

constexpr const char* kPluginName = "strata_clang.so";

/// The file that `path` leads to, its size and time: cheap, and changes when a package is upgraded.
std::string file_identity(const std::string& path) {
    std::error_code status;
    std::string file = std::filesystem::canonical(path, status).string();
    struct stat entry{};
    if (status || stat(file.c_str(), &entry) != 0) return "none";
    return fmt::format("{} {} {}.{}", file, entry.st_size, entry.st_mtim.tv_sec, entry.st_mtim.tv_nsec);
}

}  // namespace

SearchPaths SearchPaths::usual() {
    SearchPaths paths;
    paths.plugin = folders_beside();
    if (const std::string& tools = settings().tools; !tools.empty()) {
        paths.programs = paths.bitcode = paths.hip_headers = tools;
        return paths;
    }
    if (const char* path = std::getenv("PATH")) paths.programs = path;
    paths.programs += ":/usr/bin:/usr/lib/llvm-19/bin";
    paths.bitcode = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode:/usr/lib/amdgcn/bitcode:/opt/rocm/amdgcn/bitcode";
    paths.hip_headers = "/usr/include:/opt/rocm/include";
    return paths;
}

Result<Toolchain> find_toolchain(const SearchPaths& paths) {
    Toolchain found;
    found.clang = find_program("clang-19", paths.programs);
    if (found.clang.empty())
        return make_error(ErrorKind::Device,
                          "no HIP compiler: clang-19 is not in {}; on Debian: apt install clang-19 "
                          "rocm-device-libs (and libamdhip64-dev for sources that use hip_runtime.h). HIP source needs "
                          "it; tensors and UOp kernels do without it by target='asm'",
                          settings().tools.empty() ? "PATH" : settings().tools);
    found.bitcode = find_folder_with("ocml.bc", paths.bitcode);
    found.hip_headers = find_folder_with("hip/hip_runtime.h", paths.hip_headers);
    if (std::string folder = find_folder_with(kPluginName, paths.plugin); !folder.empty())
        found.plugin = fmt::format("{}/{}", folder, kPluginName);
    found.identity =
        fmt::format("clang {}\nocml {}\nockl {}\nlater {}\nhip {}\n", file_identity(found.clang),
                    file_identity(found.bitcode + "/ocml.bc"), file_identity(found.bitcode + "/ockl.bc"),
                    content_hash(device_libs_fallbacks_text), file_identity(found.hip_headers + "/hip/hip_runtime.h"));
    return found;
}

}  // namespace strata::codegen
