#include "strata/runtime/program.h"

#include <cstring>
#include <unordered_set>

#include "strata/codegen/compile/compile_kernel.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/context_p.h"

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
    Programs& known = context().programs;
    for (const codegen::Scheduled& k : kernels)
        if (!known.find(k.kernel.sink, device) && asked.insert(k.kernel.sink).second) missing.push_back(k);
    std::vector<Result<codegen::Compiled>> compiled = codegen::compile_kernels(missing, target_of(device));
    for (size_t i = 0; i < missing.size(); ++i) {
        codegen::Compiled& code = compiled[i].value();
        const size_t parameters = code.slots.size();
        UOp sink = missing[i].kernel.sink;
        std::shared_ptr<Program> program = Program::load(device, std::move(code), parameters);
        known.add(sink, device, std::move(program));
    }
    std::vector<std::shared_ptr<Program>> out;
    for (const codegen::Scheduled& k : kernels) out.push_back(known.find(k.kernel.sink, device));
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

std::shared_ptr<Program> Programs::find(UOp sink, const Device& device) {
    std::lock_guard lock(mutex_);
    auto found = all_.find(sink);
    if (found == all_.end()) return nullptr;
    auto program = found->second.by_device.find(device.index());
    return program == found->second.by_device.end() ? nullptr : program->second;
}

void Programs::add(UOp sink, const Device& device, std::shared_ptr<Program> program) {
    std::lock_guard lock(mutex_);
    Entry& entry = all_[sink];
    entry.sink = Root(sink);
    entry.by_device[device.index()] = std::move(program);
}

}  // namespace strata::runtime
