// Which nodes a graph has, and which comes after which.
#include <algorithm>

#include "strata/hip/api/exports.h"
#include "strata/hip/graph/graphs_p.h"

namespace strata::hip::library {
namespace {

/// Writes as many as there is room for, zeroes after them, and their number.
Code list(const std::vector<void*>& all, void** out, size_t* count) {
    if (!count) return hipErrorInvalidValue;
    if (!out) return set(count, all.size());
    for (size_t i = 0; i < *count; ++i) out[i] = i < all.size() ? all[i] : nullptr;
    *count = std::min(*count, all.size());
    return hipSuccess;
}

template <class Wanted>
Code list_nodes(void* handle, void** out, size_t* count, Wanted&& wanted) {
    const Graph* const graph = graph_of(handle);
    if (!graph) return hipErrorInvalidValue;
    std::vector<void*> all;
    for (const auto& node : graph->nodes)
        if (wanted(*node)) all.push_back(node.get());
    return list(all, out, count);
}

Code list_edges(void* handle, void** from, void** to, size_t* count) {
    const Graph* const graph = graph_of(handle);
    if (!graph || !count || !from != !to) return hipErrorInvalidValue;
    std::vector<void*> starts, ends;
    for (const auto& node : graph->nodes)
        for (Node* before : node->after) {
            starts.push_back(before);
            ends.push_back(node.get());
        }
    size_t room = *count;
    (void)list(starts, from, &room);
    return list(ends, to, count);
}

/// Calls change(before, after it) for each pair, once all of them are known to be fit for it.
template <class Check, class Change>
Code for_pairs(void* handle, void* const* from, void* const* to, size_t count, Check&& fits, Change&& change) {
    const Graph* const graph = graph_of(handle);
    if (!graph || (count && (!from || !to))) return hipErrorInvalidValue;
    for (size_t i = 0; i < count; ++i)
        if (!graph->has(from[i]) || !graph->has(to[i]) || from[i] == to[i] ||
            !fits(static_cast<Node*>(from[i]), static_cast<Node*>(to[i])))
            return hipErrorInvalidValue;
    for (size_t i = 0; i < count; ++i) change(static_cast<Node*>(from[i]), static_cast<Node*>(to[i]));
    return hipSuccess;
}

bool is_edge(const Node* from, const Node* to) { return std::ranges::find(to->after, from) != to->after.end(); }

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipGraphGetNodes(void* graph, void** nodes, size_t* count) {
    return entry("hipGraphGetNodes", [&] { return list_nodes(graph, nodes, count, [](const Node&) { return true; }); });
}
int hipGraphGetRootNodes(void* graph, void** nodes, size_t* count) {
    return entry("hipGraphGetRootNodes",
                 [&] { return list_nodes(graph, nodes, count, [](const Node& node) { return node.after.empty(); }); });
}
int hipGraphGetEdges(void* graph, void** from, void** to, size_t* count) {
    return entry("hipGraphGetEdges", [&] { return list_edges(graph, from, to, count); });
}
int hipGraphNodeGetType(void* handle, int* type) {
    return entry("hipGraphNodeGetType", [&] {
        const Node* const node = node_of(handle);
        const int first = major_version() >= 6 ? 0 : 1;  // of hipGraphNodeType
        return node ? set(type, static_cast<int>(node->type) - 1 + first) : hipErrorInvalidValue;
    });
}
int hipGraphNodeGetDependencies(void* handle, void** nodes, size_t* count) {
    return entry("hipGraphNodeGetDependencies", [&] {
        const Node* const node = node_of(handle);
        return node ? list({node->after.begin(), node->after.end()}, nodes, count) : hipErrorInvalidValue;
    });
}
int hipGraphNodeGetDependentNodes(void* handle, void** nodes, size_t* count) {
    return entry("hipGraphNodeGetDependentNodes", [&] {
        Graph* graph = nullptr;
        const Node* const node = node_of(handle, &graph);
        if (!node) return hipErrorInvalidValue;
        std::vector<void*> all;
        for (const auto& other : graph->nodes)
            if (is_edge(node, other.get())) all.push_back(other.get());
        return list(all, nodes, count);
    });
}
int hipGraphAddDependencies(void* graph, void* const* from, void* const* to, size_t count) {
    return entry("hipGraphAddDependencies", [&] {
        return for_pairs(
            graph, from, to, count, [](const Node* before, const Node* next) { return !is_edge(before, next); },
            [](Node* before, Node* next) { next->after.push_back(before); });
    });
}
int hipGraphRemoveDependencies(void* graph, void* const* from, void* const* to, size_t count) {
    return entry("hipGraphRemoveDependencies", [&] {
        return for_pairs(graph, from, to, count, is_edge,
                         [](Node* before, Node* next) { std::erase(next->after, before); });
    });
}
int hipGraphDestroyNode(void* handle) {
    return entry("hipGraphDestroyNode", [&] {
        Graph* graph = nullptr;
        const Node* const node = node_of(handle, &graph);
        if (!node || graph->recorded) return hipErrorInvalidValue;
        if (node->type == NodeType::allocate || node->type == NodeType::free) return hipErrorNotSupported;
        graph->remove(node);
        return hipSuccess;
    });
}
