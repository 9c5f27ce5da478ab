#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <set>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/exports.h"
#include "strata/hip/graph/graphs_p.h"

namespace strata::hip::library {
namespace {

/// A graph as it was when it was made ready, in the order in which it runs. A launch keeps the nodes of that time.
struct Executable {
    std::shared_ptr<std::vector<Node>> nodes = std::make_shared<std::vector<Node>>();
    std::vector<std::vector<size_t>> after = {};  ///< of each node, by their places
    unsigned long long flags = 0;
    std::shared_ptr<HeldObjects> objects = {};
};

struct Executables {
    Mutex mutex;
    std::map<void*, std::unique_ptr<Executable>> all;
};
Executables& executables() {
    static auto* all = new Executables;
    return *all;
}

Code make_ready(const Graph& graph, Executable& out) {
    std::vector<const Node*> order;
    const Code code = graph.in_order(order);
    if (code != hipSuccess) return code;
    std::map<const Node*, size_t> places;
    for (const Node* node : order) {
        places[node] = out.nodes->size();
        out.nodes->push_back(copy_of(*node));
        std::vector<size_t>& after = out.after.emplace_back();
        for (const Node* before : node->after) after.push_back(places.at(before));
        std::ranges::sort(after);
    }
    return hipSuccess;
}

/// It ends outside of the lock: objects of the program may end with it.
bool destroy(void* handle) {
    std::unique_lock lock(executables().mutex);
    const auto gone = executables().all.extract(handle);
    lock.unlock();
    return !gone.empty();
}

bool is_of_memory(const std::unique_ptr<Node>& node) {
    return node->type == NodeType::allocate || node->type == NodeType::free;
}

Code instantiate(void** out, void* handle, unsigned long long flags) {
    constexpr unsigned long long kAllFlags = 0xf;  // at most one of them, as hip-tests want it
    if (!out || flags & ~kAllFlags || std::popcount(flags) > 1) return hipErrorInvalidValue;
    Graph* const graph = graph_of(handle);
    if (!graph) return hipErrorInvalidValue;
    if (!graph->ready.expired() && std::ranges::any_of(graph->nodes, is_of_memory)) return hipErrorNotSupported;
    auto ready = std::make_unique<Executable>();
    const Code code = make_ready(*graph, *ready);
    if (code != hipSuccess) return code;
    ready->flags = flags;
    ready->objects = std::make_shared<HeldObjects>(graph->objects);
    graph->ready = ready->objects;
    std::lock_guard lock(executables().mutex);
    *out = ready.get();
    executables().all[*out] = std::move(ready);
    return hipSuccess;
}

/// hipGraphInstantiateResult.
enum ReadyResult { ready_made, ready_error, bad_structure };

Code instantiate_with(void** out, void* handle, ReadyParameters* parameters) {
    if (!parameters) return hipErrorInvalidValue;
    constexpr unsigned long long kUploads = 2;
    parameters->bad = nullptr;
    parameters->result = ready_error;
    if (parameters->flags & kUploads && !stream_of(parameters->stream)) return hipErrorInvalidValue;
    const Code code = instantiate(out, handle, parameters->flags);
    std::vector<const Node*> order;
    const Graph* const graph = graph_of(handle);
    if (code == hipSuccess)
        parameters->result = ready_made;
    else if (graph && graph->in_order(order) != hipSuccess)
        parameters->result = bad_structure;
    return code;
}

Executable* ready_of(void* handle) {
    std::lock_guard lock(executables().mutex);
    const auto found = executables().all.find(handle);
    return found == executables().all.end() ? nullptr : found->second.get();
}

Code run(const std::vector<Node>& nodes, Stream& stream) {
    for (const Node& node : nodes) {
        const Code code = node.work && node.enabled ? node.work(stream) : hipSuccess;
        if (code != hipSuccess) return code;
    }
    return hipSuccess;
}

/// Frees memory that the node took at an earlier launch and still has.
void free_again(const Node& node) {
    if (const auto* own = node.details.get_if<Allocation>()) (void)free_graph_memory(own->memory->parameters.memory);
    if (const auto* child = node.details.get_if<Child>())
        for (const auto& inner : (*child)->nodes) free_again(*inner);
}

Code launch(void* handle, void* stream) {
    constexpr unsigned long long kFreesOnLaunch = 1;
    const Executable* const ready = ready_of(handle);
    if (!ready) return hipErrorInvalidValue;
    const bool frees = ready->flags & kFreesOnLaunch;
    return on_stream(stream, NodeType::graph, [nodes = ready->nodes, frees](Stream& own) {
        if (frees) std::ranges::for_each(*nodes, free_again);
        return run(*nodes, own);
    });
}

/// hipGraphExecUpdateResult.
enum UpdateResult { done, error, topology_changed, type_changed, parameters_changed = 5 };

Code update(void* handle, void* graph_handle, void** error_node, int* result) {
    Executable* const ready = ready_of(handle);
    const Graph* const graph = graph_of(graph_handle);
    if (!ready || !graph || !error_node || !result) return hipErrorInvalidValue;
    *error_node = nullptr;
    *result = error;
    Executable next;
    const Code code = make_ready(*graph, next);
    if (code != hipSuccess) return code;
    std::vector<Node>& nodes = *next.nodes;
    *result = topology_changed;
    if (nodes.size() != ready->nodes->size()) return hipErrorGraphExecUpdateFailure;
    for (size_t i = 0; i < nodes.size(); ++i) {
        const Node& old = (*ready->nodes)[i];
        *error_node = const_cast<Node*>(nodes[i].origin);
        *result = nodes[i].type != old.type ? type_changed : topology_changed;
        if (*result == type_changed || next.after[i] != ready->after[i]) return hipErrorGraphExecUpdateFailure;
        *result = parameters_changed;
        if (!may_follow(nodes[i].details, old.details)) return hipErrorGraphExecUpdateFailure;
        nodes[i].origin = old.origin;
        nodes[i].enabled = old.enabled;
    }
    *error_node = nullptr;
    *result = done;
    ready->nodes = std::move(next.nodes);
    return hipSuccess;
}

Code clone(void** out, void* handle) {
    const Graph* const graph = graph_of(handle);
    if (!graph || !out) return hipErrorInvalidValue;
    if (std::ranges::any_of(graph->nodes, is_of_memory)) return hipErrorNotSupported;
    *out = keep(std::make_unique<Graph>(*graph));
    return hipSuccess;
}

Code find_in_clone(void** out, void* original, void* clone) {
    const Graph* const graph = graph_of(clone);
    if (!out || !graph || !original) return hipErrorInvalidValue;
    const auto found = std::ranges::find(graph->nodes, original, [](const auto& node) { return node->origin; });
    return found == graph->nodes.end() ? hipErrorInvalidValue : set(out, found->get());
}

Code graph_of_child(void* handle, void** out) {
    Node* const node = node_of(handle);
    const auto* const child = node ? node->details.get_if<Child>() : nullptr;
    if (!child || !out) return hipErrorInvalidValue;
    tell_of(*child);
    return set(out, child->get());
}

}  // namespace

Code change_ready(void* handle, const void* node, const std::function<Code(Node&)>& change) {
    Executable* const ready = ready_of(handle);
    if (!ready || !node) return hipErrorInvalidValue;
    auto next = std::make_shared<std::vector<Node>>(*ready->nodes);
    const auto found = std::ranges::find(*next, node, &Node::origin);
    const Code code = found == next->end() ? hipErrorInvalidValue : change(*found);
    if (code == hipSuccess) ready->nodes = std::move(next);
    return code;
}

}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipGraphCreate(void** graph, unsigned flags) {
    return entry("hipGraphCreate", [&] {
        if (!graph || flags) return hipErrorInvalidValue;
        *graph = keep(std::make_unique<Graph>());
        return hipSuccess;
    });
}
int hipGraphDestroy(void* graph) {
    return entry("hipGraphDestroy", [&] {
        if (!graph) return hipErrorInvalidValue;
        return forget(graph) ? hipSuccess : hipErrorIllegalState;
    });
}
int hipGraphClone(void** copy, void* graph) {
    return entry("hipGraphClone", [&] { return clone(copy, graph); });
}
int hipGraphNodeFindInClone(void** node, void* original, void* copy) {
    return entry("hipGraphNodeFindInClone", [&] { return find_in_clone(node, original, copy); });
}
int hipGraphChildGraphNodeGetGraph(void* node, void** graph) {
    return entry("hipGraphChildGraphNodeGetGraph", [&] { return graph_of_child(node, graph); });
}
int hipGraphInstantiate(void** executable, void* graph, void** node, char* log, size_t bytes) {
    return entry("hipGraphInstantiate", [&] {
        if (node) *node = nullptr;
        if (log && bytes) *log = 0;
        return instantiate(executable, graph, 0);
    });
}
int hipGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
    return entry("hipGraphInstantiateWithFlags", [&] { return instantiate(executable, graph, flags); });
}
int hipGraphInstantiateWithParams(void** executable, void* graph, void* parameters) {
    return entry("hipGraphInstantiateWithParams",
                 [&] { return instantiate_with(executable, graph, static_cast<ReadyParameters*>(parameters)); });
}
int hipGraphExecGetFlags(void* executable, unsigned long long* flags) {
    return entry("hipGraphExecGetFlags", [&] {
        const Executable* const ready = ready_of(executable);
        return ready ? set(flags, ready->flags) : hipErrorInvalidValue;
    });
}
int hipGraphExecDestroy(void* executable) {
    return entry("hipGraphExecDestroy", [&] { return destroy(executable) ? hipSuccess : hipErrorInvalidValue; });
}
int hipGraphLaunch(void* executable, void* stream) {
    return entry("hipGraphLaunch", [&] { return launch(executable, stream); });
}
int hipGraphUpload(void* executable, void* stream) {
    return entry("hipGraphUpload", [&] {
        if (!ready_of(executable)) return hipErrorInvalidValue;
        return stream_of(stream) ? hipSuccess : hipErrorContextIsDestroyed;
    });
}
int hipGraphExecUpdate(void* executable, void* graph, void** node, int* result) {
    return entry("hipGraphExecUpdate", [&] { return update(executable, graph, node, result); });
}
