// Launch plans on disk: what a process makes of a signature, with the machine code, is what another reads.
#include "strata/executable/bytes.h"
#include "strata/executable/file.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/launch_plan.h"

namespace strata::runtime {

using executable::kNone, executable::Reader, executable::Writer;

namespace {

void write(Writer& w, const Arg& arg) {
    if (const auto* shape = std::get_if<ShapeArg>(&arg))
        return w.list(shape->shape, [&](int64_t n) { w.number(static_cast<uint64_t>(n)); });
    if (const auto* axes = std::get_if<AxesArg>(&arg))
        return w.list(axes->axes, [&](int axis) { w.number(static_cast<uint64_t>(axis)); });
    w.list(std::get<BoundsArg>(arg).bounds, [&](const std::pair<int64_t, int64_t>& bound) {
        w.number(static_cast<uint64_t>(bound.first)), w.number(static_cast<uint64_t>(bound.second));
    });
}

Arg read_movement(Reader& r, Op op) {
    const size_t kind = info(op).argument;
    if (kind == Arg(ShapeArg{}).index()) {
        ShapeArg arg;
        r.list([&] { arg.shape.push_back(static_cast<int64_t>(r.number())); });
        return arg;
    }
    if (kind == Arg(AxesArg{}).index()) {
        AxesArg arg;
        r.list([&] { arg.axes.push_back(static_cast<int>(r.number())); });
        return arg;
    }
    BoundsArg arg;
    r.list([&] {
        const auto first = static_cast<int64_t>(r.number());
        arg.bounds.emplace_back(first, static_cast<int64_t>(r.number()));
    });
    return arg;
}

/// The one that is loaded already, where another plan has it.
std::pair<UOp, std::shared_ptr<Program>> loaded(Device& device, executable::Code code) {
    const isa::Bytes& image = code.code_object();
    const std::string_view bytes(reinterpret_cast<const char*>(image.data()), image.size());
    const auto number = static_cast<int64_t>(std::hash<std::string_view>{}(bytes));
    const UOp key = make(Op::constant, dtypes::int64, {}, ConstArg{number, 0});
    std::shared_ptr<Program> known = context().programs.find(key, device);
    if (known && known->code.code_object() == image && known->code.grid == code.grid &&
        known->code.block == code.block && known->code.places == code.places)
        return {key, known};
    code.cached = true, code.route = "disk cache";
    std::shared_ptr<Program> program = Program::load(device, std::move(code));
    context().programs.add(key, device, program, known);
    return {key, program};
}

bool serves(const executable::Executable& exe, const LaunchPlan::Extent& extent) {
    if (exe.inputs != extent.inputs || exe.numbers != extent.numbers) return false;
    for (const executable::Kernel& kernel : exe.kernels)
        if (!kernel.code) return false;
    return std::ranges::all_of(exe.steps, [&](const executable::Step& step) {
        return step.call == kNone ||
               (step.call < extent.calls.size() && step.operands.size() == extent.calls[step.call]);
    });
}

}  // namespace

std::string LaunchPlan::to_bytes(const Loaded& programs) const {
    executable::Executable with_code = executable_;
    for (size_t i = 0; i < programs.size(); ++i) with_code.kernels[i].code = {programs[i], &programs[i]->code};
    Writer w;
    w.text(executable::to_bytes(with_code));
    const auto write_view = [&](const View& view) {
        w.number(view.operand);
        w.list(view.movements, [&](const Movement& m) { w.number(static_cast<uint64_t>(m.op)), write(w, m.arg); });
    };
    w.list(roots_, write_view);
    w.list(held_, [&](const std::vector<View>& held) { w.list(held, write_view); });
    return std::move(w.bytes);
}

std::shared_ptr<const LaunchPlan> LaunchPlan::of_bytes(std::string_view bytes, Device& device, const Extent& extent,
                                                       Loaded& programs) {
    Reader r(bytes);
    std::optional<executable::Executable> exe = executable::of_bytes(r.text());
    if (!exe || !serves(*exe, extent)) return nullptr;
    std::shared_ptr<LaunchPlan> plan(new LaunchPlan);
    const auto read_view = [&] {
        View view{r.word(), {}};
        r.list([&] {
            const Op op = static_cast<Op>(r.below(kOpCount));
            r.check(info(op).is(kMovement));
            view.movements.push_back({op, read_movement(r, op)});
        });
        r.check(view.operand == kNone || (view.operand < exe->operands.size() &&
                                          exe->operands[view.operand].role != executable::Role::workspace));
        return view;
    };
    r.list([&] {
        plan->roots_.push_back(read_view());
        r.check(plan->roots_.back().operand != kNone);
    });
    r.list([&] {
        std::vector<View>& held = plan->held_.emplace_back();
        r.list([&] { held.push_back(read_view()); });
    });
    if (!r.done() || plan->held_.size() != exe->steps.size()) return nullptr;
    for (size_t s = 0; s < exe->steps.size(); ++s)
        if (!plan->held_[s].empty() && plan->held_[s].size() != exe->steps[s].operands.size()) return nullptr;
    for (executable::Kernel& kernel : exe->kernels) {
        auto [key, program] = loaded(device, *std::exchange(kernel.code, nullptr));
        plan->kernels_.push_back({key, program});
        programs.push_back(std::move(program));
    }
    plan->executable_ = *std::move(exe);
    plan->look_for_donors();
    return plan;
}

}  // namespace strata::runtime
