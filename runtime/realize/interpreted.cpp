// interpreted: tensor graphs on a device that interprets them. Nothing is scheduled or compiled.
#include "strata/runtime/realize/interpreted_p.h"

#include <algorithm>

#include "strata/codegen/interpret/tensors.h"
#include "strata/codegen/kernel/scalar_parameters.h"
#include "strata/codegen/kernel/signature.h"
#include "strata/core/uop/uop_map.h"
#include "strata/core/uop/walk.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/interpreted_graphs.h"
#include "strata/runtime/kernel_call.h"
#include "strata/runtime/replay.h"
#include "strata/runtime/run_program_p.h"

namespace strata::runtime {
namespace {

UOp view_in_memory(UOp node, const Device& device) {
    return node.is(Op::pick) ? context().custom.view(node, device) : context().results.find(node, device);
}

/// The graphs with a view of memory in place of each node that is there.
class Known {
  public:
    explicit Known(const Device& device) : device_(device) {}

    UOp operator()(UOp root) {
        std::vector<std::pair<UOp, bool>> stack{{root, false}};
        while (!stack.empty()) {
            const auto [u, is_open] = stack.back();
            stack.pop_back();
            if (made_.contains(u)) continue;
            if (is_open) {
                std::vector<UOp> sources;
                for (UOp s : u.src()) sources.push_back(made_.at(s));
                made_[u] = u.with_src(sources);
                continue;
            }
            const bool is_leaf = u.src().empty();
            if (const UOp view = is_leaf ? UOp() : view_in_memory(u, device_)) {
                made_[u] = view;
            } else if (is_leaf) {
                made_[u] = u;
            } else {
                stack.emplace_back(u, true);
                for (UOp s : u.src()) stack.emplace_back(s, false);
            }
        }
        return made_.at(root);
    }
    /// The nodes that ran as others, by what they were.
    const UOpMap<UOp>& made() const { return made_; }

  private:
    const Device& device_;
    UOpMap<UOp> made_;
};

codegen::TensorValue read(Buffer& buffer, DType type, const Shape& shape) {
    std::vector<uint8_t> bytes(buffer.bytes());
    if (buffer.allocated()) buffer.copy_out(bytes.data(), bytes.size());
    return codegen::decode(type, shape, bytes);
}
codegen::TensorValue read_node(UOp node) {
    Buffer& buffer = *find_buffer(node);
    return read(buffer, node.dtype(), {buffer.size()});
}

void write(const codegen::TensorValue& value, Buffer& buffer) {
    std::vector<uint8_t> bytes(buffer.bytes());
    codegen::encode(value, bytes);
    buffer.copy_in(bytes.data(), bytes.size());
}

/// Memory for a value.
Root made(DType type, const Shape& shape, Device& device) {
    int64_t elements = 1;
    for (const int64_t size : shape) elements *= size;
    return Root(new_buffer(device, type, elements));
}

Root shaped(const Root& buffer, const Shape& shape) {
    if (shape.size() == 1) return buffer;
    return Root(make(Op::reshape, buffer.get().dtype(), {buffer.get()}, ShapeArg{shape}));
}

/// Runs a user's kernel over copies of its sources. `views`: of what it leaves in them.
std::vector<codegen::TensorValue> call(UOp node, std::span<const codegen::TensorValue> sources, Device& device,
                                       std::vector<Root>& views) {
    KernelCall kernel(device, *find_custom(node.as<CustomArg>().id), sources.size());
    std::vector<std::shared_ptr<Buffer>> memory;
    uint64_t bytes = 0;
    for (const codegen::TensorValue& source : sources) {
        const Root buffer = made(source.type, source.shape, device);
        memory.push_back(find_buffer(buffer.get()));
        write(source, *memory.back());
        bytes += memory.back()->bytes();
        views.push_back(shaped(buffer, source.shape));
    }
    run_program(*kernel.program(), kernel.shape(), bytes, [&] { return kernel.launch(memory); });
    std::vector<codegen::TensorValue> results;
    for (size_t i = 0; i < sources.size(); ++i) results.push_back(read(*memory[i], sources[i].type, sources[i].shape));
    return results;
}

/// Graphs are one launch.
void count(const BufferList& results) {
    uint64_t bytes = 0;
    for (const std::shared_ptr<Buffer>& result : results) bytes += result->bytes();
    context().counters.add_unlisted(1, bytes, 0, nullptr);
}

bool is_in_memory(UOp root) { return below_views(root).is(Op::buffer); }

/// A user's kernel leaves its results in memory for those who hold others of them.
std::vector<codegen::TensorValue> values_of(std::span<const UOp> graphs, const Known& known, Device& device) {
    UOpMap<UOp> originals;  // a custom node over views of memory is another node
    for (const auto& [from, to] : known.made())
        if (from.is(Op::custom)) originals[to] = from;
    const auto run = [&](UOp custom, std::span<const codegen::TensorValue> given) {
        std::vector<Root> views;
        std::vector<codegen::TensorValue> results = call(custom, given, device, views);
        context().custom.remember(originals.at(custom), std::move(views));
        return results;
    };
    return codegen::interpret_tensors(graphs, {.read = read_node, .call = run});
}

}  // namespace

std::vector<UOp> interpreted_calls(std::span<const UOp> roots, Device& device) {
    Known known(device);
    std::vector<UOp> calls;
    for (UOp root : roots)
        for (UOp u : toposort(known(root)))
            if (u.is(Op::custom)) calls.push_back(u);
    return calls;
}

std::vector<Root> interpreted(std::span<const UOp> roots, Device& device) {
    Known known(device);
    std::vector<UOp> graphs, wanted;
    for (UOp root : roots) {
        graphs.push_back(known(root));
        if (!is_in_memory(graphs.back())) wanted.push_back(graphs.back());
    }
    std::vector<Root> results;
    BufferList memory;
    for (UOp graph : wanted) {
        results.push_back(made(graph.dtype(), graph.shape(), device));
        memory.push_back(find_buffer(results.back().get()));
    }
    const std::vector<codegen::TensorValue> values = values_of(wanted, known, device);
    for (size_t i = 0; i < values.size(); ++i) write(values[i], *memory[i]);
    if (!wanted.empty()) count(memory);
    if (Recorder* recorder = Recorder::active(); recorder && !wanted.empty()) {
        auto recorded = std::make_shared<const InterpretedGraphs>(wanted, device);
        BufferList used;
        for (UOp input : recorded->inputs()) used.push_back(find_buffer(input));
        used.insert(used.end(), memory.begin(), memory.end());
        recorder->interpreted(std::move(recorded), used);
    }
    std::vector<Root> views;
    size_t next = 0;
    for (UOp graph : graphs)
        views.push_back(is_in_memory(graph) ? Root(graph) : shaped(results[next++], graph.shape()));
    return views;
}

InterpretedGraphs::InterpretedGraphs(std::span<const UOp> roots, Device& device)
    : device_(device), roots_(roots.begin(), roots.end()) {
    codegen::Signature signature = codegen::signature_of(roots, [](UOp) { return UOp(); });
    inputs_ = std::move(signature.buffers), form_ = std::move(signature.form);
    for (UOp number : signature.numbers) numbers_.push_back(codegen::parameter_bits(number));
    for (UOp node : signature.calls)
        calls_.emplace_back(device, *find_custom(node.as<CustomArg>().id), node.src().size());
}

void InterpretedGraphs::run(std::span<Buffer* const> memory) const {
    GraphScope scope;
    UOpMap<Buffer*> given;
    for (size_t i = 0; i < inputs_.size(); ++i) given[inputs_[i]] = memory[i];
    const codegen::TensorSources sources{
        .read = [&](UOp node) { return read(*given.at(node), node.dtype(), {node.as<BufferArg>().size}); },
        .call =
            [&](UOp custom, std::span<const codegen::TensorValue> values) {
                std::vector<Root> views;
                return call(custom, values, device_, views);
            }};
    std::vector<UOp> roots;
    for (const Root& root : roots_) roots.push_back(root.get());
    const std::vector<codegen::TensorValue> values = codegen::interpret_tensors(roots, sources);
    for (size_t i = 0; i < values.size(); ++i) write(values[i], *memory[inputs_.size() + i]);
}

bool InterpretedGraphs::same(const InterpretedGraphs& other) const {
    return &device_ == &other.device_ && form_ == other.form_ && numbers_ == other.numbers_ &&
           std::ranges::equal(calls_, other.calls_, [](const KernelCall& a, const KernelCall& b) {
               return a.program()->computes_as(*b.program()) && a.same_arguments(b);
           });
}

}  // namespace strata::runtime
