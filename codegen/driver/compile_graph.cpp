// compile_graph: tensor graphs -> schedule -> kernels -> their schedules -> code and memory.
#include "strata/codegen/driver/compile_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "strata/codegen/kernel/scalar_parameters.h"
#include "strata/codegen/schedule/named_storage.h"
#include "strata/core/support/parallel.h"
#include "strata/executable/memory.h"

namespace strata::codegen {
namespace {

using executable::Executable, executable::kNone, executable::Role;

/// Answers the scheduler's questions by the options.
class GraphStorage final : public Storage {
  public:
    GraphStorage(const GraphOptions& options, const Target& target)
        : options_(options), chip_(target.arch), has_product_chains_(!target.matrix.empty()) {}
    UOp new_buffer(DType dtype, int64_t size) override {
        const UOp buffer = options_.new_buffer ? options_.new_buffer(dtype, size) : names_.new_buffer(dtype, size);
        made_.emplace(buffer, true);
        return buffer;
    }
    UOp find(UOp node) override { return options_.in_memory ? options_.in_memory(node) : UOp(); }
    std::vector<bool> written(UOp custom) override { return users().written(custom); }
    std::vector<size_t> tensors(UOp custom) override { return users().tensors(custom); }
    bool serves_other_sizes() override { return options_.any_sizes; }
    bool has_product_chains() override { return has_product_chains_; }
    Chip chip() override { return chip_; }
    bool is_alone(UOp view) override { return users().is_alone(view); }
    bool is_unset(UOp view) override { return users().is_unset(view); }
    bool is_dropped(UOp pick) override { return users().is_dropped(pick); }

    bool made(UOp buffer) const { return made_.contains(buffer); }
    const UserKernels& users() const {
        STRATA_CHECK(options_.user_kernels, "a graph with users' kernels is compiled without them");
        return *options_.user_kernels;
    }

  private:
    const GraphOptions& options_;
    const Chip chip_;
    const bool has_product_chains_;
    NamedStorage names_;
    UOpMap<bool> made_;
};

/// Names by which the kernels of one object differ: equal kernels have one.
class Names {
  public:
    std::string of(const Kernel& kernel) {
        std::string name = kernel.name;
        for (int i = 2; known_.try_emplace(name, kernel.sink).first->second != kernel.sink; ++i)
            name = fmt::format("{}_n{}", kernel.name, i);
        return name;
    }

  private:
    std::map<std::string, UOp, std::less<>> known_;
};

/// A step and what it computes besides, each with its reason.
template <class Visit>
void for_each_part(const ScheduleItem& item, const Visit& visit) {
    visit(item);
    for (const ScheduleItem& other : item.beside) for_each_part(other, visit);
    for (const ScheduleItem& last : item.finish) for_each_part(last, visit);
}

std::vector<std::pair<std::string, int>> operations_of(const ScheduleItem& item) {
    std::map<std::string, int, std::less<>> counts;
    for (UOp u : in_order(item.bodies())) {
        if (u.is(Op::reduce) || u.is(Op::scan))
            ++counts[fmt::format("{} {}", info(u.op()).name, info(u.as<ReduceArg>().op).name)];
        else if (!u.is(Op::buffer) && !info(u.op()).is(kMovement) && !u.is(Op::constant))
            ++counts[std::string(info(u.op()).name)];
    }
    return {counts.begin(), counts.end()};
}

uint64_t bytes_of(UOp buffer) {
    return static_cast<uint64_t>(buffer.as<BufferArg>().size) * static_cast<uint64_t>(buffer.dtype().bytes());
}

executable::Provenance provenance_of(const ScheduleItem& item) {
    executable::Provenance step{.operations = operations_of(item), .why = std::string(to_string(item.why))};
    for (const ScheduleItem& finish : item.finish)
        step.why += fmt::format("; its last block computes the next step, which is small: {}", to_string(finish.why));
    for (UOp output : item.outputs()) step.written += bytes_of(output);
    for (UOp u : in_order(item.bodies()))
        if (u.is(Op::buffer)) step.read += bytes_of(u);
    for (UOp body : item.bodies())
        step.result += fmt::format("{}{} {}", step.result.empty() ? "" : " and ", body.dtype().name(),
                                   strata::to_string(body.shape()));
    return step;
}

class GraphCompiler {
  public:
    GraphCompiler(const Target& target, const GraphOptions& options)
        : target_(target), options_(options), storage_(options, target) {}

    CompiledGraph run(std::span<const UOp> roots) {
        const Schedule schedule = make_schedule(roots, storage_, options_.fusion);
        exe().arch = target_.arch.name();
        exe().numbers = options_.numbers.size();
        std::vector<std::vector<UOp>> buffers;
        for (const ScheduleItem& item : schedule.items) buffers.push_back(start(item));
        number_operands(buffers, schedule.roots);
        if (options_.names) name_operands();
        if (options_.provenance) add_provenance(schedule);
        executable::place_memory(exe());
        if (options_.verify) executable::verify_memory(exe());
        const size_t batch = options_.made ? 1 : exe().steps.size();
        for (size_t from = 0; from < exe().steps.size(); from += batch) {
            finish_kernels(from, from + batch);
            if (options_.made) options_.made(out_, from);
        }
        return std::move(out_);
    }

  private:
    Executable& exe() { return out_.executable; }

    /// Adds the step of an item; gives its buffers by slot.
    std::vector<UOp> start(const ScheduleItem& item) {
        exe().steps.emplace_back();
        out_.kept.emplace_back();
        if (item.body.is(Op::custom)) return start_custom(item.body);
        const UOp copied = item.beside.empty() && !options_.copy_by_kernels ? whole_buffer(item.body) : UOp();
        if (copied) return {item.output, copied};
        SharedKernels::Use use = shared_.start(item);
        start_kernel(use);
        return std::move(use.buffers);
    }

    std::vector<UOp> start_custom(UOp custom) {
        UserKernel user = storage_.users().kernel(custom);
        executable::Step& step = exe().steps.back();
        if (step.call = user.call; step.call == kNone) step.kernel = add_kernel(std::move(user.kernel), {});
        out_.kept.back() = std::move(user.kept);
        std::vector<UOp> buffers;
        for (UOp view : custom.src()) buffers.push_back(buffer_under(view));
        return buffers;
    }

    uint32_t add_kernel(executable::Kernel kernel, Scheduled scheduled) {
        exe().kernels.push_back(std::move(kernel));
        out_.kernels.push_back(std::move(scheduled));
        return static_cast<uint32_t>(out_.kernels.size()) - 1;
    }

    void start_kernel(SharedKernels::Use& use) {
        executable::Step& step = exe().steps.back();
        UOp sink = shared_.all()[use.kernel].sink;
        for (int place : take_number_tensors(sink, use.buffers))
            step.numbers.push_back({place, options_.numbers[static_cast<size_t>(place)]});
        if (use.first) {
            Shared& shared = known_.emplace_back(Shared{.in_place = in_place(sink)});
            std::string name = shared_.all()[use.kernel].name;
            if (options_.take_values) {
                TakenValues taken = options_.take_values(sink, use.buffers.size() + step.numbers.size());
                if (taken.renamed) name = kernel_name(sink);
                shared.numbers = std::move(taken.numbers);
            }
            shared.kernel = add_kernel({name}, {{sink, name}, {}});
        }
        const Shared& shared = known_[use.kernel];
        step.kernel = shared.kernel;
        step.in_place = shared.in_place;
        step.numbers.insert(step.numbers.end(), shared.numbers.begin(), shared.numbers.end());
    }

    /// Inputs first, then what steps fill, in the order in which they first name it.
    void number_operands(std::span<const std::vector<UOp>> buffers, std::span<const UOp> roots) {
        UOpMap<uint32_t> numbers;
        const auto add = [&](UOp buffer) {
            if (!numbers.try_emplace(buffer, static_cast<uint32_t>(numbers.size())).second) return;
            exe().operands.push_back({.dtype = buffer.dtype(), .elements = buffer.as<BufferArg>().size});
            out_.operands.push_back(buffer);
        };
        const auto add_all = [&](bool made) {
            for (const std::vector<UOp>& of_step : buffers)
                for (UOp buffer : of_step)
                    if (storage_.made(buffer) == made) add(buffer);
            for (UOp root : roots)
                if (const UOp buffer = buffer_under(root); storage_.made(buffer) == made) add(buffer);
        };
        for (UOp input : options_.inputs) add(input);
        add_all(false);
        exe().inputs = out_.operands.size();
        for (executable::Operand& input : exe().operands) input.role = Role::input;
        for (size_t i = 0; i < options_.donated.size(); ++i) exe().operands[i].donated = options_.donated[i];
        add_all(true);
        for (size_t s = 0; s < buffers.size(); ++s)
            for (UOp buffer : buffers[s]) {
                const uint32_t at = exe().steps[s].operands.emplace_back(numbers.at(buffer));
                exe().steps[s].bytes += exe().operands[at].bytes();
            }
        out_.roots.assign(roots.begin(), roots.end());
        const auto keep = [&](UOp view) {
            const uint32_t at = numbers.at(buffer_under(view));
            if (at >= exe().inputs) exe().operands[at].role = Role::result;
            return at;
        };
        for (UOp root : roots) exe().results.push_back(keep(root));
        for (const std::vector<UOp>& kept : out_.kept)
            for (UOp view : kept)
                if (view) keep(view);
    }

    /// An operand of several results has the name of the first.
    void name_operands() {
        exe().names.resize(exe().operands.size());
        for (size_t i = 0; i < exe().inputs; ++i) exe().names[i] = fmt::format("in{}", i);
        for (size_t i = 0; i < exe().results.size(); ++i)
            if (std::string& name = exe().names[exe().results[i]]; name.empty()) name = fmt::format("out{}", i);
        for (int between = 0; std::string & name : exe().names)
            if (name.empty()) name = fmt::format("work{}", between++);
    }

    void add_provenance(const Schedule& schedule) {
        exe().origins.resize(exe().operands.size());
        UOpMap<uint32_t> numbers;
        for (size_t i = 0; i < out_.operands.size(); ++i) {
            const executable::Operand& operand = exe().operands[i];
            numbers[out_.operands[i]] = static_cast<uint32_t>(i);
            exe().origins[i].value =
                fmt::format("{} {}", operand.dtype.name(), strata::to_string(Shape{operand.elements}));
        }
        for (const ScheduleItem& item : schedule.items) {
            exe().provenance.push_back(provenance_of(item));
            if (item.body.is(Op::custom)) continue;
            for_each_part(item, [&](const ScheduleItem& part) {
                exe().origins[numbers.at(part.output)] = {
                    fmt::format("{} {}", part.body.dtype().name(), strata::to_string(part.body.shape())),
                    std::string(to_string(part.why))};
            });
        }
    }

    /// Schedules and code of the kernels that these steps are the first to run.
    void finish_kernels(size_t from, size_t to) {
        std::vector<std::pair<uint32_t, size_t>> starts;  // kernel, step
        for (size_t s = from; s < to; ++s) {
            const uint32_t kernel = exe().steps[s].kernel;
            if (kernel == kNone || !out_.kernels[kernel].kernel.sink || kernel < finished_) continue;
            starts.emplace_back(kernel, s);
            finished_ = kernel + 1;
        }
        const auto choose = [&](size_t i) {
            const GraphScope scope;
            choose_schedule(out_.kernels[starts[i].first], starts[i].second);
        };
        if (options_.made)
            for (size_t i = 0; i < starts.size(); ++i) choose(i);
        else
            parallel_for(starts.size(), choose);
        std::vector<Scheduled> scheduled;
        for (const auto& [kernel, step] : starts) {
            Scheduled& one = out_.kernels[kernel];
            if (options_.distinct_names) one.kernel.name = names_.of(one.kernel);
            exe().kernels[kernel].name = one.kernel.name;
            scheduled.push_back(one);
        }
        if (!options_.code || starts.empty()) return;
        std::vector<SharedCode> codes = options_.code(scheduled);
        for (size_t i = 0; i < starts.size(); ++i) exe().kernels[starts[i].first].code = std::move(codes[i]);
    }

    void choose_schedule(Scheduled& kernel, size_t at) {
        const executable::Step& step = exe().steps[at];
        const std::vector<UOp> buffers = options_.schedule ? out_.buffers(at) : std::vector<UOp>();
        kernel = options_.schedule ? options_.schedule({kernel.kernel, buffers, step.numbers})
                                   : heuristic(kernel.kernel, target_);
        if (!options_.verify) return;
        std::vector<uint64_t> slots(step.operands.size());  // addresses do not matter
        for (const executable::Number& number : step.numbers) slots.push_back(number.bits);
        verify_in_place(kernel, target_, step.in_place, slots).value();
    }

    /// The part that steps of one shared kernel have in common.
    struct Shared {
        uint32_t kernel = 0;
        std::vector<executable::Number> numbers = {};
        std::vector<executable::InPlace> in_place = {};
    };

    const Target& target_;
    const GraphOptions& options_;
    GraphStorage storage_;
    SharedKernels shared_;
    std::vector<Shared> known_;  ///< by kernel of shared_
    Names names_;
    uint32_t finished_ = 0;  ///< kernels below have their schedules
    CompiledGraph out_;
};

}  // namespace

std::vector<UOp> CompiledGraph::buffers(size_t step) const {
    std::vector<UOp> out;
    for (uint32_t at : executable.steps[step].operands) out.push_back(operands[at]);
    return out;
}

CompiledGraph compile_graph(std::span<const UOp> roots, const Target& target, const GraphOptions& options) {
    return GraphCompiler(target, options).run(roots);
}

std::vector<SharedCode> compile_codes(std::span<const Scheduled> kernels, const Target& target, Text text,
                                      bool or_text) {
    std::vector<Result<executable::Code>> compiled = compile_kernels(kernels, target, text);
    std::vector<SharedCode> codes;
    for (size_t i = 0; i < kernels.size(); ++i) {
        Result<executable::Code>& code = compiled[i];
        if (!code && or_text && target.route == Route::hip && code.error().kind == ErrorKind::Device)
            code = render_alone(kernels[i], target, std::move(code.error()));
        codes.push_back(std::make_shared<const executable::Code>(std::move(code).value()));
    }
    return codes;
}

std::vector<std::vector<Stage>> stages_of(std::span<const UOp> roots, const Target& target,
                                          const GraphOptions& options) {
    GraphStorage storage(options, target);
    std::vector<std::vector<Stage>> out(1);
    for (UOp root : roots) out[0].push_back({"tensor", tree(root)});
    for (const ScheduleItem& item : make_schedule(roots, storage, options.fusion).items)
        if (!item.body.is(Op::custom)) out.push_back(stages_of(item, target).value());
    return out;
}

}  // namespace strata::codegen
