#include "strata/ops/custom.h"

#include <algorithm>
#include <filesystem>

#include "strata/asm/object/features.h"
#include "strata/codegen/signature/parameters.h"
#include "strata/codegen/toolchain/options.h"
#include "strata/core/support/file.h"
#include "strata/ops/build_p.h"
#include "strata/runtime/kernel_call.h"
#include "strata/runtime/realize.h"
#include "strata/runtime/replay.h"

namespace strata::ops {

namespace {

std::array<uint32_t, 3> counts(const char* what, Dims d) {
    const bool said = d.x || d.y || d.z;
    if (said && (d.x == 0 || d.y == 0 || d.z == 0))
        user_error(ErrorKind::Launch, "{} ({}, {}, {}): every dimension is at least 1", what, d.x, d.y, d.z);
    return {d.x, d.y, d.z};
}

/// The name stands in the text of the kernel.
bool is_identifier(std::string_view name) {
    auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !name.empty() && letter(name[0]) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

UserKernel hip_kernel(codegen::HipSource source, Dims grid, Dims block, uint32_t lds) {
    codegen::check_options(source.options).value();
    std::string name = source.kernel;
    return std::make_shared<runtime::CustomKernel>(runtime::CustomKernel{
        std::move(source), std::move(name), counts("grid", grid), counts("block", block), lds, {}});
}

/// The launch of a call of the kernel; the tensors among its arguments are the sources.
runtime::CustomLaunch launch_of(const std::vector<KernelArgument>& arguments, UserKernel kernel,
                                const LaunchOptions& options) {
    runtime::CustomLaunch launch{
        std::move(kernel), {}, counts("grid", options.grid), counts("block", options.block), options.lds};
    for (const KernelArgument& a : arguments) launch.arguments.push_back(a.value);
    return launch;
}

/// The tensors among the arguments; they are on one device, and have memory.
std::vector<Tensor*> tensors_of(std::string_view where, const std::vector<KernelArgument>& arguments,
                                const UserKernel& kernel) {
    if (!kernel) user_error(ErrorKind::Usage, "[{}] no kernel was given", where);
    std::vector<Tensor*> tensors;
    for (size_t i = 0; i < arguments.size(); ++i) {
        Tensor* t = arguments[i].tensor.get();
        if (!t) continue;
        if (t->numel() == 0)
            user_error(ErrorKind::Shape, "[{}] argument {} has shape {}: it has no memory", where, i,
                       to_string(t->shape()));
        for (const Tensor* other : tensors) common_device(where, *other, *t);
        tensors.push_back(t);
    }
    return tensors;
}

/// True if the memory of its buffer is the tensor in row-major order.
bool is_whole(const Tensor& t) { return !t.is_uniform() && whole_buffer(t.in_memory()); }

/// Puts the tensor into memory of the device, row by row.
void place(Tensor& t, const runtime::Device& device) {
    if (!t.placement()) t = t.to(device.name());
    if (!is_whole(t)) t.realize();
    if (!is_whole(t)) t = t.contiguous().realize();
}

/// Gives a tensor in memory that others share a copy of its own.
void separate(Tensor& t) {
    const bool has_past = t.in_memory() != t.value();  // which what is written is not made of
    if (!has_past && runtime::is_alone(t.value(), 1, 0)) return;
    runtime::collect();  // they may be gone already
    if (!has_past && runtime::is_alone(t.value(), 1, 0)) return;
    Tensor copy = Tensor::empty(t.shape(), t.dtype(), t.device().name());
    runtime::copy_memory(*runtime::find_buffer(whole_buffer(t.in_memory())),
                         *runtime::find_buffer(whole_buffer(copy.in_memory())));
    t.assign(copy);
}

/// Where the first of them is that says so; null: nowhere.
const runtime::Device* placement_of(const std::vector<Tensor*>& tensors) {
    for (const Tensor* t : tensors)
        if (t->placement()) return t->placement();
    return nullptr;
}

runtime::Device& placed(const runtime::Device* device) {
    return device ? runtime::device(device->index()) : runtime::device();
}

bool has_names(const Outputs& outputs) {
    return std::ranges::any_of(outputs, [](const auto& output) { return output.index() == 1; });
}

/// The arguments that `outputs` names, as places; `code` is there if it has names.
std::vector<size_t> places_of(const Outputs& outputs, size_t arguments, std::string_view kernel,
                              const executable::Code* code) {
    std::vector<size_t> places;
    for (const auto& output : outputs) {
        if (const auto* place = std::get_if<int64_t>(&output)) {
            if (*place < 0 || static_cast<size_t>(*place) >= arguments)
                user_error(ErrorKind::Usage, "[outputs] {}: kernel '{}' has {} parameters, counted from 0", *place,
                           kernel, arguments);
            places.push_back(static_cast<size_t>(*place));
            continue;
        }
        const auto& name = std::get<std::string>(output);
        auto found = std::ranges::find(code->parameters, name, &executable::Parameter::name);
        if (found == code->parameters.end()) {
            std::string names;
            for (const executable::Parameter& p : code->parameters) names += (names.empty() ? "" : ", ") + p.name;
            user_error(ErrorKind::Usage, "[outputs] kernel '{}' has no parameter '{}'; its parameters: {}", kernel,
                       name, names);
        }
        places.push_back(static_cast<size_t>(found - code->parameters.begin()));
    }
    return places;
}

/// Which of the tensors among the arguments stand at these places.
std::vector<size_t> tensors_at(const std::vector<size_t>& places, const std::vector<KernelArgument>& arguments,
                               std::string_view kernel) {
    std::vector<size_t> tensors;
    for (size_t place : places) {
        if (place >= arguments.size() || !arguments[place].tensor)
            user_error(ErrorKind::Usage, "[outputs] argument {} of kernel '{}' is no tensor", place, kernel);
        tensors.push_back(
            static_cast<size_t>(std::count_if(arguments.begin(), arguments.begin() + static_cast<ptrdiff_t>(place),
                                              [](const KernelArgument& a) { return bool(a.tensor); })));
    }
    return tensors;
}

/// The tensors that a call may write.
std::vector<size_t> written_by(const runtime::KernelCall& call, size_t tensors) {
    std::vector<size_t> written;
    for (size_t i = 0; i < tensors; ++i)
        if (call.writes(i).value_or(true)) written.push_back(i);
    return written;
}

}  // namespace

UserKernel hip_kernel(std::string source, std::string name, Dims grid, Dims block, std::vector<std::string> options,
                      uint32_t lds) {
    std::string file = (name.empty() ? "kernel" : name) + ".hip";
    return hip_kernel({std::move(source), std::move(name), false, std::move(file), std::move(options)}, grid, block,
                      lds);
}

UserKernel hip_kernel_file(const std::string& path, std::string name, Dims grid, Dims block,
                           std::vector<std::string> options, uint32_t lds) {
    std::optional<std::string> text = read_file(path);
    if (!text) user_error(ErrorKind::Usage, "[hip_kernel] cannot read {}", path);
    std::string folder = std::filesystem::absolute(path).parent_path().string();
    return hip_kernel({*std::move(text), std::move(name), false, path, std::move(options), std::move(folder)}, grid,
                      block, lds);
}

UserKernel asm_kernel(std::vector<uint8_t> code_object, Dims grid, Dims block, std::string name, uint32_t lds) {
    isa::CodeObject object = isa::CodeObject::parse(code_object).value();
    if (object.kernels.empty())
        user_error(ErrorKind::Usage,
                   "[asm_kernel] the code object has no kernel: a whole file has .amdhsa_kernel directives; bare "
                   "instructions are given to asm_kernel as text, with args=");
    const bool known = std::ranges::any_of(object.kernels, [&](const isa::KernelInfo& k) { return k.name == name; });
    if (name.empty() ? object.kernels.size() != 1 : !known) {
        std::string names;
        for (const isa::KernelInfo& k : object.kernels) names += (names.empty() ? "" : ", ") + k.name;
        if (name.empty())
            user_error(ErrorKind::Usage, "[asm_kernel] the code object has {} kernels, say which by name: {}",
                       object.kernels.size(), names);
        user_error(ErrorKind::Usage, "[asm_kernel] the code object has no kernel '{}'; it has: {}", name, names);
    }
    if (name.empty()) name = object.kernels[0].name;
    std::string arch;
    if (!isa::is_generic(object)) arch = isa::info(object.arch).name;
    return std::make_shared<runtime::CustomKernel>(runtime::CustomKernel{
        std::move(code_object), std::move(name), counts("grid", grid), counts("block", block), lds, std::move(arch)});
}

namespace {

std::shared_ptr<runtime::CustomKernel> kernel_of_graph(UOp sink) {
    GraphScope scope;
    if (!sink.is(Op::sink)) user_error(ErrorKind::Usage, "[uop_kernel] a sink was expected, got {}", to_string(sink));
    std::string name = sink.as<SinkArg>().name.empty() ? "kernel" : sink.as<SinkArg>().name;
    if (!is_identifier(name))
        user_error(ErrorKind::Usage,
                   "[uop_kernel] '{}' cannot be a kernel's name, which is letters a to z, digits and _: say sink(..., "
                   "name=\"...\")",
                   name);
    SinkArg named = sink.as<SinkArg>();
    named.name = name;
    sink = make(Op::sink, dtypes::none, sink.src(), named);  // a named sink is a user's: errors are theirs
    auto kernel = std::make_shared<runtime::CustomKernel>();
    kernel->body = codegen::Kernel{sink, name};
    kernel->name = name;
    kernel->graph = Root(sink);
    return kernel;
}

}  // namespace

UserKernel uop_kernel(UOp sink) { return kernel_of_graph(sink); }

UserKernel uop_kernel_of_any_grid(UOp sink) {
    std::shared_ptr<runtime::CustomKernel> kernel = kernel_of_graph(sink);
    kernel->takes_grid = true;
    return kernel;
}

std::vector<Tensor> custom_kernel(const std::vector<KernelArgument>& arguments, UserKernel kernel,
                                  const LaunchOptions& options, const Outputs& outputs) {
    const std::vector<Tensor*> tensors = tensors_of("custom_kernel", arguments, kernel);
    if (tensors.empty())
        user_error(ErrorKind::Usage,
                   "[custom_kernel] there is no tensor whose value would launch kernel '{}'; call the kernel itself",
                   kernel->name);
    const runtime::Device* device = placement_of(tensors);
    std::shared_ptr<runtime::Program> program;
    if (has_names(outputs)) program = runtime::program(placed(device), *kernel);
    const auto wanted =
        tensors_at(places_of(outputs, arguments.size(), kernel->name, program ? &program->code : nullptr), arguments,
                   kernel->name);
    runtime::CustomLaunch call = launch_of(arguments, std::move(kernel), options);
    GraphScope scope;
    std::vector<UOp> sources;
    for (const Tensor* t : tensors) sources.push_back(t->uop());
    UOp node = make(Op::custom, dtypes::none, sources, runtime::register_custom(std::move(call)));
    std::vector<Tensor> results;
    for (size_t i = 0; i < (outputs.empty() ? tensors.size() : wanted.size()); ++i) {
        const size_t source = outputs.empty() ? i : wanted[i];
        const IndexArg place{static_cast<int>(source)};
        results.emplace_back(make(Op::pick, tensors[source]->dtype(), {node}, place), device);
    }
    return results;
}

std::vector<Tensor> custom_kernel(const Tensor& out, const std::vector<Tensor>& inputs, UserKernel kernel) {
    std::vector<KernelArgument> arguments{out};
    arguments.insert(arguments.end(), inputs.begin(), inputs.end());
    return custom_kernel(arguments, std::move(kernel));
}

std::vector<size_t> launch_in_place(const std::vector<KernelArgument>& arguments, UserKernel kernel,
                                    const LaunchOptions& options, const Outputs& outputs) {
    const std::vector<Tensor*> tensors = tensors_of("launch", arguments, kernel);
    runtime::Device& device = placed(placement_of(tensors));
    const runtime::CustomLaunch launch = launch_of(arguments, std::move(kernel), options);
    const runtime::TakenCall call(device, launch, tensors.size());
    const executable::Code& code = call->program()->code;
    std::vector<size_t> written =
        outputs.empty() ? written_by(*call, tensors.size())
                        : tensors_at(places_of(outputs, arguments.size(), code.entry, &code), arguments, code.entry);
    for (Tensor* t : tensors) place(*t, device);
    for (size_t i = 0; i < tensors.size(); ++i)
        if (call->writes(i).value_or(true)) separate(*tensors[i]);
    std::vector<UOp> buffers;
    buffers.reserve(tensors.size());
    for (const Tensor* t : tensors) buffers.push_back(whole_buffer(t->in_memory()));
    if (const runtime::Recorder* recorder = runtime::Recorder::active())
        for (size_t i = 0; i < buffers.size(); ++i)
            if (!call->writes(i) && !recorder->made(*runtime::find_buffer(buffers[i])))
                runtime::refuse_in_recording(
                    fmt::format("kernel '{}', which may write any argument, is called", code.entry));
    runtime::launch(*call, buffers);
    return written;
}

LaunchResult launch(const std::vector<KernelArgument>& arguments, UserKernel kernel, const LaunchOptions& options,
                    const Outputs& outputs) {
    LaunchResult result;
    result.written = launch_in_place(arguments, std::move(kernel), options, outputs);
    for (const KernelArgument& a : arguments)
        if (a.tensor) result.tensors.push_back(*a.tensor);
    return result;
}

std::shared_ptr<runtime::Buffer> memory_of(Tensor& t, const runtime::Device& device, bool written) {
    place(t, device);
    if (written) separate(t);
    return runtime::find_buffer(whole_buffer(t.in_memory()));
}

Variables::Variables(const UserKernel& kernel, std::string_view device) {
    runtime::refuse_in_recording("the variables of a kernel are used");
    runtime::Device& on = runtime::device(device);
    const std::vector<const runtime::Device*> loaded = kernel->loaded->devices();
    if (device.empty() && !loaded.empty() && std::ranges::find(loaded, &on) == loaded.end())
        user_error(ErrorKind::Usage,
                   "the kernel was used on {0}, not on the default device {1}, and each has variables of its own: say "
                   "kernel.globals.on(\"{0}\") or kernel.globals.on(\"{1}\")",
                   loaded[0]->name(), on.name());
    program_ = runtime::program(on, *kernel);
}

std::vector<std::string> Variables::names() const {
    std::vector<std::string> names = runtime::variables_of(*program_->code.object);
    for (std::string& name : names) name = codegen::demangled(name);
    return names;
}

size_t Variables::size(const std::string& name) const { return program_->variable(name).bytes; }

std::vector<uint8_t> Variables::read(const std::string& name) const {
    const providers::DeviceRange range = program_->variable(name);
    const runtime::Device& device = program_->device();
    std::vector<uint8_t> bytes(range.bytes);
    device.api().memcpy_to_host(device.ordinal(), bytes.data(), range.address, range.bytes).value();
    return bytes;
}

void Variables::write(const std::string& name, std::span<const uint8_t> bytes) const {
    const providers::DeviceRange range = program_->variable(name);
    if (bytes.size() != range.bytes)
        user_error(ErrorKind::Usage, "the variable '{}' has {} bytes, {} were given", name, range.bytes, bytes.size());
    const runtime::Device& device = program_->device();
    device.api().memcpy_to_device(device.ordinal(), range.address, bytes.data(), bytes.size()).value();
}

}  // namespace strata::ops
