// Nodes that a program adds to a graph one by one.
#include "strata/bindings/hip/copy_p.h"
#include "strata/bindings/hip/event_p.h"
#include "strata/bindings/hip/fill_p.h"
#include "strata/bindings/hip/graphs_p.h"
#include "strata/bindings/hip/launch_p.h"
#include "strata/bindings/hip/registration_p.h"

namespace strata::hip::library {
namespace {

/// hipKernelNodeParams.
struct KernelParameters {
    Dim3 block;
    void** extra;
    void* function;
    Dim3 grid;
    void** parameters;
    unsigned lds;
};
/// hipMemsetParams.
struct FillParameters {
    void* to;
    unsigned element;
    size_t height, pitch;
    unsigned value;
    size_t width;
};
/// hipHostNodeParams.
struct HostParameters {
    HostFunction function;
    void* data;
};

/// Where a node goes.
struct Place {
    void** out;
    void* graph;
    void* const* after;
    size_t count;
    Code add(NodeType type, Work work) const { return add_node(out, graph, after, count, type, std::move(work)); }
};

Code add_kernel(const Place& place, const void* parameters) {
    if (!parameters) return hipErrorInvalidValue;
    const auto& p = *static_cast<const KernelParameters*>(parameters);
    Function* function = nullptr;
    Code code = find_kernel(p.function, function);
    if (code != hipSuccess) return code;
    if (!p.parameters == !p.extra && function->argument_bytes) return hipErrorInvalidValue;
    Launch launch{function, p.grid, p.block, p.lds};
    code = arguments_of(*function, p.parameters, p.extra, launch.arguments);
    if (code == hipSuccess) code = check_launch(launch);
    if (code != hipSuccess) return code;
    return place.add(NodeType::kernel, [launch](Stream& own) { return run(own, launch); });
}

Code add_fill(const Place& place, const void* parameters) {
    if (!parameters) return hipErrorInvalidValue;
    const auto& p = *static_cast<const FillParameters*>(parameters);
    if (!p.to || (p.element != 1 && p.element != 2 && p.element != 4)) return hipErrorInvalidValue;
    if (p.height > 1 && p.width * p.element > p.pitch) return hipErrorInvalidValue;
    const Pattern pattern{p.to, p.value, p.element, p.width, p.pitch, p.height};
    return place.add(NodeType::fill, [pattern](Stream& own) { return fill(own, pattern); });
}

Code add_host(const Place& place, const void* parameters) {
    if (!parameters) return hipErrorInvalidValue;
    const HostParameters p = *static_cast<const HostParameters*>(parameters);
    if (!p.function) return hipErrorInvalidValue;
    return place.add(NodeType::host, [p](Stream&) {
        p.function(p.data);
        return hipSuccess;
    });
}

/// What the child holds now.
Code add_child(const Place& place, void* child) {
    const Graph* const graph = graph_of(child);
    if (!graph) return hipErrorInvalidValue;
    std::vector<const Node*> order;
    const Code code = graph->in_order(order);
    if (code != hipSuccess) return code;
    std::vector<Work> works;
    for (const Node* node : order)
        if (node->work) works.push_back(node->work);
    return place.add(NodeType::graph, [works](Stream& own) {
        for (const Work& work : works)
            if (const Code code = work(own); code != hipSuccess) return code;
        return hipSuccess;
    });
}

Code add_event(const Place& place, void* event, NodeType type) {
    if (!event_of(event)) return hipErrorInvalidValue;
    return place.add(type, [event, type](Stream& own) {
        if (type == NodeType::wait_event) return wait_for_event(own, event);
        Event* const there = event_of(event);
        return there ? record_event(own, *there) : hipErrorInvalidHandle;
    });
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipGraphAddKernelNode(void** node, void* graph, void* const* after, size_t count, const void* parameters) {
    return entry("hipGraphAddKernelNode", [&] { return add_kernel({node, graph, after, count}, parameters); });
}
int hipGraphAddMemcpyNode1D(void** node, void* graph, void* const* after, size_t count, void* to, const void* from,
                            size_t bytes, int kind) {
    return entry("hipGraphAddMemcpyNode1D", [&] {
        const Code code = check_copy(to, from, bytes, kind);
        if (code != hipSuccess) return code;
        return Place{node, graph, after, count}.add(NodeType::copy,
                                                    [=](Stream& own) { return copy(own, to, from, bytes); });
    });
}
int hipGraphAddMemsetNode(void** node, void* graph, void* const* after, size_t count, const void* parameters) {
    return entry("hipGraphAddMemsetNode", [&] { return add_fill({node, graph, after, count}, parameters); });
}
int hipGraphAddHostNode(void** node, void* graph, void* const* after, size_t count, const void* parameters) {
    return entry("hipGraphAddHostNode", [&] { return add_host({node, graph, after, count}, parameters); });
}
int hipGraphAddEmptyNode(void** node, void* graph, void* const* after, size_t count) {
    return entry("hipGraphAddEmptyNode", [&] { return add_node(node, graph, after, count, NodeType::empty, {}); });
}
int hipGraphAddChildGraphNode(void** node, void* graph, void* const* after, size_t count, void* child) {
    return entry("hipGraphAddChildGraphNode", [&] { return add_child({node, graph, after, count}, child); });
}
int hipGraphAddEventRecordNode(void** node, void* graph, void* const* after, size_t count, void* event) {
    return entry("hipGraphAddEventRecordNode",
                 [&] { return add_event({node, graph, after, count}, event, NodeType::record_event); });
}
int hipGraphAddEventWaitNode(void** node, void* graph, void* const* after, size_t count, void* event) {
    return entry("hipGraphAddEventWaitNode",
                 [&] { return add_event({node, graph, after, count}, event, NodeType::wait_event); });
}
