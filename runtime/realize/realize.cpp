// realize: tensor graph -> schedule -> kernels -> programs -> results in memory.
#include "strata/runtime/realize.h"

#include <fmt/format.h>

#include <algorithm>

#include "strata/codegen/driver/compile.h"
#include "strata/codegen/driver/route.h"
#include "strata/codegen/kernel/scalar_parameters.h"
#include "strata/core/process/build_id.h"
#include "strata/core/support/disk_cache.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/realize/donation_p.h"
#include "strata/runtime/realize/fusion_search_p.h"
#include "strata/runtime/realize/graph_loader_p.h"
#include "strata/runtime/realize/interpreted_p.h"
#include "strata/runtime/realize/turns_p.h"
#include "strata/runtime/replay.h"
#include "strata/runtime/search/search.h"
#include "strata/runtime/search/tuning_session.h"

namespace strata::runtime {
namespace {

/// A view of memory that holds the value of a node on the device, or empty.
UOp in_memory(UOp node, Device& device) {
    return node.is(Op::pick) ? context().custom.view(node, device) : context().results.find(node, device);
}

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

/// Everything but the signature that decides how it is computed. `session`: the tuning session's number, or 0.
std::string settings_key(const Device& device, uint64_t session) {
    const Settings& s = settings();
    std::string key;
    const auto add = [&](const auto& value) { fmt::format_to(std::back_inserter(key), "{} ", value); };
    visit_settings(s, [&](const setting::Row& row, const auto& value) {
        switch (row.keys) {
            case setting::Keys::none: break;
            case setting::Keys::device: add(device.name()); break;
            case setting::Keys::route: add(static_cast<int>(codegen::route_in_force(device.arch()))); break;
            case setting::Keys::plan: add(value); break;
            case setting::Keys::search:
                if (s.beam) add(value);
        }
    });
    s.beam ? (add(records_generation()), add(session)) : add(any_sizes());
    return key + "\n";
}

/// Graphs on one device, and what is known of their signature.
class Realization {
  public:
    /// `donation`: null: results take no memory of inputs.
    Realization(std::span<const UOp> roots, Device& device, Computing& computing, const Donation* donation)
        : roots_(roots),
          device_(device),
          computing_(computing),
          donation_(donation),
          signature_(codegen::signature_of(roots_, [&](UOp u) {
              UOp view = in_memory(u, device_);
              if (view) known_.emplace(u, view);
              return view;
          })) {}

    /// Users' kernels that are to run.
    std::span<const UOp> calls() const { return signature_.calls; }

    std::vector<Root> run() {
        calls_.emplace(device_, signature_.calls, roots_, known_);
        signature_.form += calls_->form();
        for (UOp number : signature_.numbers) numbers_.push_back(codegen::parameter_bits(number));
        if (settings().beam) graph_ = content_hash("graph\n" + signature_.form);
        LaunchPlan::Run with{.inputs = signature_.buffers, .numbers = numbers_, .calls = calls_->planned()};
        for (UOp input : signature_.buffers) with.memory.push_back(find_buffer(input));
        if (donation_) find_donated(with);
        signature_.form.insert(0, settings_key(device_, session_));
        LaunchPlans::Known known = context().plans.find(signature_.form, numbers_);
        std::optional<LaunchPlan::Loaded> programs;
        if (known.plan) programs = known.plan->programs(device_);
        if (!programs) known.plan = find_on_disk(known.parameters, programs.emplace());
        context().counters.add_times(ms_since(start_), 0);
        if (!known.plan && settings().beam) return run_step_by_step(known.parameters);
        if (!known.plan) known.plan = make_plan(known.parameters, *programs);
        return known.plan->run(device_, *programs, std::move(with));
    }

  private:
    using Plan = std::shared_ptr<const LaunchPlan>;
    bool is_tuned() const { return session_ != 0; }
    /// Inputs whose memory results may take, for the signature. Who records launches has the memory from then on.
    void find_donated(LaunchPlan::Run& with) {
        if (!calls().empty() || Recorder::active()) return;
        const std::function<bool(UOp)> is_known = [&](UOp u) { return known_.contains(u); };
        donated_ = runtime::find_donated({roots_, with.inputs, with.memory, *donation_, is_known}, computing_);
        if (donated_.empty()) return;
        with.keep = donation_->keep;
        for (const bool is_donated : donated_) signature_.form.insert(0, is_donated ? "1" : "0");
        signature_.form.insert(0, "donated ");
    }

    static constexpr size_t kOnDisk = 4;  ///< steps: of fewer the objects of kernels are found as fast

    /// For what the signature was made of, and no more: other threads go on.
    GraphRequest request(const std::vector<bool>& changing) {
        for (size_t i = 0; i < changing.size(); ++i)
            if (changing[i])
                known_.emplace(signature_.numbers[i],
                               codegen::number_tensor(static_cast<int>(i), signature_.numbers[i].dtype()));
        return {roots_, device_, *calls_, signature_, known_, numbers_, donated_, is_tuned()};
    }

    Plan make_plan(const std::vector<bool>& changing, LaunchPlan::Loaded& programs) {
        GraphLoader loader(request(changing));
        const codegen::CompiledGraph graph = loader.load(usual_fusion());
        programs = loader.programs();
        return keep(graph, changing, programs);
    }

    Plan keep(const codegen::CompiledGraph& graph, const std::vector<bool>& changing,
              const LaunchPlan::Loaded& programs) {
        STRATA_CHECK(graph.executable.inputs == signature_.buffers.size(),
                     "a graph reads memory outside its signature");
        const Plan plan = std::make_shared<LaunchPlan>(graph, programs);
        context().plans.add(signature_.form, numbers_, changing, plan, false);
        if (plan->steps() >= kOnDisk && !build_id().empty() && !is_tuned())
            DiskCache::of_settings().put(CacheKind::plans, disk_key(changing), plan->to_bytes(programs));
        return plan;
    }

    Plan find_on_disk(const std::vector<bool>& changing, LaunchPlan::Loaded& programs) {
        const DiskCache disk = DiskCache::of_settings();
        if (!disk.enabled() || build_id().empty() || is_text_wanted() || is_tuned()) return nullptr;
        const auto bytes = disk.get(CacheKind::plans, disk_key(changing));
        if (!bytes) return nullptr;
        const LaunchPlan::Extent extent{signature_.buffers.size(), numbers_.size(), calls_->sources()};
        const Plan plan = LaunchPlan::of_bytes(*bytes, device_, extent, programs);
        if (plan) context().plans.add(signature_.form, numbers_, changing, plan, true);
        return plan;
    }

    /// Everything that decides a plan and the code of its programs.
    std::string disk_key(const std::vector<bool>& changing) const {
        std::string key = fmt::format("{} {} {}\n{}\n{}\n", content_hash(build_id()), model_of(device_),
                                      codegen::compiler_identity(target_of(device_)),
                                      settings().beam ? records_state() : "", signature_.form);
        for (size_t i = 0; i < numbers_.size(); ++i)
            key += changing[i] ? std::string("any ") : fmt::format("{:x} ", numbers_[i]);
        return key;
    }

    /// The values in memory for a search: all steps before have run.
    std::vector<Root> run_step_by_step(const std::vector<bool>& changing) {
        const GraphRequest asked = request(changing);
        const codegen::Fusion fusion = calls().empty() ? searched_fusion(asked, graph_) : usual_fusion();
        GraphLoader loader(asked);
        const codegen::CompiledGraph graph = loader.load_and_run(
            fusion, [&](const codegen::CompiledGraph& so_far, size_t step) { loader.run(so_far, step); });
        keep(graph, changing, loader.programs());
        std::vector<Root> views;
        for (UOp root : graph.roots) views.emplace_back(root);
        return views;
    }

    std::span<const UOp> roots_;
    Device& device_;
    Computing& computing_;
    const Donation* donation_;
    std::vector<bool> donated_;  ///< of the buffers of the signature, or empty
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    UOpMap<UOp> known_;  ///< views of what is in memory already
    codegen::Signature signature_;
    std::optional<Calls> calls_;
    std::string graph_;                                                       ///< hash of the signature, for searches
    const uint64_t session_ = settings().beam ? TuningSession::number() : 0;  ///< of tuning; 0: none
    std::vector<uint64_t> numbers_;                                           ///< of the signature
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

/// `donation`: null: results take no memory of inputs.
std::vector<Root> realize(std::span<const UOp> roots, Device* fallback, const Donation* donation) {
    std::vector<Root> kept;
    std::vector<UOp> calls;
    {
        Computing computing;
        GraphScope scope;
        if (Device& device = device_of(roots, fallback); device.interprets()) {
            calls = interpreted_calls(roots, device);
            if (calls.empty()) return remembered(roots, interpreted(roots, device));
        } else {
            Realization one(roots, device, computing, donation);
            if (one.calls().empty()) return remembered(roots, one.run());
            calls.assign(one.calls().begin(), one.calls().end());
        }
        kept = std::vector<Root>(roots.begin(), roots.end());  // what is held before is not donated
    }
    const Turns turns(calls);
    collect();  // what nobody has is not held
    Computing computing;
    GraphScope scope;
    Device& device = device_of(roots, fallback);
    if (device.interprets()) return remembered(roots, interpreted(roots, device));
    return remembered(roots, Realization(roots, device, computing, nullptr).run());
}

}  // namespace

std::vector<Root> realize(std::span<const UOp> roots, Device* fallback) { return realize(roots, fallback, nullptr); }

std::vector<Root> realize(std::span<const UOp> roots, Device* fallback, const Donation& donation) {
    return realize(roots, fallback, &donation);
}

void launch(KernelCall& call, std::span<const UOp> buffers) {
    std::vector<std::shared_ptr<Buffer>> memory;
    for (UOp buffer : buffers) memory.push_back(find_buffer(buffer));
    run_call(call, memory);
    context().results.forget_all();  // it may have changed memory that results were computed from
}

}  // namespace strata::runtime
