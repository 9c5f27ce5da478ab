// realize: tensor graph -> schedule -> kernels -> programs -> results in memory.
#include "strata/runtime/realize.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>

#include "strata/codegen/driver/compile.h"
#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/kernel/scalar_parameters.h"
#include "strata/codegen/kernel/signature.h"
#include "strata/core/process/build_id.h"
#include "strata/core/support/disk_cache.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/kernel_call.h"
#include "strata/runtime/launch_plan.h"
#include "strata/runtime/realize/calls_p.h"
#include "strata/runtime/realize/numbers_p.h"
#include "strata/runtime/realize/turns_p.h"
#include "strata/runtime/replay.h"
#include "strata/runtime/run_program_p.h"
#include "strata/runtime/search/search.h"
#include "strata/runtime/search/tuning_session.h"

namespace strata::runtime {
namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// A view of memory that holds the value of a node on the device, or empty.
UOp in_memory(UOp node, Device& device) {
    return node.is(Op::pick) ? context().custom.view(node, device) : context().results.find(node, device);
}

/// Memory for a schedule that runs step by step.
class DeviceStorage : public codegen::Storage {
  public:
    /// `known`: views of what is in memory and of numbers that are parameters, all there are.
    DeviceStorage(Device& device, const UOpMap<UOp>& known, const Calls& calls)
        : device_(device), known_(known), calls_(calls) {}
    UOp new_buffer(DType dtype, int64_t size) override {
        UOp buffer = runtime::new_buffer(device_, dtype, size);
        made_.emplace_back(buffer);
        return buffer;
    }
    UOp find(UOp node) override {
        const auto found = known_.find(node);
        return found == known_.end() ? UOp() : found->second;
    }
    std::vector<bool> written(UOp custom) override { return calls_.written(custom); }
    std::vector<size_t> tensors(UOp custom) override { return calls_.tensors(custom); }
    bool is_alone(UOp view) override { return calls_.is_alone(view); }
    bool is_dropped(UOp pick) override { return calls_.is_dropped(pick); }
    bool is_unset(UOp view) override { return calls_.is_unset(view); }
    bool serves_other_sizes() override { return any_sizes(); }
    codegen::Chip chip() override { return device_.arch(); }

  private:
    Device& device_;
    const UOpMap<UOp>& known_;
    const Calls& calls_;
    std::vector<Root> made_;
};

/// The first buffer that is read; empty: there is none.
UOp first_buffer(std::span<const UOp> roots) {
    std::vector<UOp> stack(roots.rbegin(), roots.rend());
    UOpMap<bool> seen;
    while (!stack.empty()) {
        const UOp u = stack.back();
        stack.pop_back();
        if (u.is(Op::buffer)) return u;
        if (seen.try_emplace(u, true).second) stack.insert(stack.end(), u.src().rbegin(), u.src().rend());
    }
    return {};
}

Device& device_of(std::span<const UOp> roots, Device* fallback) {
    if (const UOp buffer = first_buffer(roots)) return device(buffer.as<BufferArg>().device);
    return fallback ? *fallback : device();
}

/// One step of a schedule as a plan holds it.
struct Step : PlannedStep {
    double ms = 0;  ///< of its kernel, where it was searched
};

/// Parameters of a launch by slot: the buffers' addresses, then the step's numbers.
std::vector<uint64_t> with_numbers(std::vector<uint64_t> addresses, const PlannedStep& step) {
    for (const LaunchNumber& number : step.numbers) addresses.push_back(number.bits);
    return addresses;
}

/// What the parameters of its kernel are.
std::vector<uint64_t> slots_of(const PlannedStep& step) {
    for (UOp buffer : step.buffers) find_buffer(buffer)->order(true);
    return with_numbers(addresses(step.buffers), step);
}

/// Checks the kernel's in-place outputs for this launch. Its buffers need no address for that.
void verify(const codegen::Scheduled& kernel, const codegen::Target& target, std::span<const executable::InPlace> pairs,
            const PlannedStep& step) {
    const auto slots = with_numbers(std::vector<uint64_t>(step.buffers.size()), step);
    codegen::verify_in_place(kernel, target, pairs, slots).value();
}

void run(Step& step, const Calls& calls) {
    std::vector<std::shared_ptr<Buffer>> memory;
    uint64_t bytes = 0;
    for (UOp buffer : step.buffers) memory.push_back(find_buffer(buffer)), bytes += memory.back()->bytes();
    if (step.call >= 0) {
        calls.planned()[static_cast<size_t>(step.call)].run(memory, {step.held.begin(), step.held.end()});
    } else if (step.program) {
        const executable::Code& code = step.program->code;
        if (Recorder* recorder = Recorder::active()) {
            const std::vector<uint64_t> slots = slots_of(step);
            recorder->launched(step.program, memory, std::span(slots).subspan(memory.size()));
        }
        run_program(*step.program, {code.grid, code.block}, bytes,
                    [&] { return step.program->launch(slots_of(step), wait_for(step.program->device())); });
    } else {
        copy_memory(*memory[1], *memory[0]);
    }
}

/// Fills a step's memory, and neither counts nor records that.
void try_out(Step& step) {
    if (step.program)
        step.program->launch(slots_of(step), Wait::yes);
    else
        copy_memory(*find_buffer(step.buffers[1]), *find_buffer(step.buffers[0]));
}

/// The kernels of a schedule, whatever their memory is.
std::vector<UOp> kernels_of(const codegen::Schedule& made) {
    codegen::SharedKernels kernels;
    std::vector<UOp> sinks;
    for (const codegen::ScheduleItem& item : made.items) {
        const bool is_copy = item.beside.empty() && whole_buffer(item.body);
        sinks.push_back(is_copy ? UOp() : kernels.all()[kernels.start(item).kernel].sink);
    }
    return sinks;
}

/// Makes steps of the items of one schedule.
class Preparer {
  public:
    /// `numbers`: those of the structure, by place.
    Preparer(Device& device, std::span<const uint64_t> numbers, const Calls& calls)
        : device_(device), numbers_(numbers), calls_(calls) {}

    std::vector<Step> prepare(std::span<const codegen::ScheduleItem> items) {
        const auto start = Clock::now();
        std::vector<Step> steps(items.size());
        std::vector<size_t> kernel_of(items.size(), kNone);
        for (size_t i = 0; i < items.size(); ++i) {
            if (items[i].body.is(Op::custom))
                steps[i] = {calls_.step(items[i].body)};
            else if (UOp copied = items[i].beside.empty() ? whole_buffer(items[i].body) : UOp())
                steps[i].buffers = {items[i].output, copied};
            else
                kernel_of[i] = kernel_step(items[i], steps[i]);
        }
        const double schedule_ms = ms_since(start);
        const auto compiling = Clock::now();
        for (std::shared_ptr<Program>& program : programs(device_, std::span(scheduled_).subspan(programs_.size())))
            programs_.push_back(std::move(program));
        for (size_t i = 0; i < items.size(); ++i)
            if (kernel_of[i] != kNone) {
                steps[i].program = programs_[kernel_of[i]];
                steps[i].program_key = scheduled_[kernel_of[i]].kernel.sink;
            }
        context().counters.add_times(schedule_ms, ms_since(compiling));
        return steps;
    }

  private:
    static constexpr size_t kNone = ~size_t{0};

    size_t kernel_step(const codegen::ScheduleItem& item, Step& step) {
        codegen::SharedKernels::Use use = kernels_.start(item);
        UOp sink = kernels_.all()[use.kernel].sink;
        step.buffers = std::move(use.buffers);
        for (int place : codegen::take_number_tensors(sink, step.buffers))
            step.numbers.push_back({place, numbers_[static_cast<size_t>(place)]});
        if (use.first) {
            in_place_.push_back(codegen::in_place(sink));
            const size_t first_slot = step.buffers.size() + step.numbers.size();
            ChangingValues values = take_changing_values(sink, first_slot);
            const std::string name = values.sizes ? codegen::kernel_name(sink) : kernels_.all()[use.kernel].name;
            changing_.push_back(std::move(values.numbers));
            step.numbers.insert(step.numbers.end(), changing_.back().begin(), changing_.back().end());
            const codegen::Kernel kernel{sink, name};
            scheduled_.push_back(
                choose_schedule(device_, kernel, settings().beam ? slots_of(step) : std::vector<uint64_t>()));
            if (settings().verify) verify(scheduled_.back(), target_of(device_), in_place_.back(), step);
            const auto winner = settings().beam ? find_winner(search_key(device_, kernel)) : std::optional<Winner>();
            ms_.push_back(winner ? winner->best_ms : 0);
        } else {
            const std::vector<LaunchNumber>& changing = changing_[use.kernel];
            step.numbers.insert(step.numbers.end(), changing.begin(), changing.end());
        }
        step.in_place = in_place_[use.kernel];
        step.ms = ms_[use.kernel];
        return use.kernel;
    }

    Device& device_;
    std::span<const uint64_t> numbers_;
    const Calls& calls_;
    codegen::SharedKernels kernels_;
    // By kernel:
    std::vector<std::vector<LaunchNumber>> changing_;
    std::vector<std::vector<executable::InPlace>> in_place_;
    std::vector<codegen::Scheduled> scheduled_;
    std::vector<double> ms_;
    std::vector<std::shared_ptr<Program>> programs_;
};

/// Everything but the structure that decides how it is computed.
std::string settings_key(const Device& device) {
    const Settings& s = settings();
    std::string key;
    const auto add = [&](const auto& value) { fmt::format_to(std::back_inserter(key), "{} ", value); };
    add(device.index()), add(static_cast<int>(target_of(device).route)), add(s.profiler != nullptr);
    visit_settings(s, [&](const setting::Row& row, const auto& value) {
        if (row.keys == setting::Keys::plan || (row.keys == setting::Keys::search && s.beam)) add(value);
    });
    s.beam ? (add(winners_generation()), add(TuningSession::number())) : add(any_sizes());
    return key + "\n";
}

/// Graphs on one device, and what is known of their structure.
class Realization {
  public:
    Realization(std::span<const UOp> roots, Device& device)
        : roots_(roots), device_(device), structure_(codegen::signature_of(roots_, [&](UOp u) {
              UOp view = in_memory(u, device_);
              if (view) known_.emplace(u, view);
              return view;
          })) {}

    /// Users' kernels that are to run.
    std::span<const UOp> calls() const { return structure_.calls; }

    std::vector<Root> run() {
        calls_.emplace(device_, structure_.calls, roots_, known_);
        structure_.form += calls_->form();
        for (UOp number : structure_.numbers) numbers_.push_back(codegen::parameter_bits(number));
        if (settings().beam) graph_ = content_hash("graph\n" + structure_.form);
        structure_.form.insert(0, settings_key(device_));
        LaunchPlans::Known known = context().plans.find(structure_.form, numbers_);
        std::optional<LaunchPlan::Loaded> programs;
        if (known.plan) programs = known.plan->programs(device_);
        if (!programs) known.plan = find_on_disk(known.parameters, programs.emplace());
        if (known.plan) {
            context().counters.add_times(ms_since(start_), 0);
        } else if (settings().beam) {
            return run_step_by_step(known.parameters);
        } else {
            known.plan = make_plan(known.parameters, *programs);
        }
        return known.plan->run(device_, *programs, structure_.buffers, numbers_, calls_->planned());
    }

  private:
    using Plan = std::shared_ptr<const LaunchPlan>;
    static bool is_recorded() { return settings().beam && TuningSession::number(); }
    static constexpr size_t kOnDisk = 4;  ///< steps: of fewer the objects of kernels are found as fast

    /// What the structure was made of, and no more: other threads go on.
    DeviceStorage storage(const std::vector<bool>& changing) {
        for (size_t i = 0; i < changing.size(); ++i)
            if (changing[i])
                known_.emplace(structure_.numbers[i],
                               codegen::number_tensor(static_cast<int>(i), structure_.numbers[i].dtype()));
        return DeviceStorage(device_, known_, *calls_);
    }

    codegen::Schedule schedule(DeviceStorage& storage, codegen::Fusion fusion = usual_fusion()) const {
        codegen::Schedule made = codegen::make_schedule(roots_, storage, fusion);
        context().counters.add_times(ms_since(start_), 0);
        return made;
    }

    Plan make_plan(const std::vector<bool>& changing, LaunchPlan::Loaded& programs) {
        DeviceStorage memory = storage(changing);
        const codegen::Schedule made = schedule(memory);
        const std::vector<Step> steps = Preparer(device_, numbers_, *calls_).prepare(made.items);
        return keep({steps.begin(), steps.end()}, made.roots, changing, programs);
    }

    Plan keep(const std::vector<PlannedStep>& steps, std::span<const UOp> roots, const std::vector<bool>& changing,
              LaunchPlan::Loaded& programs) {
        const Plan plan = std::make_shared<LaunchPlan>(steps, structure_.buffers, roots, programs);
        context().plans.add(structure_.form, numbers_, changing, plan, false);
        if (plan->steps() >= kOnDisk && !build_id().empty() && !is_recorded())
            DiskCache::of_settings().put(CacheKind::plans, disk_key(changing), plan->to_bytes(programs));
        return plan;
    }

    Plan find_on_disk(const std::vector<bool>& changing, LaunchPlan::Loaded& programs) {
        const DiskCache disk = DiskCache::of_settings();
        const bool has_text = !settings().profiler && !is_recorded();
        if (!disk.enabled() || build_id().empty() || !has_text) return nullptr;
        const auto bytes = disk.get(CacheKind::plans, disk_key(changing));
        if (!bytes) return nullptr;
        const LaunchPlan::Extent extent{structure_.buffers.size(), numbers_.size(), calls_->sources()};
        const Plan plan = LaunchPlan::of_bytes(*bytes, device_, extent, programs);
        if (plan) context().plans.add(structure_.form, numbers_, changing, plan, true);
        return plan;
    }

    /// Everything that decides a plan and the code of its programs.
    std::string disk_key(const std::vector<bool>& changing) const {
        std::string key = fmt::format("{} {} {} {}\n{}\n{}\n", content_hash(build_id()), device_.name(),
                                      model_of(device_), codegen::compiler_identity(target_of(device_)),
                                      settings().beam ? winners_state() : "", structure_.form);
        for (size_t i = 0; i < numbers_.size(); ++i)
            key += changing[i] ? std::string("any ") : fmt::format("{:x} ", numbers_[i]);
        return key;
    }

    /// One way to fuse, all its kernels searched.
    struct Tried {
        codegen::Fusion fusion;
        double ms = 0;
        std::vector<Searched> searches = {};
    };
    Tried tried(const codegen::Schedule& made, codegen::Fusion fusion) {
        Tried out{fusion};
        HeldNotes notes;
        Preparer preparer(device_, numbers_, *calls_);
        for (const codegen::ScheduleItem& item : made.items)
            for (Step& step : preparer.prepare(std::span(&item, 1))) try_out(step), out.ms += step.ms;
        out.searches = notes.take();
        return out;
    }

    /// Where the ways to fuse differ, the one whose kernels take the least time once they are searched; kept as a
    /// winner.
    codegen::Fusion searched_fusion(const std::vector<bool>& changing) {
        using codegen::Fusion;
        const bool searches = calls().empty() && settings().beam && usual_fusion() == Fusion::cost;
        if (!searches || !DiskCache::of_settings().enabled()) return usual_fusion();
        const SearchKey key = search_key(device_, graph_);
        if (const auto winner = find_winner(key); winner && winner->beam >= settings().beam)
            return codegen::parse_fusion(winner->schedule).value_or(Fusion::cost);
        if (!TuningSession::number()) return Fusion::cost;  // nobody tunes
        std::vector<std::vector<UOp>> seen;
        std::vector<Tried> all;
        std::list<DeviceStorage> memory;
        std::vector<std::pair<Fusion, codegen::Schedule>> ways;
        for (const Fusion fusion : {Fusion::cost, Fusion::more, Fusion::less}) {
            codegen::Schedule made = schedule(memory.emplace_back(storage(changing)), fusion);
            seen.push_back(kernels_of(made));
            if (std::ranges::find(seen, seen.back()) == std::prev(seen.end()))
                ways.emplace_back(fusion, std::move(made));
        }
        if (ways.size() < 2) return Fusion::cost;
        constexpr double kWorthIt = 0.99;
        for (const auto& [fusion, made] : ways) all.push_back(tried(made, fusion));
        const Tried* best = &all.front();
        for (const Tried& one : all)
            if (one.ms < best->ms * kWorthIt) best = &one;
        for (const Searched& searched : best->searches) note(searched);
        keep_winner(key, {.kernel = "a graph",
                          .schedule = std::string(to_string(best->fusion)),
                          .heuristic_ms = all.front().ms,
                          .best_ms = best->ms,
                          .beam = settings().beam});
        if (settings().debug >= 1)
            for (const Tried& one : all)
                fmt::print(stderr, "fusion {}: {:.4f} ms{}\n", to_string(one.fusion), one.ms,
                           &one == best ? ", taken" : "");
        return best->fusion;
    }

    /// What is in memory for a search: all steps before have run.
    std::vector<Root> run_step_by_step(const std::vector<bool>& changing) {
        const codegen::Fusion fusion = searched_fusion(changing);
        DeviceStorage memory = storage(changing);
        const codegen::Schedule made = schedule(memory, fusion);
        Preparer preparer(device_, numbers_, *calls_);
        std::vector<PlannedStep> steps;
        for (const codegen::ScheduleItem& item : made.items) {
            for (Step& step : preparer.prepare(std::span(&item, 1))) {
                runtime::run(step, *calls_);
                steps.push_back(std::move(static_cast<PlannedStep&>(step)));
            }
        }
        LaunchPlan::Loaded programs;
        keep(steps, made.roots, changing, programs);
        std::vector<Root> views;
        for (UOp root : made.roots) views.emplace_back(root);
        return views;
    }

    std::span<const UOp> roots_;
    Device& device_;
    Clock::time_point start_ = Clock::now();
    UOpMap<UOp> known_;  ///< views of what is in memory already
    codegen::Signature structure_;
    std::optional<Calls> calls_;
    std::string graph_;              ///< hash of the structure, for searches
    std::vector<uint64_t> numbers_;  ///< of the structure
};

/// Notes where the values of graphs are.
std::vector<Root> remembered(std::span<const UOp> roots, std::vector<Root> views) {
    for (size_t i = 0; i < roots.size(); ++i) {
        if (views[i].get() == roots[i]) continue;
        context().results.remember(roots[i], views[i].get());
        if (!first_buffer(roots.subspan(i, 1))) find_buffer(buffer_under(views[i].get()))->hold_constant();
    }
    return views;
}

}  // namespace

std::vector<Root> realize(std::span<const UOp> roots, Device* fallback) {
    std::vector<Root> kept;
    std::vector<UOp> calls;
    {
        GraphScope scope;
        Realization one(roots, device_of(roots, fallback));
        if (one.calls().empty()) return remembered(roots, one.run());
        kept = std::vector<Root>(roots.begin(), roots.end());
        calls.assign(one.calls().begin(), one.calls().end());
    }
    const Turns turns(calls);
    collect();  // what nobody has is not held
    GraphScope scope;
    return remembered(roots, Realization(roots, device_of(roots, fallback)).run());
}

void launch(KernelCall& call, std::span<const UOp> buffers) {
    std::vector<std::shared_ptr<Buffer>> memory;
    for (UOp buffer : buffers) memory.push_back(find_buffer(buffer));
    run_call(call, memory);
    context().results.forget_all();  // it may have changed memory that results were computed from
}

}  // namespace strata::runtime
