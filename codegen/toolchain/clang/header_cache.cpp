#include "strata/codegen/toolchain/clang/header_cache_p.h"

#include <unistd.h>

#include <cstdio>
#include <mutex>

#include "strata/codegen/toolchain/clang/clang_p.h"
#include "strata/codegen/toolchain/clang/driver_p.h"
#include "strata/core/support/mutex.h"

namespace strata::codegen {
namespace {

constexpr std::string_view kWrapper = "__clang_hip_runtime_wrapper.h";
constexpr std::string_view kRuntimeHeader = "hip/hip_runtime.h";

/// A definition that hip_runtime.h itself might read must be there when the header is compiled.
bool header_may_read(std::string_view macro) {
    return macro.starts_with("_") || macro.starts_with("HIP") || macro == "NDEBUG";
}

/// Moves "-D NAME=VALUE" pairs of the user into #define lines.
HeaderUse lift_definitions(const std::vector<std::string>& args) {
    HeaderUse use;
    for (size_t i = 0; i < args.size(); ++i) {
        bool define = args[i] == "-D" && i + 1 < args.size();
        if (!define || header_may_read(args[i + 1])) {
            use.args.push_back(args[i]);
            continue;
        }
        std::string definition = args[++i];
        if (size_t equals = definition.find('='); equals != definition.npos)
            definition[equals] = ' ';
        else
            definition += " 1";
        use.defines += fmt::format("#define {}\n", definition);
    }
    return use;
}

std::string build_header(const Toolchain& tools, std::vector<std::string> args) {
    replace_argument(args, "-emit-obj", "-emit-pch");
    args.insert(args.end(), {"-include", std::string(kRuntimeHeader)});
    auto made = run_clang(tools, args, "hip", "");
    return made && made->ok ? made->output : std::string();
}

Mutex build_mutex;  // one build at a time: the others find its result

}  // namespace

HeaderUse include_runtime_header(const std::vector<std::string>& args) {
    HeaderUse use{args, {}};
    use.args.insert(use.args.end(), {"-include", std::string(kRuntimeHeader)});
    return use;
}

HeaderUse without_runtime_header(const std::vector<std::string>& args) {
    HeaderUse use{args, {}};
    remove_argument_pair(use.args, "-include", kWrapper);
    for (std::string_view word : {"host", "device", "global", "shared", "constant", "managed"})
        use.defines += fmt::format("#define __{0}__ __attribute__(({0}))\n", word);
    use.defines += "#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))\n";
    use.defines +=
        "#define __forceinline__ inline __attribute__((always_inline))\n#define __noinline__ "
        "__attribute__((noinline))\n";
    return use;
}

HeaderUse use_runtime_header(const Toolchain& tools, const std::vector<std::string>& args, const DiskCache& disk,
                             std::string_view arch_name) {
    HeaderUse use = lift_definitions(args);
    std::string key = tools.identity;
    for (const std::string& arg : use.args) key.append(arg).push_back('\n');
    StoppableLock lock(build_mutex);
    auto header = disk.get_file(CacheKind::precompiled_headers, key);
    if (!header) {
        if (isatty(STDERR_FILENO)) fmt::print(stderr, "strata: precompiling hip_runtime.h for {}, once\n", arch_name);
        std::string bytes = build_header(tools, use.args);
        if (!bytes.empty()) header = disk.put_file(CacheKind::precompiled_headers, key, bytes);
    }
    if (!header) return include_runtime_header(args);
    remove_argument_pair(use.args, "-include", kWrapper);
    use.args.insert(use.args.end(), {"-include-pch", *header});
    use.precompiled = *header;
    return use;
}

}  // namespace strata::codegen
