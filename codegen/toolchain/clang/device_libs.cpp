#include "strata/codegen/toolchain/clang/device_libs.h"

#include <unistd.h>

#include <charconv>

#include "strata/codegen/toolchain/clang/clang_p.h"
#include "strata/codegen/toolchain/clang/driver_p.h"
#include "strata/core/support/file.h"

namespace strata::codegen {
namespace {

bool is_wave64(isa::Arch arch, const std::vector<std::string>& args) {
    for (size_t i = 0; i + 1 < args.size(); ++i)
        if (args[i] == "-target-feature" && args[i + 1] == "+wavefrontsize64") return true;
    return isa::info(arch).wave_size == 64;
}

/// True if the libraries are from before ROCm 5.7: the names of a module's functions stand in its file as they are.
bool want_additions(const Toolchain& tools) {
    const auto library = read_file(tools.bitcode + "/ockl.bc");
    return library && library->find("__printf_alloc") == library->npos;
}

/// The number of the device libraries' __oclc_ISA_version: gfx1100 -> 11000, gfx90a -> 9010 (major, minor, hex step).
int isa_version(isa::Arch arch) {
    std::string_view digits = isa::info(arch).name;
    digits.remove_prefix(3);
    auto number = [&](size_t from, size_t count, int base) {
        int value = 0;
        std::from_chars(digits.data() + from, digits.data() + from + count, value, base);
        return value;
    };
    size_t size = digits.size();
    return number(0, size - 2, 10) * 1000 + number(size - 2, 1, 10) * 100 + number(size - 1, 1, 16);
}

/// The constants as C: their names and types are the contract of the device libraries (oclc.h).
std::string constants_source(isa::Arch arch, const std::vector<std::string>& args) {
    bool fast = has_argument(args, "-funsafe-math-optimizations") || has_argument(args, "-ffast-math");
    bool finite = has_argument(args, "-ffinite-math-only") || has_argument(args, "-menable-no-infs");
    bool flush = has_argument(args, "-fdenormal-fp-math-f32=preserve-sign,preserve-sign") ||
                 has_argument(args, "-fdenormal-fp-math-f32=preserve-sign");
    bool rounded = !has_argument(args, "-fno-hip-fp32-correctly-rounded-divide-sqrt");
    std::string text =
        "#define CONSTANT(type, name, value) \\\n"
        "    __attribute__((address_space(4))) const type __oclc_##name = value;\n";
    auto add = [&](std::string_view type, std::string_view name, int value) {
        text += fmt::format("CONSTANT({}, {}, {})\n", type, name, value);
    };
    add("int", "ISA_version", isa_version(arch));
    add("int", "ABI_version", 500);
    add("char", "wavefrontsize64", is_wave64(arch, args));
    add("char", "finite_only_opt", finite);
    add("char", "unsafe_math_opt", fast);
    add("char", "daz_opt", flush);
    add("char", "correctly_rounded_sqrt32", rounded);
    return text;
}

/// The file of a module made from C, which the libraries read or which stands in for a part of them.
Result<std::string> make_module(const Toolchain& tools, isa::Arch arch, const DiskCache& disk,
                                const std::vector<std::string>& args, const std::string& source) {
    std::vector<std::string> command = {"-triple",
                                        "amdgcn-amd-amdhsa",
                                        "-target-cpu",
                                        std::string(isa::info(arch).name),
                                        "-emit-llvm-bc",
                                        "-fvisibility=protected",
                                        "-fconvergent-functions",
                                        "-O3"};
    if (is_wave64(arch, args) && isa::info(arch).wave_size != 64)
        command.insert(command.end(), {"-target-feature", "+wavefrontsize64"});
    std::string key = tools.identity;
    for (const std::string& word : command) key.append(word).push_back('\n');
    key += source;
    if (auto known = disk.get_file(CacheKind::device_constants, key)) return *known;
    STRATA_TRY(ClangOutput made, run_clang(tools, command, "c", source));
    if (!made.ok)
        return make_error(ErrorKind::Device, "clang cannot make its part of the device library for {}: {}{}",
                          isa::info(arch).name, made.failure, made.log);
    if (auto path = disk.put_file(CacheKind::device_constants, key, made.output)) return *path;
    return make_error(ErrorKind::Device,
                      "no room for {} bytes of a kernel's device library in the cache folder or the temporary folder. "
                      "Set STRATA_CACHE_DIR or TMPDIR to a folder with room",
                      made.output.size());
}

}  // namespace

Result<void> add_device_libs(const Toolchain& tools, isa::Arch arch, DeviceLibs libs, const DiskCache& disk,
                             std::vector<std::string>& args) {
    if (libs == DeviceLibs::none) return {};
    if (tools.bitcode.empty())
        return make_error(
            ErrorKind::Device,
            "this kernel needs the AMD device libraries (ocml.bc); on Debian: apt install rocm-device-libs");
    std::string source = constants_source(arch, args);
    if (libs == DeviceLibs::all) source += device_libs_fallbacks_text;
    STRATA_TRY(std::string constants, make_module(tools, arch, disk, args, source));
    std::vector<std::string> files = {tools.bitcode + "/ocml.bc"};
    if (libs == DeviceLibs::all) {
        // In front: of two definitions clang takes the first.
        if (want_additions(tools)) {
            STRATA_TRY(files.emplace_back(), make_module(tools, arch, disk, args, device_libs_overrides_text));
        }
        files.push_back(tools.bitcode + "/ockl.bc");
        // Fences that HIP 5 headers call; later ROCm has them in its headers and no such file.
        if (std::string hip = tools.bitcode + "/hip.bc"; access(hip.c_str(), R_OK) == 0) files.push_back(hip);
    }
    files.push_back(constants);
    for (std::string& file : files) {
        args.emplace_back("-mlink-builtin-bitcode");
        args.push_back(std::move(file));
    }
    return {};
}

}  // namespace strata::codegen
