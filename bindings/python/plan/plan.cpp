// The module of strata.plan: operations by descriptor, selected, checked and run over memory of tensors.
#include "strata/plan/plan.h"

#include <algorithm>

#include "convert_p.h"
#include "front_end_p.h"
#include "plan/plan_p.h"
#include "strata/ops/custom.h"
#include "strata/plan/row.h"
#include "strata/plan/save.h"
#include "strata/plan/select.h"
#include "strata/runtime/replay.h"

namespace strata::python {
namespace {

using plan::Plan, plan::PlanError, plan::TensorView;

/// Memory of a tensor that an operand lies in: by bytes from its first on, and its shape and strides there.
struct GivenView {
    std::string name;
    Tensor* tensor;
    int64_t offset;
    std::optional<uint64_t> bytes;  ///< none: all from `offset` on
    Shape shape;
    std::optional<Shape> strides;  ///< none: row-major
};
using PyView = std::tuple<Tensor*, int64_t, std::optional<uint64_t>, Shape, std::optional<Shape>>;

/// Operands of a run, in the plan's order, with what keeps their memory.
struct Operands {
    std::vector<TensorView> views;
    std::vector<std::shared_ptr<runtime::Buffer>> held;  ///< by operand; null: it is empty
    std::vector<Shape> shapes, strides;                  ///< that the views are over
    std::vector<Tensor> made;                            ///< outputs that nobody gave
};

Shape row_major(const Shape& shape) {
    Shape strides(shape.size(), 1);
    for (size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * std::max<int64_t>(shape[axis], 1);
    return strides;
}

class Run {
  public:
    Run(const Plan& plan, runtime::Device& device, const std::vector<GivenView>& given)
        : plan_(plan), device_(device), given_(given) {}

    /// Outputs come first: a tensor that is an output and an input has one memory.
    Operands operands() {
        const std::vector<plan::Operand>& wanted = plan_.operands();
        for (const GivenView& view : given_)
            if (std::ranges::find(wanted, view.name, &plan::Operand::name) == wanted.end())
                plan::plan_error(plan::Status::argument, view.name, {}, "[plan] it has no operand '{}'", view.name);
        for (const plan::Operand& operand : wanted)
            for (const GivenView& view : given_)
                if (operand.output && view.name == operand.name && view.tensor->numel() > 0)
                    (void)ops::memory_of(*view.tensor, device_, true);
        for (const plan::Operand& operand : wanted) {
            const auto found = std::ranges::find(given_, operand.name, &GivenView::name);
            if (found != given_.end())
                add(*found);
            else if (operand.output)
                make(operand);
            else
                plan::plan_error(plan::Status::argument, operand.name, {wanted.size(), given_.size()},
                                 "[plan] the operand '{}' is missing", operand.name);
        }
        for (size_t i = 0; i < out_.views.size(); ++i)
            out_.views[i].shape = out_.shapes[i], out_.views[i].strides = out_.strides[i];
        return std::move(out_);
    }

  private:
    void add(const GivenView& given) {
        Tensor& t = *given.tensor;
        TensorView view{.dtype = t.dtype()};
        std::shared_ptr<runtime::Buffer> buffer;
        if (t.numel() > 0) {
            if (t.placement() && t.placement() != &device_)
                plan::plan_error(plan::Status::argument, given.name, {}, "[plan] '{}' is on {}, and the plan is for {}",
                                 given.name, t.placement()->name(), device_.name());
            buffer = ops::memory_of(t, device_, false);
            const uint64_t all = buffer->bytes(), from = static_cast<uint64_t>(given.offset);
            view.data = buffer->address() + from;
            view.bytes = std::min(given.bytes.value_or(all), all - std::min(all, from));
        }
        push(view, std::move(buffer), given.shape, given.strides.value_or(row_major(given.shape)));
    }
    /// In the order of its memory, and seen in its own.
    void make(const plan::Operand& operand) {
        std::vector<int> order(operand.shape.size()), back(order.size());
        for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
        std::ranges::sort(order, {}, [&](int axis) {
            const auto at = static_cast<size_t>(axis);
            return std::tuple(-operand.strides[at], -operand.shape[at], axis);
        });
        Shape in_memory;
        for (size_t i = 0; i < order.size(); ++i) {
            back[static_cast<size_t>(order[i])] = static_cast<int>(i);
            in_memory.push_back(operand.shape[static_cast<size_t>(order[i])]);
        }
        Tensor memory = Tensor::empty(in_memory, operand.dtype, device_.name());
        TensorView view{.dtype = operand.dtype};
        std::shared_ptr<runtime::Buffer> buffer;
        if (memory.numel() > 0) {
            buffer = ops::memory_of(memory, device_, false);
            view.data = buffer->address(), view.bytes = buffer->bytes();
        }
        push(view, std::move(buffer), operand.shape, operand.strides);
        out_.made.push_back(memory.permute(back));
    }
    void push(const TensorView& view, std::shared_ptr<runtime::Buffer> buffer, Shape shape, Shape strides) {
        out_.views.push_back(view), out_.held.push_back(std::move(buffer));
        out_.shapes.push_back(std::move(shape)), out_.strides.push_back(std::move(strides));
    }

    const Plan& plan_;
    runtime::Device& device_;
    const std::vector<GivenView>& given_;
    Operands out_;
};

/// A plan and its device, for Python.
struct PyPlan {
    std::shared_ptr<const Plan> plan;
    runtime::Device* device;
};

std::vector<GivenView> views_of(const std::map<std::string, PyView>& given) {
    std::vector<GivenView> out;
    for (const auto& [name, view] : given) {
        const auto& [tensor, offset, bytes, shape, strides] = view;
        out.push_back({name, tensor, offset, bytes, shape, strides});
    }
    return out;
}

void check(const PyPlan& p, const std::map<std::string, PyView>& given) {
    const std::vector<GivenView> views = views_of(given);
    computing([&] {
        GraphScope scope;
        p.plan->check(Run(*p.plan, *p.device, views).operands().views);
    });
}

/// The outputs that nobody gave, in the plan's order.
std::vector<Tensor> run(const PyPlan& p, const std::map<std::string, PyView>& given) {
    const std::vector<GivenView> views = views_of(given);
    return computing([&] {
        runtime::refuse_in_recording("a plan is run");
        GraphScope scope;
        const Operands operands = Run(*p.plan, *p.device, views).operands();
        p.plan->check(operands.views);
        for (size_t i = 0; i < operands.held.size(); ++i)
            if (operands.held[i]) operands.held[i]->order(p.plan->operands()[i].output);
        for (const Root& constant : p.plan->constants()) runtime::find_buffer(constant.get())->order(false);
        std::vector<providers::DevicePtr> data;
        for (const TensorView& view : operands.views) data.push_back(view.data);
        std::shared_ptr<runtime::Buffer> workspace;
        if (const uint64_t bytes = p.plan->workspace()) {
            workspace = std::make_shared<runtime::Buffer>(*p.device, dtypes::uint8, static_cast<int64_t>(bytes));
            (void)workspace->address();
            workspace->order(true);
        }
        p.plan->launch(workspace ? workspace->address() : 0, data);
        return operands.made;
    });
}

using PySpec = std::tuple<DType, Shape, std::optional<Shape>>;
using PyValue = std::variant<std::string, double, Shape>;
using PyPreference = std::tuple<std::string, bool, std::optional<uint64_t>, int>;

PyPlan selected(const std::string& operation, const std::map<std::string, PySpec>& tensors,
                const std::map<std::string, PyValue>& attributes, const PyPreference& preference,
                const std::string& device) {
    plan::Descriptor descriptor{operation};
    for (const auto& [name, spec] : tensors)
        descriptor.tensors.emplace(name, plan::Spec{std::get<0>(spec), std::get<1>(spec), std::get<2>(spec)});
    for (const auto& [name, value] : attributes)
        std::visit([&](const auto& of) { descriptor.attributes.emplace(name, of); }, value);
    const auto& [target, deterministic, max_workspace, beam] = preference;
    return computing([&] {
        runtime::Device& on = runtime::device(device);
        return PyPlan{plan::select(on, descriptor, {target, deterministic, max_workspace, beam}), &on};
    });
}

/// By operation: (category, name, inputs, outputs, attributes with defaults, whether plans do it).
py::list operations() {
    py::list out;
    for (const plan::Row& row : plan::rows()) {
        py::list inputs;
        py::dict attributes;
        for (const plan::OperandRow& operand : row.operands)
            inputs.append(operand.name + (operand.optional ? "?" : ""));
        for (const plan::AttributeRow& attribute : row.attributes)
            attributes[py::str(attribute.name)] = !attribute.initial ? py::object(py::none())
                                                  : attribute.is_single
                                                      ? py::cast(std::get<std::vector<int64_t>>(*attribute.initial)[0])
                                                      : py::cast(*attribute.initial);
        std::vector<std::string> types;
        for (DType type : all_dtypes())
            if (row.takes(type)) types.emplace_back(type.name());
        out.append(py::make_tuple(row.category, row.name, inputs, row.outputs, attributes, types, row.has_backward,
                                  row.function != nullptr));
    }
    return out;
}

}  // namespace

void bind_plan(py::module_& m) {
    py::class_<PyPlan>(m, "CompiledPlan", "What strata.plan.Plan is over.")
        .def_property_readonly(
            "operands",
            [](const PyPlan& p) {
                std::vector<std::tuple<std::string, DType, Shape, Shape, uint64_t, bool>> out;
                for (const plan::Operand& o : p.plan->operands())
                    out.emplace_back(o.name, o.dtype, o.shape, o.strides, o.alignment, o.output);
                return out;
            },
            "(name, dtype, shape, strides, alignment, whether it is an output), in order.")
        .def_property_readonly(
            "workspace", [](const PyPlan& p) { return p.plan->workspace(); }, "Bytes that a run needs besides.")
        .def_property_readonly(
            "launches", [](const PyPlan& p) { return p.plan->launches(); }, "Kernels that a run launches.")
        .def_property_readonly(
            "sku", [](const PyPlan& p) { return p.plan->sku(); }, "What decides its code, as JSON.")
        .def_property_readonly(
            "sku_hash", [](const PyPlan& p) { return p.plan->sku_hash(); }, "Of the sku; equal in all processes.")
        .def_property_readonly(
            "precision",
            [](const PyPlan& p) {
                const plan::Precision& of = p.plan->precision();
                return std::tuple(
                    of.math, of.accumulate, of.deterministic, of.bit_stable,
                    of.max_ulp == plan::Precision::kNotMeasured ? std::nullopt : std::optional(of.max_ulp));
            },
            "(math, accumulate, deterministic, bit_stable, max_ulp or None)")
        .def_property_readonly(
            "device", [](const PyPlan& p) { return p.device->name(); }, "The name of its device.")
        .def(
            "save",
            [](const PyPlan& p, const py::bytes& path) {
                const std::string name = path;
                computing([&] { plan::save(*p.plan, name); });
            },
            py::arg("path"), "Writes an artifact.")
        .def("check", &check, py::arg("views"), "Raises the first that is wrong of a run over these.")
        .def("run", &run, py::arg("views"), "Runs; gives the outputs that nobody gave.");
    bind_null_device(m);
    m.def("_time_plan", [](const PyPlan& p, int repeat) { return times_of(*p.plan, repeat); });
    m.def("_select_plan", &selected);
    m.def("_plan_operations", &operations);
}

}  // namespace strata::python
