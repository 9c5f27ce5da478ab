// select: a descriptor -> checks, a graph, the executable that compile() makes, loaded on a device.
#include "strata/plan/select.h"

#include <algorithm>
#include <bit>

#include "strata/codegen/driver/route.h"
#include "strata/core/support/lru.h"
#include "strata/core/support/mutex.h"
#include "strata/core/support/settings.h"
#include "strata/core/uop/walk.h"
#include "strata/plan/describe_p.h"
#include "strata/plan/graph_p.h"

namespace strata::plan {
namespace {

/// Plans that were selected, by everything that decides them.
class Selected {
  public:
    std::shared_ptr<const Plan> find(const std::string& key) {
        const std::lock_guard lock(mutex_);
        const auto* found = all_.find(key);
        return found ? *found : nullptr;
    }
    /// Gives the one that counts: another thread may have been first.
    std::shared_ptr<const Plan> add(const std::string& key, std::shared_ptr<const Plan> plan, size_t bytes) {
        std::vector<std::shared_ptr<const Plan>> gone;
        const std::lock_guard lock(mutex_);
        if (const auto* found = all_.find(key)) return *found;
        gone = all_.put(key, plan, bytes, settings().plans_mb << 20);
        return plan;
    }

  private:
    Mutex mutex_;
    Lru<std::string, std::shared_ptr<const Plan>> all_;
};
Selected& selected() {
    static auto* process = new Selected;
    return *process;
}

class Key {
  public:
    void add(const std::string& value) { add(value.size()), text_ += value; }
    void add(uint64_t value) { text_.append(reinterpret_cast<const char*>(&value), sizeof value); }
    void add(const Shape& sizes) {
        add(sizes.size());
        for (int64_t size : sizes) add(static_cast<uint64_t>(size));
    }
    std::string text_;
};

std::string key_of(const runtime::Device& device, const Descriptor& d, const Preference& p) {
    Key key;
    key.add(device.name()), key.add(d.operation), key.add(d.tensors.size());
    for (const auto& [name, spec] : d.tensors) {
        key.add(name), key.add(static_cast<uint64_t>(spec.dtype.scalar)), key.add(spec.shape);
        key.add(spec.strides.has_value());
        if (spec.strides) key.add(*spec.strides);
    }
    key.add(d.attributes.size());
    for (const auto& [name, value] : d.attributes) {
        key.add(name), key.add(value.index());
        if (const auto* list = std::get_if<Shape>(&value)) key.add(*list);
        if (const auto* number = std::get_if<double>(&value)) key.add(std::bit_cast<uint64_t>(*number));
        if (const auto* text = std::get_if<std::string>(&value)) key.add(*text);
    }
    key.add(p.target), key.add(p.deterministic), key.add(p.max_workspace.value_or(~uint64_t{0})),
        key.add(static_cast<uint64_t>(p.beam));
    visit_settings(settings(), [&](const setting::Row& row, const auto& value) {
        if (row.keys == setting::Keys::none) return;
        using Value = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_integral_v<Value>)
            key.add(static_cast<uint64_t>(value));
        else if constexpr (std::is_floating_point_v<Value>)
            key.add(std::bit_cast<uint64_t>(value));
        else
            key.add(value);
    });
    key.add(settings().check_indices);
    return std::move(key.text_);
}

/// The settings of this thread with what is preferred.
Settings settings_of(const runtime::Device& device, const Preference& preference) {
    Settings out = settings();
    out.device = device.name();
    if (preference.beam > 0) out.beam = preference.beam;
    if (preference.target == "asm" || preference.target == "hip") out.target = preference.target;
    return out;
}

void check_preference(const runtime::Device& device, const Preference& preference) {
    const auto absent = [&](std::string_view why) {
        plan_error(Status::unsupported, "target", {}, "[plan] the target '{}' is not there: {}", preference.target,
                   why);
    };
    if (device.interprets())
        plan_error(Status::unsupported, "target", {}, "[plan] {} interprets graphs: no code runs there", device.name());
    if (preference.target.empty()) return;
    if (preference.target != "asm" && preference.target != "hip") absent("there are 'asm' and 'hip'");
    if (preference.target == "asm" && !device.arch().is_amd())
        absent(fmt::format("{} takes code through a compiler alone", device.name()));
    if (preference.target == "hip" && device.arch().is_amd())
        if (const auto found = codegen::hip_compiler(); !found) absent(found.error().message);
}

std::vector<Operand> operands_of(const Use& use, const std::vector<Tensor>& results) {
    std::vector<Operand> out;
    const auto add = [&](const std::string& name, DType dtype, const Shape& shape, const Shape& strides, bool output) {
        const Extent extent = extent_of(shape, strides);
        const auto size = static_cast<uint64_t>(dtype.bytes());
        out.push_back(
            {name, dtype, shape, strides, output, kAlignment, extent.lowest * dtype.bytes(), extent.elements * size});
    };
    for (const Use::Input& input : use.inputs)
        add(input.name, input.spec.dtype, input.spec.shape, input.spec.strides.value_or(row_major(input.spec.shape)),
            false);
    for (size_t i = 0; i < results.size(); ++i) {
        const auto given = use.given_outputs.find(use.outputs[i]);
        const Shape& shape = results[i].shape();
        add(use.outputs[i], results[i].dtype(), shape,
            given == use.given_outputs.end() ? row_major(shape) : given->second.strides.value_or(row_major(shape)),
            true);
    }
    return out;
}

/// INVALID where the descriptor says other outputs than there are.
void check_outputs(const Use& use, const std::vector<Tensor>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
        const auto given = use.given_outputs.find(use.outputs[i]);
        if (given == use.given_outputs.end()) continue;
        const Spec& spec = given->second;
        if (spec.dtype != results[i].dtype() || spec.shape != results[i].shape())
            plan_error(
                Status::invalid, given->first,
                {static_cast<uint64_t>(results[i].numel()), extent_of(spec.shape, row_major(spec.shape)).elements},
                "[plan] '{}' is {} {}, and '{}' gives {} {}", given->first, spec.dtype.name(), to_string(spec.shape),
                use.operation.name(), results[i].dtype().name(), to_string(results[i].shape()));
    }
}

void check_dense(const Use& use) {
    for (const auto& [name, spec] : use.given_outputs)
        if (spec.strides && (spec.strides->size() != spec.shape.size() || !dense_order(spec.shape, *spec.strides)))
            plan_error(Status::unsupported, name, {},
                       "[plan] strides {} of the output '{}' of shape {} do not reach each element once: give those of "
                       "a row-major tensor whose axes were permuted",
                       to_string(*spec.strides), name, to_string(spec.shape));
}

/// The graph, with what is wrong of it in the order of select().
Graph checked_graph(const Use& use, const Descriptor& descriptor, const runtime::Device& device) {
    check_shapes(use, descriptor);
    Graph graph;
    std::optional<Exception> type_error;
    if (can_be_built(use)) {
        try {
            graph = graph_of(use, descriptor, device);
            check_outputs(use, graph.results);
        } catch (const PlanError&) {
            throw;
        } catch (const Exception& e) {
            if (e.kind() == ErrorKind::Shape || e.kind() == ErrorKind::Usage)
                plan_error(Status::invalid, "", {}, "[plan] {}: {}", use.operation.name(), e.what());
            if (e.kind() != ErrorKind::DType && e.kind() != ErrorKind::Unsupported) throw PlanError(e);
            type_error = e;
        }
    }
    check_limits(use);
    check_dense(use);
    if (type_error) throw PlanError(*type_error);
    return graph;
}

/// The memory of an output, row by row.
UOp root_of(const Tensor& result, const Operand& operand) {
    const std::vector<int> order = *dense_order(operand.shape, operand.strides);
    return result.permute(order).contiguous().uop();
}

/// Outputs that may lie over an input of the same strides: those of which a single kernel reads an element before it
/// writes that.
std::vector<std::pair<size_t, size_t>> over(const executable::Executable& exe, const std::vector<Operand>& operands,
                                            size_t inputs) {
    std::vector<std::pair<size_t, size_t>> out;
    if (exe.steps.size() != 1) return out;
    const executable::Step& step = exe.steps[0];
    for (const executable::InPlace& pair : step.in_place) {
        const uint32_t input = step.operands[static_cast<size_t>(pair.input)];
        const auto result = std::ranges::find(exe.results, step.operands[static_cast<size_t>(pair.output)]);
        if (input >= inputs || result == exe.results.end()) continue;
        const size_t o = inputs + static_cast<size_t>(result - exe.results.begin());
        const Operand &a = operands[o], &b = operands[input];
        if (a.shape == b.shape && a.strides == b.strides && a.dtype.bytes() == b.dtype.bytes())
            out.emplace_back(o, input);
    }
    return out;
}

void compile(Plan::Parts& parts, const Use& use, const Graph& graph, runtime::Device& device,
             const codegen::Target& target) {
    runtime::FunctionInputs function;
    function.buffers = graph.buffers;
    std::vector<UOp> roots;
    for (const Operand& operand : parts.operands) {
        executable::TensorOperand described{operand.name,    operand.dtype,  operand.shape,
                                            operand.strides, operand.output, operand.alignment};
        if (operand.output) roots.push_back(root_of(graph.results[roots.size()], operand));
        (operand.output ? function.interface.outputs : function.interface.inputs).push_back(std::move(described));
    }
    const std::vector<Root> kept = runtime::add_constants(roots, function);
    auto compiled = std::make_shared<runtime::Artifact>(runtime::compile(roots, target, &function));
    std::vector<std::shared_ptr<runtime::Buffer>> constants;
    for (size_t i = use.inputs.size(); i < function.buffers.size(); ++i) {
        constants.push_back(runtime::find_buffer(function.buffers[i]));
        parts.constants.emplace_back(function.buffers[i]);
    }
    auto sequence = std::make_shared<const executable::Sequence>(compiled->sequence());
    parts.over = use.operation.row->is_elementwise() ? over(compiled->executable, parts.operands, use.inputs.size())
                                                     : decltype(parts.over)();
    parts.loaded = std::make_shared<const runtime::LoadedSequence>(device, std::move(sequence), std::move(constants));
    parts.compiled = std::move(compiled);
}

std::shared_ptr<const Plan> made(runtime::Device& device, const Descriptor& descriptor, const Preference& preference) {
    GraphScope scope;
    const Use use = use_of(descriptor);
    const Graph graph = checked_graph(use, descriptor, device);
    check_preference(device, preference);
    Plan::Parts parts{.operands = operands_of(use, graph.results)};
    parts.precision = precision_of(use, parts.operands);
    const codegen::Target target = runtime::target_of(device);
    const bool is_empty = std::ranges::all_of(
        parts.operands, [](const Operand& operand) { return !operand.output || operand.bytes == 0; });
    if (!is_empty) compile(parts, use, graph, device, target);
    parts.sku = sku_of(use, descriptor, parts, std::string(device.arch().name()), codegen::name(target.route));
    parts.sku_hash = hash_of(parts.sku);
    auto plan = std::make_shared<const Plan>(std::move(parts));
    if (preference.max_workspace && plan->workspace() > *preference.max_workspace)
        plan_error(Status::unsupported, "max_workspace", {plan->workspace(), *preference.max_workspace},
                   "[plan] it needs a workspace of {} bytes, and {} are allowed", plan->workspace(),
                   *preference.max_workspace);
    return plan;
}

size_t bytes_of(const Plan& plan) {
    size_t bytes = 4096 + plan.sku().size();
    if (plan.compiled()) {
        bytes += plan.compiled()->executable.host_bytes();
        for (const executable::Code& kernel : plan.compiled()->kernels)
            bytes += kernel.code_object().size() + kernel.text.size() + kernel.assembly.size();
    }
    return bytes;
}

}  // namespace

Selection find_or_compile(runtime::Device& device, const Descriptor& descriptor, const Preference& preference) {
    const std::string key = key_of(device, descriptor, preference);
    if (auto known = selected().find(key)) return {known};
    const ScopedSettings scope(settings_of(device, preference));
    Selection out;
    try {
        out.plan = made(device, descriptor, preference);
    } catch (const PlanError&) {
        throw;
    } catch (const Exception& e) {
        throw PlanError(e);
    }
    if (out.plan->compiled())
        out.compilations =
            static_cast<uint64_t>(std::ranges::count(out.plan->compiled()->kernels, false, &executable::Code::cached));
    out.plan = selected().add(key, out.plan, bytes_of(*out.plan));
    return out;
}

}  // namespace strata::plan
