// realize: tensor graph -> schedule -> kernels -> programs -> results in memory.
#include "strata/runtime/realize.h"

#include <fmt/format.h>

#include <algorithm>

#include "strata/codegen/compile/compile_kernel.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/kernel_call.h"
#include "strata/runtime/search.h"

namespace strata::runtime {
namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

class DeviceStorage : public codegen::Storage {
  public:
    explicit DeviceStorage(Device& device) : device_(device) {}
    UOp new_buffer(DType dtype, int64_t size) override {
        UOp buffer = runtime::new_buffer(device_, dtype, size);
        made_.emplace_back(buffer);
        return buffer;
    }
    UOp find(UOp node) override {
        return node.is(Op::pick) ? context().custom.view(node, device_) : context().results.find(node, device_);
    }
    /// What nobody says, as of assembly, is its output alone.
    std::vector<bool> written(UOp custom) override {
        const KernelCall call(device_, *find_custom(custom.as<CustomArg>().id), custom.src().size());
        std::vector<bool> out;
        for (size_t i = 0; i < custom.src().size(); ++i) out.push_back(call.writes(i).value_or(i == 0));
        return out;
    }
    bool is_alone(UOp view) override { return runtime::is_alone(view, 0, 1); }

  private:
    Device& device_;
    std::vector<Root> made_;
};

Device& device_of(std::span<const UOp> roots, Device* fallback) {
    for (UOp root : roots)
        for (UOp u : toposort(root))
            if (u.is(Op::buffer)) return device(u.as<BufferArg>().device);
    return fallback ? *fallback : device();
}

/// One step ready to run.
struct Step {
    std::vector<UOp> buffers;
    std::vector<uint64_t> numbers = {};     ///< the parameters after the buffers
    std::shared_ptr<Program> program = {};  ///< none: the second buffer is copied to the first
    UOp custom = {};                        ///< the node, when it is a user's kernel
    std::optional<KernelCall> call = {};    ///< of it
};

/// What the parameters of its kernel are.
std::vector<uint64_t> slots_of(const Step& step) {
    std::vector<uint64_t> slots = addresses(step.buffers);
    slots.insert(slots.end(), step.numbers.begin(), step.numbers.end());
    return slots;
}

void print_launch(const Stats::Launch& l, const Program& program) {
    int debug = settings().debug;
    if (debug >= 1)
        fmt::print(stderr, "{:<24} grid {}x{}x{} block {}x{}x{} {} {:.4f} ms, {:.1f} GB/s, wall {:.2f} ms\n", l.name,
                   l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2],
                   program.device().time_is_modelled() ? "modelled" : "measured", l.time_ms,
                   l.time_ms > 0 ? static_cast<double>(l.bytes) / l.time_ms * 1e-6 : 0, l.wall_ms);
    if (debug >= 4) fmt::print(stderr, "{}\n", program.code.text);
}

/// Runs `launched` over the buffers and counts it.
template <class Launch>
void run(const Program& program, const LaunchShape& shape, std::span<const UOp> buffers, Launch launched) {
    const codegen::Compiled& code = program.code;
    Stats::Launch launch{code.entry, shape.grid, shape.block, 0, 0, code.compile_ms, 0, code.flops};
    for (UOp b : buffers) launch.bytes += find_buffer(b)->bytes();
    auto start = Clock::now();
    Launched done = launched(buffers);
    launch.wall_ms = ms_since(start);
    launch.time_ms = done.time_ms;
    launch.report = std::move(done.report);
    print_launch(launch, program);
    context().counters.add(std::move(launch), program.device().time_is_modelled());
}

void run(Step& step) {
    if (step.call) {
        launch(*step.call, step.buffers);
        context().custom.remember(step.custom.as<CustomArg>().id, step.custom.src());
    } else if (step.program) {
        const codegen::Compiled& code = step.program->code;
        run(*step.program, {code.grid, code.block}, step.buffers,
            [&](std::span<const UOp>) { return step.program->launch(slots_of(step)); });
    } else {
        copy_memory(step.buffers[1], step.buffers[0]);
    }
}

/// Makes parameters of the numbers of a kernel that change from call to call; gives their values.
std::vector<uint64_t> take_changing_numbers(UOp& sink, size_t buffers) {
    const codegen::FreeNumbers numbers = codegen::free_numbers(sink);
    if (numbers.all.empty()) return {};
    const std::vector<codegen::FreeNumber> changing = context().numbers.changing(numbers);
    if (changing.empty()) return {};
    sink = codegen::with_parameters(sink, changing, static_cast<int>(buffers));
    std::vector<uint64_t> values;
    for (const codegen::FreeNumber& number : changing) values.push_back(number.bits);
    return values;
}

class Executor {
  public:
    explicit Executor(Device& device) : device_(device) {}

    void run_all(const codegen::Schedule& schedule) {
        // A search runs candidates on the inputs, so the steps before must have run; without one all kernels compile at
        // once.
        size_t batch = settings().beam ? 1 : schedule.items.size();
        for (size_t from = 0; from < schedule.items.size(); from += batch) {
            auto items = std::span(schedule.items).subspan(from, std::min(batch, schedule.items.size() - from));
            for (Step& step : prepare(items)) run(step);
        }
    }

  private:
    std::vector<Step> prepare(std::span<const codegen::ScheduleItem> items) {
        auto start = Clock::now();
        std::vector<Step> steps(items.size());
        std::vector<codegen::Scheduled> kernels;
        std::vector<size_t> which;
        for (size_t i = 0; i < items.size(); ++i) {
            if (items[i].body.is(Op::custom)) {
                steps[i] = custom_step(items[i].body);
                continue;
            }
            if (UOp copied = whole_buffer(items[i].body)) {
                steps[i].buffers = {items[i].output, copied};
                continue;
            }
            codegen::BoundKernel bound = codegen::start_kernel(items[i]);
            steps[i].buffers = bound.buffers;
            steps[i].numbers = take_changing_numbers(bound.kernel.sink, bound.buffers.size());
            kernels.push_back(scheduled(bound.kernel, steps[i]));
            which.push_back(i);
        }
        double schedule_ms = ms_since(start);
        start = Clock::now();
        std::vector<std::shared_ptr<Program>> made = programs(device_, kernels);
        for (size_t k = 0; k < which.size(); ++k) steps[which[k]].program = made[k];
        context().counters.add_times(schedule_ms, ms_since(start));
        return steps;
    }

    codegen::Scheduled scheduled(const codegen::Kernel& kernel, const Step& step) {
        return choose_schedule(device_, kernel, settings().beam ? slots_of(step) : std::vector<uint64_t>());
    }

    Step custom_step(UOp body) {
        std::vector<UOp> buffers;
        for (UOp s : body.src()) buffers.push_back(buffer_under(s));
        KernelCall call(device_, *find_custom(body.as<CustomArg>().id), buffers.size());
        return {.buffers = std::move(buffers), .custom = body, .call = std::move(call)};
    }

    Device& device_;
};

}  // namespace

std::vector<Root> realize(std::span<const UOp> roots, Device* fallback) {
    std::vector<Root> out;
    {
        GraphScope scope;
        Device& target = device_of(roots, fallback);
        DeviceStorage storage(target);
        auto start = Clock::now();
        codegen::Schedule schedule = codegen::make_schedule(roots, storage);
        context().counters.add_times(ms_since(start), 0);
        Executor(target).run_all(schedule);
        for (size_t i = 0; i < roots.size(); ++i) {
            out.emplace_back(schedule.roots[i]);
            if (schedule.roots[i] != roots[i]) context().results.remember(roots[i], schedule.roots[i]);
        }
    }
    return out;
}

void launch(KernelCall& call, std::span<const UOp> buffers) {
    run(*call.program(), call.shape(), buffers, [&](std::span<const UOp> b) { return call.launch(b); });
    context().results.forget_all();  // it may have changed memory that results were computed from
}

}  // namespace strata::runtime
