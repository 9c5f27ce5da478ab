// Nodes that a program adds to a graph one by one.
#include "strata/hip/api/exports.h"
#include "strata/hip/graph/graphs_p.h"

namespace strata::hip::library {
namespace {

/// Where a node goes.
struct Place {
    void** out;
    void* graph;
    void* const* after;
    size_t count;
};

/// Adds a node that does what read(details) says, after those of `after`. Error: hipErrorInvalidValue.
template <class Read>
Code add(const Place& place, NodeType type, Read&& read) {
    Graph* const graph = graph_of(place.graph);
    if (!graph || !place.out) return hipErrorInvalidValue;
    Node node{.type = type};
    Code code = nodes_of(*graph, place.after, place.count, node.after);
    Details details;
    if (code == hipSuccess) code = read(details);
    if (code != hipSuccess) return code;
    node.become(std::move(details));
    *place.out = graph->add(std::move(node));
    return hipSuccess;
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipGraphAddKernelNode(void** node, void* graph, void* const* after, size_t count, const void* parameters) {
    return entry("hipGraphAddKernelNode", [&] {
        return add({node, graph, after, count}, NodeType::kernel,
                   [&](Details& out) { return kernel_details(parameters, out); });
    });
}
int hipGraphAddMemcpyNode(void** node, void* graph, void* const* after, size_t count, const void* parameters) {
    return entry("hipGraphAddMemcpyNode", [&] {
        return add({node, graph, after, count}, NodeType::copy,
                   [&](Details& out) { return copy_details(parameters, out); });
    });
}
int hipGraphAddMemcpyNode1D(void** node, void* graph, void* const* after, size_t count, void* to, const void* from,
                            size_t bytes, int kind) {
    return entry("hipGraphAddMemcpyNode1D", [&] {
        return add({node, graph, after, count}, NodeType::copy,
                   [&](Details& out) { return row_details(to, from, bytes, kind, out); });
    });
}
int hipGraphAddMemcpyNodeToSymbol(void** node, void* graph, void* const* after, size_t count, const void* symbol,
                                  const void* from, size_t bytes, size_t offset, int kind) {
    return entry("hipGraphAddMemcpyNodeToSymbol", [&] {
        return add({node, graph, after, count}, NodeType::copy,
                   [&](Details& out) { return row_to_variable(symbol, from, bytes, offset, kind, out); });
    });
}
int hipGraphAddMemcpyNodeFromSymbol(void** node, void* graph, void* const* after, size_t count, void* to,
                                    const void* symbol, size_t bytes, size_t offset, int kind) {
    return entry("hipGraphAddMemcpyNodeFromSymbol", [&] {
        return add({node, graph, after, count}, NodeType::copy,
                   [&](Details& out) { return row_from_variable(to, symbol, bytes, offset, kind, out); });
    });
}
int hipGraphAddMemsetNode(void** node, void* graph, void* const* after, size_t count, const void* parameters) {
    return entry("hipGraphAddMemsetNode", [&] {
        return add({node, graph, after, count}, NodeType::fill,
                   [&](Details& out) { return fill_details(parameters, out); });
    });
}
int hipGraphAddHostNode(void** node, void* graph, void* const* after, size_t count, const void* parameters) {
    return entry("hipGraphAddHostNode", [&] {
        return add({node, graph, after, count}, NodeType::host,
                   [&](Details& out) { return host_details(parameters, out); });
    });
}
int hipGraphAddEmptyNode(void** node, void* graph, void* const* after, size_t count) {
    return entry("hipGraphAddEmptyNode", [&] {
        return add({node, graph, after, count}, NodeType::empty, [](Details&) { return hipSuccess; });
    });
}
int hipGraphAddChildGraphNode(void** node, void* graph, void* const* after, size_t count, void* child) {
    return entry("hipGraphAddChildGraphNode", [&] {
        return add({node, graph, after, count}, NodeType::graph,
                   [&](Details& out) { return child_details(child, out); });
    });
}
int hipGraphAddMemAllocNode(void** node, void* graph, void* const* after, size_t count, void* parameters) {
    return entry("hipGraphAddMemAllocNode", [&] {
        return add({node, graph, after, count}, NodeType::allocate,
                   [&](Details& out) { return allocation_details(parameters, out); });
    });
}
int hipGraphAddMemFreeNode(void** node, void* graph, void* const* after, size_t count, void* memory) {
    return entry("hipGraphAddMemFreeNode", [&] {
        if (after && !count) return hipErrorInvalidValue;
        return add({node, graph, after, count}, NodeType::free,
                   [&](Details& out) { return freeing_details(*graph_of(graph), memory, out); });
    });
}
int hipGraphAddEventRecordNode(void** node, void* graph, void* const* after, size_t count, void* event) {
    return entry("hipGraphAddEventRecordNode", [&] {
        return add({node, graph, after, count}, NodeType::record_event,
                   [&](Details& out) { return event_details(event, false, out); });
    });
}
int hipGraphAddEventWaitNode(void** node, void* graph, void* const* after, size_t count, void* event) {
    return entry("hipGraphAddEventWaitNode", [&] {
        return add({node, graph, after, count}, NodeType::wait_event,
                   [&](Details& out) { return event_details(event, true, out); });
    });
}
