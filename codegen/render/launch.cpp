#include "strata/codegen/render/launch_p.h"

#include <fmt/format.h>

#include <algorithm>

namespace strata::codegen {
namespace {

constexpr int kUnits = 4;              // vector units of a multiprocessor, which NVIDIA counts blocks of
constexpr int kFileRegisters = 65536;  // of a multiprocessor (CUDA C++ Programming Guide, compute capabilities)

}  // namespace

std::string launch_bounds(const LinearProgram& program, const Target& target) {
    const auto& b = program.block;
    const int threads = static_cast<int>(b[0] * b[1] * b[2]);
    std::string text = fmt::format("__launch_bounds__({})", threads);
    if (target.arch.is_amd()) {
        if (program.waves) text += fmt::format(" __attribute__((amdgpu_waves_per_eu({})))", program.waves);
        if (program.registers) text += fmt::format(" __attribute__((amdgpu_num_vgpr({})))", program.registers);
        return text;
    }
    int blocks = 0;
    if (program.waves) blocks = (program.waves * kUnits * target.wave_size + threads - 1) / threads;
    if (program.registers) blocks = std::max(blocks, kFileRegisters / (program.registers * threads));
    return blocks > 0 ? fmt::format("__launch_bounds__({}, {})", threads, blocks) : text;
}

std::string first_lane(const std::string& text, const Target& target) {
    return target.arch.is_amd() ? fmt::format("__builtin_amdgcn_readfirstlane({})", text) : text;
}

std::string_view scope_name(MemoryScope scope) {
    static constexpr std::string_view kNames[] = {"strata_workgroup", "strata_device", "strata_system"};
    return kNames[static_cast<size_t>(scope)];
}

}  // namespace strata::codegen
