#include "strata/runtime/artifact.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "strata/codegen/driver/compile_graph.h"
#include "strata/codegen/driver/route.h"
#include "strata/codegen/kernel/scalar_parameters.h"
#include "strata/core/support/settings.h"
#include "strata/core/uop/uop_set.h"
#include "strata/runtime/device.h"
#include "strata/runtime/program.h"
#include "strata/runtime/realize.h"
#include "strata/runtime/search/search.h"

namespace strata::runtime {

namespace {

Result<executable::Code> compile_launch(const CustomLaunch& launch, const codegen::Target& target) {
    STRATA_TRY(executable::Code compiled, compile_custom(*launch.kernel, target));
    const LaunchShape shape = shape_of(launch, compiled);
    compiled.grid = shape.grid;
    compiled.block = shape.block;
    compiled.dynamic_lds = shape.dynamic_lds;
    return compiled;
}

/// The device whose searches the settings let a target take schedules of, or null.
const Device* searched_on(const codegen::Target& target) {
    if (settings().beam == 0) return nullptr;
    const Device& here = device();
    return here.arch() == target.arch && target_of(here).route == target.route ? &here : nullptr;
}

/// Users' kernels by name.
class Named : public codegen::UserKernels {
  public:
    codegen::UserKernel kernel(UOp custom) const override {
        return {{find_custom(custom.as<CustomArg>().id)->kernel->name}};
    }
};

using executable::SequenceArgument;

/// A user's kernel compiled for a target, with the arguments of its launch: an address is the number of a tensor.
struct CompiledLaunch {
    std::shared_ptr<const executable::Code> code;
    std::vector<SequenceArgument> arguments;
    std::vector<bool> written;  ///< by tensor
};

/// Whether a kernel that its parameters do not describe, as of assembly, writes a tensor: its first alone.
bool may_write(const executable::Code& code, size_t parameter, size_t tensor) {
    const bool is_described = parameter < code.parameters.size() && code.parameters[parameter].is_described;
    return is_described ? code.parameters[parameter].writable : tensor == 0;
}

/// Bytes of a launch as numbers of up to eight of them.
void add_bits(CompiledLaunch& to, std::span<const uint8_t> bytes, uint32_t offset, uint32_t end) {
    for (; offset < end; offset += 8) {
        SequenceArgument bits{SequenceArgument::Kind::bits, 0, offset, std::min(8u, end - offset)};
        std::memcpy(&bits.value, &bytes[offset], bits.bytes);
        to.arguments.push_back(bits);
    }
}

void pack(CompiledLaunch& to, std::span<const Argument> arguments) {
    PackedArguments packed = PackedArguments::pack(*to.code, arguments).value();
    const std::vector<providers::DevicePtr> nowhere(packed.tensor_parameters().size());
    const std::span<const uint8_t> bytes = packed.bytes(nowhere);
    uint32_t end = 0;
    for (size_t tensor = 0; tensor < nowhere.size(); ++tensor) {
        const uint32_t at = packed.address_places()[tensor];
        const bool written = may_write(*to.code, packed.tensor_parameters()[tensor], tensor);
        if (end < at) add_bits(to, bytes, end, at);
        to.arguments.push_back({SequenceArgument::Kind::operand, tensor, at, 8, written});
        to.written.push_back(written);
        end = at + 8;
    }
    add_bits(to, bytes, end, static_cast<uint32_t>(bytes.size()));
}

/// Of a graph: each argument has the slot of its place.
void pack_slots(CompiledLaunch& to, std::span<const Argument> arguments, const std::vector<size_t>& written) {
    std::vector<size_t> tensor_of(arguments.size());
    for (size_t slot = 0, tensor = 0; slot < arguments.size(); ++slot) {
        if (!std::holds_alternative<Argument::Tensor>(arguments[slot].value)) continue;
        tensor_of[slot] = tensor++;
        to.written.push_back(std::ranges::binary_search(written, slot));
    }
    for (const executable::ParameterPlace& place : to.code->places) {
        const auto slot = static_cast<size_t>(place.slot);
        if (slot >= arguments.size())
            user_error(ErrorKind::Launch, "kernel '{}' uses argument {} but {} were given", to.code->entry, slot,
                       arguments.size());
        const auto* number = std::get_if<Argument::Number>(&arguments[slot].value);
        const auto* address = std::get_if<Argument::Address>(&arguments[slot].value);
        SequenceArgument made{SequenceArgument::Kind::bits, address ? address->address : 0, place.offset, place.bytes};
        if (std::holds_alternative<Argument::Tensor>(arguments[slot].value))
            made.kind = SequenceArgument::Kind::operand, made.value = tensor_of[slot],
            made.written = to.written[tensor_of[slot]];
        else if (number && place.number)
            made.value = bits_of_number(*number, *place.number).value();
        to.arguments.push_back(made);
    }
}

/// Users' kernels compiled for a target.
class Compiled : public codegen::UserKernels {
  public:
    Compiled(const codegen::Target& target, std::span<const UOp> roots, std::span<const UOp> inputs) : target_(target) {
        for (UOp root : roots)
            for (UOp u : toposort(root)) {
                if (!u.is(Op::custom)) continue;
                const std::vector<bool> writes = written(u);
                for (size_t i = 0; i < writes.size(); ++i) {
                    UOp buffer = u.src(i);
                    while (buffer.is(Op::reshape)) buffer = buffer.src(0);
                    if (!writes[i] || !buffer.is(Op::buffer) || std::ranges::find(inputs, buffer) != inputs.end())
                        continue;
                    if (!find_buffer(buffer)->allocated()) unset_.insert(buffer);
                }
            }
    }
    codegen::UserKernel kernel(UOp custom) const override {
        return {{find_custom(custom.as<CustomArg>().id)->kernel->name, launch(custom).code}};
    }
    std::vector<bool> written(UOp custom) const override { return launch(custom).written; }
    /// Memory that nothing was put in is the kernel's to fill.
    bool is_unset(UOp view) const override {
        while (view.is(Op::reshape)) view = view.src(0);
        return unset_.contains(view);
    }

    executable::PackedSteps packed(const executable::Executable& exe) const {
        executable::PackedSteps out(exe.steps.size());
        for (size_t s = 0; s < exe.steps.size(); ++s)
            for (const auto& [id, launch] : known_)
                if (launch.code == exe.kernels[exe.steps[s].kernel].code) out[s] = launch.arguments;
        return out;
    }

  private:
    const CompiledLaunch& launch(UOp custom) const {
        const auto [at, is_new] = known_.try_emplace(custom.as<CustomArg>().id);
        if (is_new) at->second = compiled(*find_custom(at->first), custom.src().size());
        return at->second;
    }
    CompiledLaunch compiled(const CustomLaunch& launch, size_t tensors) const {
        CompiledLaunch out{std::make_shared<const executable::Code>(compile_launch(launch, target_).value())};
        const std::vector<Argument> only_tensors(launch.arguments.empty() ? tensors : 0);
        const std::span<const Argument> arguments = launch.arguments.empty() ? only_tensors : launch.arguments;
        if (const auto* graph = std::get_if<codegen::Kernel>(&launch.kernel->body))
            pack_slots(out, arguments, launch.kernel->loaded->written_slots(graph->sink));
        else if (std::holds_alternative<executable::Code>(launch.kernel->body))
            pack_slots(out, arguments, launch.kernel->loaded->written_slots({}));
        else if (out.code->object)
            pack(out, arguments);
        else
            for (size_t tensor = 0; tensor < tensors; ++tensor) out.written.push_back(tensor == 0);
        return out;
    }

    const codegen::Target& target_;
    UOpSet unset_;  ///< buffers
    mutable std::map<uint64_t, CompiledLaunch> known_;
};

/// The largest values that depend on no input and are made of other memory.
std::vector<UOp> values_of_constants(std::span<const UOp> roots, std::span<const UOp> inputs) {
    enum Made : uint8_t { of_nothing, of_memory, of_inputs };
    UOpMap<Made> made;
    std::vector<UOp> values;
    UOpSet seen;
    const auto add = [&](UOp u) {
        while (info(u.op()).is(kMovement)) u = u.src(0);
        if (made.at(u) == of_memory && !u.is(Op::buffer) && seen.insert(u).second) values.push_back(u);
    };
    for (UOp root : roots) {
        const std::vector<UOp> order = toposort(root);
        for (UOp u : order) {
            Made& of = made.try_emplace(u, of_nothing).first->second;
            if (u.is(Op::buffer))
                of = codegen::is_number(u) || std::ranges::find(inputs, u) != inputs.end() ? of_inputs : of_memory;
            if (u.is(Op::custom)) of = of_inputs;
            for (UOp s : u.src()) of = std::max(of, made.at(s));
        }
        for (UOp u : order)
            if (made.at(u) == of_inputs && !u.is(Op::custom))
                for (UOp s : u.src()) add(s);
        add(root);
    }
    return values;
}

std::vector<int64_t> row_major(const Shape& shape) {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
    return strides;
}

/// All of memory that is read is an input.
executable::Interface whole_interface(const executable::Executable& exe, std::span<const UOp> roots) {
    executable::Interface out;
    for (size_t i = 0; i < exe.inputs; ++i)
        out.inputs.push_back({exe.names[i], exe.operands[i].dtype, {exe.operands[i].elements}, {1}});
    for (size_t i = 0; i < roots.size(); ++i)
        out.outputs.push_back(
            {fmt::format("out{}", i), roots[i].dtype(), roots[i].shape(), row_major(roots[i].shape()), true});
    return out;
}

}  // namespace

isa::Bytes Artifact::code_object() const { return one_object(kernels, target).value(); }

codegen::Target target_named(const std::string& arch) {
    const codegen::Chip chip = arch.empty() ? device().arch() : codegen::Chip::parse(arch).value();
    return codegen::target_of(chip, codegen::route_in_force(chip));
}

executable::Sequence Artifact::sequence() const {
    if (executable.arch.empty())
        user_error(
            ErrorKind::Usage,
            "a kernel alone has no operands: compile a function that calls it, or give samples of its arguments");
    for (const executable::Code& kernel : kernels) (void)kernel.code_object();
    return executable::lay_out(executable, interface, packed);
}

std::vector<Root> add_constants(std::span<const UOp> roots, FunctionInputs& inputs) {
    const std::vector<UOp> values = values_of_constants(roots, inputs.buffers);
    std::vector<Root> kept = values.empty() ? std::vector<Root>() : realize(values);
    for (size_t i = 0; i < values.size(); ++i) inputs.in_memory[values[i]] = kept[i].get();
    UOpSet seen;
    for (UOp buffer : inputs.buffers) seen.insert(buffer);
    std::vector<UOp> stack(roots.rbegin(), roots.rend());
    while (!stack.empty()) {
        const UOp u = stack.back();
        stack.pop_back();
        if (!seen.insert(u).second) continue;
        if (const auto known = inputs.in_memory.find(u); known != inputs.in_memory.end()) {
            stack.push_back(known->second);
        } else if (!u.is(Op::buffer)) {
            stack.insert(stack.end(), u.src().rbegin(), u.src().rend());
        } else if (!codegen::is_number(u) && find_buffer(u)->allocated()) {
            inputs.interface.constants.push_back(fmt::format("constant{}", inputs.interface.constants.size()));
            inputs.buffers.push_back(u);
        }
    }
    return kept;
}

bool Artifact::from_cache() const { return std::ranges::all_of(kernels, &executable::Code::cached); }

Artifact compile(const CustomKernel& custom, const codegen::Target& target) {
    executable::Code compiled = compile_custom(custom, target).value();
    (void)compiled.info();  // its entry is there
    return {{std::move(compiled)}, target, {}, {}, custom.graph};
}

Artifact compile(std::span<const UOp> roots, const codegen::Target& target, const FunctionInputs* inputs) {
    GraphScope scope;
    const Device* here = searched_on(target);
    const Compiled users(target, roots, inputs ? inputs->buffers : std::span<const UOp>());
    codegen::GraphOptions options{.fusion = usual_fusion(),
                                  .copy_by_kernels = true,
                                  .distinct_names = true,
                                  .names = true,
                                  .user_kernels = &users};
    if (inputs) {
        options.inputs = inputs->buffers, options.numbers = inputs->numbers;
        options.in_memory = [inputs](UOp u) {
            const auto found = inputs->in_memory.find(u);
            return found == inputs->in_memory.end() ? UOp() : found->second;
        };
    }
    options.schedule = [&](const codegen::KernelStart& start) {
        return here ? known_schedule(*here, start.kernel) : unsearched(start.kernel, target);
    };
    options.code = [&](std::span<const codegen::Scheduled> kernels) {
        return codegen::compile_codes(kernels, target, codegen::Text::yes, true);
    };
    const codegen::CompiledGraph graph = codegen::compile_graph(roots, target, options);
    Artifact out{{}, target, graph.executable};
    for (const executable::Step& step : out.executable.steps)
        out.kernels.push_back(*out.executable.kernels[step.kernel].code);
    out.packed = users.packed(out.executable);
    if (!inputs) {
        out.interface = whole_interface(out.executable, roots);
        return out;
    }
    if (graph.executable.inputs > inputs->buffers.size())
        user_error(ErrorKind::Usage,
                   "the function reads memory that nothing was put in: give Tensor.zeros or other values in place of "
                   "Tensor.empty");
    out.interface = inputs->interface;
    std::vector<std::string>& names = out.executable.names;
    const size_t given = out.interface.inputs.size();
    for (size_t i = 0; i < inputs->buffers.size(); ++i)
        names[i] = i < given ? out.interface.inputs[i].name : out.interface.constants[i - given];
    for (size_t i = 0; i < roots.size(); ++i)
        if (std::string& name = names[out.executable.results[i]]; out.executable.results[i] >= inputs->buffers.size())
            name = name.starts_with("out") ? out.interface.outputs[i].name : name;
    return out;
}

executable::Executable outline(std::span<const UOp> roots, bool copy_by_kernels) {
    GraphScope scope;
    const Named users;
    codegen::GraphOptions options{
        .fusion = usual_fusion(), .copy_by_kernels = copy_by_kernels, .provenance = true, .user_kernels = &users};
    options.schedule = [](const codegen::KernelStart& start) { return codegen::Scheduled{start.kernel, {}}; };
    return codegen::compile_graph(roots, target_of(device()), options).executable;
}

}  // namespace strata::runtime
