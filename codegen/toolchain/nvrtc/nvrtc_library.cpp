#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "strata/codegen/toolchain/nvrtc/nvrtc.h"

namespace strata::codegen {
namespace {

namespace fs = std::filesystem;

/// Sonames, the newest first: one that the process has loaded already is found by these too.
constexpr const char* kLibraries[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};

/// Folders of pip's packages of NVIDIA (site-packages/nvidia/*/lib) beside the package that this code is part of.
std::vector<fs::path> package_folders() {
    Dl_info self{};
    if (!dladdr(reinterpret_cast<void*>(&package_folders), &self) || !self.dli_fname) return {};
    std::vector<fs::path> folders;
    std::error_code ignored;
    const fs::path site = fs::absolute(self.dli_fname, ignored).parent_path().parent_path() / "nvidia";
    for (const auto& package : fs::directory_iterator(site, ignored)) folders.push_back(package.path() / "lib");
    std::ranges::sort(folders, std::greater());
    return folders;
}

/// NVRTC opens its second library by name, which finds one that is loaded.
void load_builtins(const fs::path& folder) {
    std::error_code ignored;
    for (const auto& file : fs::directory_iterator(folder, ignored))
        if (const std::string name = file.path().filename(); name.starts_with("libnvrtc-builtins.so"))
            (void)dlopen(file.path().c_str(), RTLD_NOW | RTLD_GLOBAL);
}

void* find_library() {
    for (const char* name : kLibraries)
        if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    for (const fs::path& folder : package_folders())
        for (const char* name : kLibraries) {
            std::error_code ignored;
            if (!fs::exists(folder / name, ignored)) continue;
            load_builtins(folder);
            if (void* library = dlopen((folder / name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
        }
    return nullptr;
}

Result<std::unique_ptr<Nvrtc>> load() {
    void* const library = find_library();
    if (!library)
        return make_error(
            ErrorKind::Device,
            "no compiler for NVIDIA's chips: libnvrtc.so.13 or .12 is not where the loader looks, nor in pip's "
            "packages beside Strata; pip install nvidia-cuda-nvrtc");
    auto compiler = std::make_unique<Nvrtc>();
#define NVRTC(name, parameters)                                                         \
    compiler->name = reinterpret_cast<decltype(compiler->name)>(dlsym(library, #name)); \
    if (!compiler->name) return make_error(ErrorKind::Device, "libnvrtc.so has no {}", #name);
#include "strata/codegen/toolchain/nvrtc/nvrtc.def"
#undef NVRTC
    int major = 0, minor = 0;
    if (compiler->nvrtcVersion(&major, &minor) != 0)
        return make_error(ErrorKind::Device, "libnvrtc.so does not tell its version");
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(compiler->nvrtcVersion), &info) && info.dli_fname)
        compiler->path = info.dli_fname;
    std::error_code ignored;
    const auto bytes = fs::file_size(compiler->path, ignored);
    compiler->identity = fmt::format("nvrtc {}.{} of {} bytes\n", major, minor, ignored ? 0 : bytes);
    return compiler;
}

}  // namespace

Result<const Nvrtc*> nvrtc() {
    static const Result<std::unique_ptr<Nvrtc>> compiler = load();
    if (!compiler) return compiler.error();
    return compiler->get();
}

}  // namespace strata::codegen
