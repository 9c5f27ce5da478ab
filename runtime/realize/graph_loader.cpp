// graph_loader: tensor graph -> executable -> programs on a device.
#include "strata/runtime/realize/graph_loader_p.h"

#include "strata/core/support/settings.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/kernel_call.h"
#include "strata/runtime/realize.h"
#include "strata/runtime/realize/numbers_p.h"
#include "strata/runtime/replay.h"
#include "strata/runtime/run_program_p.h"
#include "strata/runtime/search/search.h"

namespace strata::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// Parameters of a launch by slot: addresses of buffers, then numbers.
std::vector<uint64_t> slots_of(std::span<const UOp> buffers, std::span<const executable::Number> numbers) {
    for (UOp buffer : buffers) find_buffer(buffer)->order(true);
    std::vector<uint64_t> slots = addresses(buffers);
    for (const executable::Number& number : numbers) slots.push_back(number.bits);
    return slots;
}

}  // namespace

GraphLoader::GraphLoader(const GraphRequest& request) : request_(request) {
    options_.any_sizes = any_sizes();
    options_.verify = settings().verify;
    options_.inputs = request_.signature.buffers;
    options_.donated = request_.donated;
    options_.numbers = request_.numbers;
    options_.user_kernels = &request_.calls;
    options_.in_memory = [this](UOp u) {
        const auto found = request_.known.find(u);
        return found == request_.known.end() ? UOp() : found->second;
    };
}

codegen::CompiledGraph GraphLoader::schedule(codegen::Fusion fusion) const {
    codegen::GraphOptions options = options_;
    options.fusion = fusion;
    options.schedule = [](const codegen::KernelStart& start) { return codegen::Scheduled{start.kernel, {}}; };
    return codegen::compile_graph(request_.roots, target_of(request_.device), options);
}

codegen::CompiledGraph GraphLoader::load_and_run(codegen::Fusion fusion, const Run& run) {
    codegen::GraphOptions options = options_;
    options.new_buffer = [&](DType dtype, int64_t size) {
        const UOp buffer = runtime::new_buffer(request_.device, dtype, size);
        made_.emplace_back(buffer);
        return buffer;
    };
    options.made = [&](const codegen::CompiledGraph& graph, size_t step) {
        const auto start = Clock::now();
        run(graph, step);
        running_ms_ += ms_since(start);
    };
    return compile(fusion, options);
}

codegen::CompiledGraph GraphLoader::compile(codegen::Fusion fusion, codegen::GraphOptions options) {
    const auto start = Clock::now();
    double compile_ms = 0;
    options.fusion = fusion;
    options.take_values = take_changing_values;
    options.schedule = [&](const codegen::KernelStart& kernel) { return choose(kernel); };
    options.code = [&](std::span<const codegen::Scheduled> kernels) {
        const auto compiling = Clock::now();
        std::vector<codegen::SharedCode> codes;
        for (const std::shared_ptr<Program>& program : runtime::programs(request_.device, kernels)) {
            programs_.push_back(program);
            codes.emplace_back(program, &program->code);
        }
        compile_ms += ms_since(compiling);
        return codes;
    };
    codegen::CompiledGraph graph = codegen::compile_graph(request_.roots, target_of(request_.device), options);
    context().counters.add_times(ms_since(start) - compile_ms - running_ms_, compile_ms);
    return graph;
}

codegen::Scheduled GraphLoader::choose(const codegen::KernelStart& start) {
    Device& device = request_.device;
    if (settings().beam == 0) return unsearched(start.kernel, target_of(device));
    codegen::Scheduled found =
        choose_schedule(device, start.kernel, slots_of(start.buffers, start.numbers), request_.is_tuned);
    const auto record = find_record(search_key(device, start.kernel));
    searched_ms_.push_back(record ? record->best_ms : 0);
    return found;
}

void GraphLoader::run(const codegen::CompiledGraph& graph, size_t number) const {
    const executable::Step& step = graph.executable.steps[number];
    const std::vector<UOp> buffers = graph.buffers(number);
    std::vector<std::shared_ptr<Buffer>> memory;
    for (UOp buffer : buffers) memory.push_back(find_buffer(buffer));
    if (step.is_copy()) return copy_memory(*memory[1], *memory[0]);
    if (step.call != executable::kNone) {
        std::vector<Root> kept;
        for (UOp view : graph.kept[number]) kept.emplace_back(view);
        return request_.calls.planned()[step.call].run(memory, std::move(kept));
    }
    const std::shared_ptr<Program>& program = programs_[step.kernel];
    if (Recorder* recorder = Recorder::active()) {
        const std::vector<uint64_t> slots = slots_of(buffers, step.numbers);
        recorder->launched(program, memory, std::span(slots).subspan(memory.size()), step.in_place);
    }
    run_program(*program, {program->code.grid, program->code.block}, step.bytes,
                [&] { return program->launch(slots_of(buffers, step.numbers), wait_for(program->device())); });
}

void GraphLoader::try_out(const codegen::CompiledGraph& graph, size_t number) const {
    const executable::Step& step = graph.executable.steps[number];
    const std::vector<UOp> buffers = graph.buffers(number);
    if (step.is_copy())
        copy_memory(*find_buffer(buffers[1]), *find_buffer(buffers[0]));
    else
        programs_[step.kernel]->launch(slots_of(buffers, step.numbers), Wait::yes);
}

}  // namespace strata::runtime
