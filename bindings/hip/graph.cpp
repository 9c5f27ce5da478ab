#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "strata/bindings/hip/exports_p.h"
#include "strata/bindings/hip/graphs_p.h"
#include "strata/core/support/mutex.h"

namespace strata::hip::library {
namespace {

/// A graph as it was when it was made ready, in the order in which it runs.
struct Executable {
    std::vector<Node> nodes;
};

struct Graphs {
    Mutex mutex;
    std::map<void*, std::unique_ptr<Graph>> all;
    std::map<void*, std::unique_ptr<Executable>> ready;
};
Graphs& graphs() {
    static auto* all = new Graphs;
    return *all;
}

Code make_ready(const Graph& graph, Executable& out) {
    std::vector<const Node*> order;
    const Code code = graph.in_order(order);
    if (code != hipSuccess) return code;
    out.nodes.clear();
    for (const Node* node : order) out.nodes.push_back(*node);
    return hipSuccess;
}

Code instantiate(void** out, void* handle) {
    if (!out) return hipErrorInvalidValue;
    const Graph* const graph = graph_of(handle);
    if (!graph) return hipErrorInvalidValue;
    auto ready = std::make_unique<Executable>();
    const Code code = make_ready(*graph, *ready);
    if (code != hipSuccess) return code;
    std::lock_guard lock(graphs().mutex);
    *out = ready.get();
    graphs().ready[*out] = std::move(ready);
    return hipSuccess;
}

Executable* ready_of(void* handle) {
    std::lock_guard lock(graphs().mutex);
    const auto found = graphs().ready.find(handle);
    return found == graphs().ready.end() ? nullptr : found->second.get();
}

Code run(const std::vector<Node>& nodes, Stream& stream) {
    for (const Node& node : nodes) {
        const Code code = node.work ? node.work(stream) : hipSuccess;
        if (code != hipSuccess) return code;
    }
    return hipSuccess;
}

Code launch(void* handle, void* stream) {
    const Executable* const ready = ready_of(handle);
    if (!ready) return hipErrorInvalidValue;
    return on_stream(stream, NodeType::graph, [nodes = ready->nodes](Stream& own) { return run(nodes, own); });
}

Code update(void* handle, void* graph_handle, void** error_node, int* result) {
    constexpr int kDone = 0, kTopologyChanged = 2, kNodeTypeChanged = 3;
    Executable* const ready = ready_of(handle);
    const Graph* const graph = graph_of(graph_handle);
    if (!ready || !graph || !error_node || !result) return hipErrorInvalidValue;
    *error_node = nullptr;
    *result = kDone;
    Executable next;
    const Code code = make_ready(*graph, next);
    if (code != hipSuccess) return code;
    const bool as_many = next.nodes.size() == ready->nodes.size();
    const bool same_types = as_many && std::ranges::equal(next.nodes, ready->nodes, {}, &Node::type, &Node::type);
    if (!same_types) {
        *result = as_many ? kNodeTypeChanged : kTopologyChanged;
        return hipErrorGraphExecUpdateFailure;
    }
    *ready = std::move(next);
    return hipSuccess;
}

bool has(const Graph& graph, const void* node) {
    return std::ranges::any_of(graph.nodes, [&](const auto& own) { return own.get() == node; });
}

/// The nodes a call was given; hipErrorInvalidValue where one is not of the graph.
Code nodes_of(const Graph& graph, void* const* nodes, size_t count, std::vector<Node*>& out) {
    if (count && !nodes) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) {
        if (!has(graph, nodes[i])) return hipErrorInvalidValue;
        out.push_back(static_cast<Node*>(nodes[i]));
    }
    return hipSuccess;
}

template <class Wanted>
Code list(void* handle, void** nodes, size_t* count, Wanted&& wanted) {
    const Graph* const graph = graph_of(handle);
    if (!graph || !count) return hipErrorInvalidValue;
    std::vector<void*> all;
    for (const auto& node : graph->nodes)
        if (wanted(*node)) all.push_back(node.get());
    if (nodes) std::copy_n(all.begin(), std::min(all.size(), *count), nodes);
    *count = all.size();
    return hipSuccess;
}

}  // namespace

Node* Graph::add(NodeType type, Work work, std::vector<Node*> after) {
    return nodes.emplace_back(std::make_unique<Node>(Node{type, std::move(work), std::move(after)})).get();
}

Code Graph::in_order(std::vector<const Node*>& out) const {
    std::set<const Node*> done;
    while (out.size() < nodes.size()) {
        const size_t before = out.size();
        for (const auto& node : nodes) {
            const bool ready = std::ranges::all_of(node->after, [&](const Node* one) { return done.contains(one); });
            if (!ready || !done.insert(node.get()).second) continue;
            out.push_back(node.get());
        }
        if (out.size() == before) return hipErrorInvalidValue;
    }
    return hipSuccess;
}

Graph* keep(std::unique_ptr<Graph> graph) {
    std::lock_guard lock(graphs().mutex);
    Graph* const handle = graph.get();
    graphs().all[handle] = std::move(graph);
    return handle;
}

Graph* graph_of(void* handle) {
    std::lock_guard lock(graphs().mutex);
    const auto found = graphs().all.find(handle);
    return found == graphs().all.end() ? nullptr : found->second.get();
}

Code add_node(void** out, void* graph_handle, void* const* after, size_t count, NodeType type, Work work) {
    Graph* const graph = graph_of(graph_handle);
    if (!graph || !out) return hipErrorInvalidValue;
    std::vector<Node*> before;
    const Code code = nodes_of(*graph, after, count, before);
    if (code == hipSuccess) *out = graph->add(type, std::move(work), std::move(before));
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
        std::lock_guard lock(graphs().mutex);
        return graphs().all.erase(graph) ? hipSuccess : hipErrorInvalidValue;
    });
}
int hipGraphInstantiate(void** executable, void* graph, void** node, char* log, size_t bytes) {
    return entry("hipGraphInstantiate", [&] {
        if (node) *node = nullptr;
        if (log && bytes) *log = 0;
        return instantiate(executable, graph);
    });
}
int hipGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long) {
    return entry("hipGraphInstantiateWithFlags", [&] { return instantiate(executable, graph); });
}
int hipGraphExecDestroy(void* executable) {
    return entry("hipGraphExecDestroy", [&] {
        std::lock_guard lock(graphs().mutex);
        return graphs().ready.erase(executable) ? hipSuccess : hipErrorInvalidValue;
    });
}
int hipGraphLaunch(void* executable, void* stream) {
    return entry("hipGraphLaunch", [&] { return launch(executable, stream); });
}
int hipGraphUpload(void* executable, void* stream) {
    return entry("hipGraphUpload",
                 [&] { return ready_of(executable) && stream_of(stream) ? hipSuccess : hipErrorInvalidValue; });
}
int hipGraphExecUpdate(void* executable, void* graph, void** node, int* result) {
    return entry("hipGraphExecUpdate", [&] { return update(executable, graph, node, result); });
}
int hipGraphGetNodes(void* graph, void** nodes, size_t* count) {
    return entry("hipGraphGetNodes", [&] { return list(graph, nodes, count, [](const Node&) { return true; }); });
}
int hipGraphGetRootNodes(void* graph, void** nodes, size_t* count) {
    return entry("hipGraphGetRootNodes",
                 [&] { return list(graph, nodes, count, [](const Node& node) { return node.after.empty(); }); });
}
int hipGraphNodeGetType(void* node, int* type) {
    return entry("hipGraphNodeGetType",
                 [&] { return node ? set(type, static_cast<const Node*>(node)->type) : hipErrorInvalidValue; });
}
int hipGraphAddDependencies(void* graph, void* const* from, void* const* to, size_t count) {
    return entry("hipGraphAddDependencies", [&] {
        const Graph* const own = graph_of(graph);
        std::vector<Node*> before, behind;
        if (!own) return hipErrorInvalidValue;
        if (const Code code = nodes_of(*own, from, count, before); code != hipSuccess) return code;
        if (const Code code = nodes_of(*own, to, count, behind); code != hipSuccess) return code;
        for (size_t i = 0; i < count; ++i) behind[i]->after.push_back(before[i]);
        return hipSuccess;
    });
}
