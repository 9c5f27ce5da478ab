#include "strata/ops/custom.h"

#include <algorithm>

#include "strata/ops/build_p.h"
#include "strata/runtime/custom.h"

namespace strata::ops {

namespace {

std::array<uint32_t, 3> counts(const char* what, Dims d) {
    if (d.x == 0 || d.y == 0 || d.z == 0)
        user_error(ErrorKind::Launch, "{} ({}, {}, {}): every dimension is at least 1", what, d.x, d.y, d.z);
    return {d.x, d.y, d.z};
}

/// The name stands in the text of the kernel.
bool is_identifier(std::string_view name) {
    auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !name.empty() && letter(name[0]) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

}  // namespace

UserKernel hip_kernel(std::string source, std::string name, Dims grid, Dims block, std::vector<std::string> options,
                      uint32_t lds) {
    codegen::HipSource text{std::move(source), name, false, name + ".hip", std::move(options)};
    return std::make_shared<runtime::CustomKernel>(
        runtime::CustomKernel{std::move(text), std::move(name), counts("grid", grid), counts("block", block), lds, {}});
}

UserKernel asm_kernel(std::vector<uint8_t> code_object, Dims grid, Dims block, std::string name, uint32_t lds) {
    isa::CodeObject object = isa::CodeObject::parse(code_object).value();
    if (name.empty() && object.kernels.size() != 1)
        user_error(ErrorKind::Usage, "[asm_kernel] the code object has {} kernels: say which", object.kernels.size());
    if (name.empty()) name = object.kernels[0].name;
    return std::make_shared<runtime::CustomKernel>(
        runtime::CustomKernel{std::move(code_object), std::move(name), counts("grid", grid), counts("block", block),
                              lds, std::string(isa::info(object.arch).name)});
}

UserKernel uop_kernel(UOp sink) {
    GraphScope scope;
    if (!sink.is(Op::sink)) user_error(ErrorKind::Usage, "[uop_kernel] a sink was expected, got {}", to_string(sink));
    std::string name = sink.as<SinkArg>().name.empty() ? "kernel" : sink.as<SinkArg>().name;
    if (!is_identifier(name))
        user_error(ErrorKind::Usage,
                   "[uop_kernel] '{}' cannot be a kernel's name, which is letters a to z, digits and _: say sink(..., "
                   "name=\"...\")",
                   name);
    sink = make(Op::sink, dtypes::none, sink.src(), SinkArg{name});  // a named sink is a user's: errors are theirs
    auto kernel = std::make_shared<runtime::CustomKernel>();
    kernel->body = codegen::Kernel{sink, name};
    kernel->name = name;
    kernel->graph = Root(sink);
    return kernel;
}

std::vector<Tensor> custom_kernel(const Tensor& out, const std::vector<Tensor>& inputs, UserKernel kernel) {
    if (!kernel) user_error(ErrorKind::Usage, "[custom_kernel] no kernel was given");
    std::vector<Tensor> buffers{out};
    buffers.insert(buffers.end(), inputs.begin(), inputs.end());
    GraphScope scope;
    std::vector<UOp> sources;
    const runtime::Device* device = nullptr;
    for (const Tensor& t : buffers) {
        if (t.numel() == 0)
            user_error(ErrorKind::Shape, "[custom_kernel] buffer {} has shape {}: it has no memory", sources.size(),
                       to_string(t.shape()));
        for (const Tensor& other : buffers) common_device("custom_kernel", other, t);
        if (!device) device = t.placement();
        sources.push_back(t.uop());
    }
    uint64_t id = runtime::register_custom(std::move(kernel));
    UOp launch = make(Op::custom, dtypes::none, sources, CustomArg{id});
    runtime::own_custom(launch);
    std::vector<Tensor> results;
    for (size_t i = 0; i < buffers.size(); ++i)
        results.emplace_back(make(Op::pick, buffers[i].dtype(), {launch}, IndexArg{static_cast<int>(i)}), device);
    return results;
}

}  // namespace strata::ops
