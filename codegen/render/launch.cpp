#include "strata/codegen/render/launch_p.h"

#include <fmt/format.h>

#include <algorithm>

#include "strata/codegen/render/expression_p.h"
#include "strata/codegen/render/foreign_p.h"

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

std::string parameter_name(UOp parameter, bool written) {
    if (parameter.is(Op::define_var)) return fmt::format("n{}", parameter.as<VariableArg>().slot);
    return fmt::format("{}{}", written ? "out" : "in", parameter.as<ParamArg>().slot);
}

KernelHead kernel_head(const LinearProgram& program, const Target& target, const UOpMap<bool>& written) {
    const auto &g = program.grid, &b = program.block;
    std::string text = foreign_sources(program) + fmt::format("// {}: grid {} x {} x {}, block {} x {} x {}",
                                                              program.name, g[0], g[1], g[2], b[0], b[1], b[2]);
    if (program.lds) text += fmt::format(", {} bytes of local memory", program.lds);
    std::string parameters;
    for (UOp p : program.params) {
        const bool writes = written.contains(p);
        const std::string_view by = p.is(Op::define_var) ? "" : "* __restrict__", type = writes ? "" : "const ";
        parameters += fmt::format("{}{}{}{} {}", parameters.empty() ? "" : ", ", type, hip_type(p.dtype()), by,
                                  parameter_name(p, writes));
    }
    std::string name = program.name, entry = program.name;
    // A user's name may be a word of the language or of a library: only the symbol has it.
    if (!is_generated_name(name)) {
        name += "_kernel";
        if (target.arch.is_amd())
            text +=
                fmt::format("\nextern \"C\" __global__ void {}({}) __asm__(\"{}\");", name, parameters, program.name);
        else  // NVRTC gives no function another symbol
            entry = name;
    }
    text +=
        fmt::format("\nextern \"C\" __global__ void {} {}({}) {{\n", launch_bounds(program, target), name, parameters);
    return {std::move(text), std::move(entry)};
}

std::string first_lane(const std::string& text, const Target& target) {
    return target.arch.is_amd() ? fmt::format("__builtin_amdgcn_readfirstlane({})", text) : text;
}

std::string_view scope_name(MemoryScope scope) {
    static constexpr std::string_view kNames[] = {"strata_workgroup", "strata_device", "strata_system"};
    return kNames[static_cast<size_t>(scope)];
}

}  // namespace strata::codegen
