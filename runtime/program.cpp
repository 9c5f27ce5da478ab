#include "strata/runtime/program.h"

#include <cstring>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "strata/codegen/compile/compile_kernel.h"
#include "strata/core/support/settings.h"

namespace strata::runtime {
namespace {

size_t explicit_arguments(const isa::KernelInfo& kernel) {
    size_t n = 0;
    for (const isa::KernelArg& arg : kernel.args) n += !arg.value_kind.starts_with("hidden_");
    return n;
}

Error wrong_arguments(const isa::KernelInfo& kernel, size_t buffers) {
    return make_error(
        ErrorKind::Launch,
        "kernel '{}' takes {} parameters but {} buffers were given; pass one tensor a parameter, the output first",
        kernel.name, explicit_arguments(kernel), buffers);
}

/// Programs by kernel graph and device. Sinks are rooted: their addresses stay theirs.
struct ProgramKey {
    UOp sink;
    uint16_t device;
    bool operator==(const ProgramKey&) const = default;
};
struct ProgramKeyHash {
    size_t operator()(const ProgramKey& k) const { return UOpHash{}(k.sink) * 31 + k.device; }
};
struct Entry {
    Root sink;
    std::shared_ptr<Program> program;
};
std::mutex memo_mutex;
std::unordered_map<ProgramKey, Entry, ProgramKeyHash>& memo() {
    static auto* all = new std::unordered_map<ProgramKey, Entry, ProgramKeyHash>;
    return *all;
}

std::shared_ptr<Program> remembered(const ProgramKey& key) {
    std::lock_guard lock(memo_mutex);
    auto found = memo().find(key);
    return found == memo().end() ? nullptr : found->second.program;
}

}  // namespace

std::shared_ptr<Program> Program::load(Device& device, codegen::Compiled code, size_t buffers) {
    const isa::KernelInfo& kernel = code.info();
    if (!kernel.args.empty() || buffers == 0)
        if (explicit_arguments(kernel) != buffers) throw Exception(wrong_arguments(kernel, buffers));
    std::shared_ptr<Program> program(new Program(device, std::move(code)));
    program->module_ = device.api().module_load(device.ordinal(), program->code.code_object()).value();
    program->function_ = device.api().module_function(program->module_, program->code.entry).value();
    return program;
}

Program::~Program() {
    if (module_) (void)device_.api().module_unload(module_);
}

Launched Program::launch(std::span<const hip::DevicePtr> buffers) const {
    std::vector<hip::DevicePtr> pointers(buffers.begin(), buffers.end());
    if (!code.slots.empty()) {
        pointers.clear();
        for (int slot : code.slots) {
            if (static_cast<size_t>(slot) >= buffers.size())
                user_error(ErrorKind::Launch, "kernel '{}' uses buffer {} but {} buffers were given", code.entry, slot,
                           buffers.size());
            pointers.push_back(buffers[static_cast<size_t>(slot)]);
        }
    }
    std::vector<uint8_t> arguments(pointers.size() * sizeof(hip::DevicePtr));
    std::memcpy(arguments.data(), pointers.data(), arguments.size());
    hip::LaunchReport report;
    Result<double> time_ms = device_.timed([&](hip::StreamHandle* stream) {
        return device_.api().module_launch_kernel(function_, code.grid, code.block, code.dynamic_lds, stream, arguments,
                                                  report);
    });
    return {time_ms.value(), std::move(report)};
}

codegen::Target target_of(const Device& device) {
    return codegen::target_of(device.arch(), codegen::parse_route(settings().target).value());
}

std::vector<std::shared_ptr<Program>> programs(Device& device, std::span<const codegen::Scheduled> kernels) {
    std::vector<codegen::Scheduled> missing;
    std::unordered_set<UOp, UOpHash> asked;
    for (const codegen::Scheduled& k : kernels)
        if (!remembered({k.kernel.sink, device.index()}) && asked.insert(k.kernel.sink).second) missing.push_back(k);
    std::vector<Result<codegen::Compiled>> compiled = codegen::compile_kernels(missing, target_of(device));
    for (size_t i = 0; i < missing.size(); i++) {
        codegen::Compiled& code = compiled[i].value();
        const size_t parameters = code.slots.size();
        UOp sink = missing[i].kernel.sink;
        std::shared_ptr<Program> program = Program::load(device, std::move(code), parameters);
        std::lock_guard lock(memo_mutex);
        memo()[{sink, device.index()}] = Entry{Root(sink), program};
    }
    std::vector<std::shared_ptr<Program>> out;
    for (const codegen::Scheduled& k : kernels) out.push_back(remembered({k.kernel.sink, device.index()}));
    return out;
}

std::shared_ptr<Program> program(Device& device, const CustomKernel& custom, size_t buffers) {
    if (const auto* kernel = std::get_if<codegen::Kernel>(&custom.body)) {
        const codegen::Scheduled as_written{*kernel, {}};
        return programs(device, std::span(&as_written, 1))[0];
    }
    if (!custom.arch.empty() && custom.arch != isa::info(device.arch()).name)
        user_error(ErrorKind::Launch, "kernel '{}' was assembled for {} but the device {} is {}", custom.name,
                   custom.arch, device.name(), isa::info(device.arch()).name);
    return Program::load(device, compile_custom(custom, target_of(device)).value(), buffers);
}

}  // namespace strata::runtime
