// Reads and changes what nodes do, in a graph and in one that was made ready.
#include <functional>

#include "strata/hip/api/exports.h"
#include "strata/hip/graph/graphs_p.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/module/registration.h"

namespace strata::hip::library {
namespace {

/// Calls tell_of(node, details) for a node whose details are of a kind.
template <class Kind, class Tell>
Code ask(const void* handle, Tell&& tell_of) {
    Node* const node = node_of(handle);
    if (!node) return hipErrorInvalidValue;
    const auto* const details = node->details.get_if<Kind>();
    return details ? tell_of(*node, *details) : hipErrorInvalidValue;
}

template <class Parameters>
Code copy_out(const void* handle, void* out) {
    if (!out) return hipErrorInvalidValue;
    return ask<Parameters>(handle, [&](Node&, const Parameters& own) {
        *static_cast<Parameters*>(out) = own;
        return hipSuccess;
    });
}

Code kernel_parameters(const void* handle, void* out) {
    if (!out) return hipErrorInvalidValue;
    return ask<Launch>(handle, [&](Node& node, const Launch& launch) {
        node.pointers.clear();
        for (const isa::KernelArg& argument : launch.function->kernel.args) {
            if (argument.value_kind.starts_with("hidden_")) break;
            node.pointers.push_back(const_cast<uint8_t*>(&launch.arguments[argument.offset]));
        }
        *static_cast<KernelParameters*>(out) = {
            launch.block,         nullptr,   launch.host ? launch.host : launch.function, launch.grid,
            node.pointers.data(), launch.lds};
        return hipSuccess;
    });
}

Code copy_parameters(const void* handle, void* out) {
    if (!out) return hipErrorInvalidValue;
    return ask<Box>(handle, [&](Node&, const Box& box) {
        write_box(box, out);
        return hipSuccess;
    });
}

Code event_of_node(const void* handle, bool waits, void** out) {
    if (!out) return hipErrorInvalidValue;
    return ask<EventParameters>(handle, [&](Node&, const EventParameters& own) {
        return own.waits == waits ? set(out, own.event) : hipErrorInvalidValue;
    });
}

/// True if a copy would write to what it reads.
bool overlaps(const Box& box) {
    const DevicePtr to = address(box.to), from = address(box.from);
    return box.rows.height == 1 && to < from + box.rows.width && from < to + box.rows.width;
}

template <class Read>
Code change(Node& node, NodeType type, Read&& read) {
    if (node.type != type) return hipErrorInvalidValue;
    Details details;
    const Code code = read(details);
    if (code == hipSuccess) node.become(std::move(details));
    return code;
}
/// Parameters of a copy of one row that may take the place of others.
Code changed_row(void* to, const void* from, size_t bytes, int kind, Details& out) {
    const Code code = row_details(to, from, bytes, kind, out);
    return code == hipSuccess && overlaps(*out.get_if<Box>()) ? hipErrorInvalidValue : code;
}
/// Refuses the ends that a copy to or from a variable must not get. They are another variable's name, or memory of the
/// host that is called the device's.
Code check_other_end(const void* memory, int kind) {
    constexpr int kWithinDevice = 3;
    DeviceRange range;
    const bool is_variable = memory && find_variable(memory, range) == hipSuccess;
    return is_variable || (kind == kWithinDevice && !block_of(memory)) ? hipErrorInvalidValue : hipSuccess;
}
Code changed_to(const void* symbol, const void* from, size_t bytes, size_t offset, int kind, Details& out) {
    const Code code = row_to_variable(symbol, from, bytes, offset, kind, out);
    return code == hipSuccess ? check_other_end(from, kind) : code;
}
Code changed_from(void* to, const void* symbol, size_t bytes, size_t offset, int kind, Details& out) {
    const Code code = row_from_variable(to, symbol, bytes, offset, kind, out);
    return code == hipSuccess ? check_other_end(to, kind) : code;
}
template <class Read>
Code in_graph(const void* handle, NodeType type, Read&& read) {
    Node* const node = node_of(handle);
    return node ? change(*node, type, read) : hipErrorInvalidValue;
}
template <class Read>
Code in_ready(void* executable, const void* handle, NodeType type, Read&& read) {
    return change_ready(executable, handle, [&](Node& node) {
        return change(node, type, [&](Details& out) {
            const Code code = read(out);
            return code == hipSuccess && !may_follow(node.details, out) ? hipErrorInvalidValue : code;
        });
    });
}

/// A child may be changed for one of the same shape.
Code change_child(void* executable, const void* handle, void* graph) {
    return change_ready(executable, handle, [&](Node& node) {
        const auto* const own = node.details.get_if<Child>();
        const Graph* const wanted = graph_of(graph);
        if (!own || !wanted) return hipErrorInvalidValue;
        if ((*own)->nodes.size() != wanted->nodes.size()) return hipErrorUnknown;
        for (size_t i = 0; i < wanted->nodes.size(); ++i)
            if ((*own)->nodes[i]->type != wanted->nodes[i]->type) return hipErrorUnknown;
        return change(node, NodeType::graph, [&](Details& out) { return child_details(graph, out); });
    });
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

// Three calls each: what a node does, something else, the same where the graph was made ready.
#define NODE_CALLS(name, type, tell_of, read)                                                                       \
    int hipGraph##name##NodeGetParams(void* node, void* out) {                                                      \
        return entry("hipGraph" #name "NodeGetParams", [&] { return tell_of(node, out); });                         \
    }                                                                                                               \
    int hipGraph##name##NodeSetParams(void* node, const void* parameters) {                                         \
        return entry("hipGraph" #name "NodeSetParams", [&] {                                                        \
            return in_graph(node, NodeType::type, [&](Details& out) { return read(parameters, out); });             \
        });                                                                                                         \
    }                                                                                                               \
    int hipGraphExec##name##NodeSetParams(void* executable, void* node, const void* parameters) {                   \
        return entry("hipGraphExec" #name "NodeSetParams", [&] {                                                    \
            return in_ready(executable, node, NodeType::type, [&](Details& out) { return read(parameters, out); }); \
        });                                                                                                         \
    }
NODE_CALLS(Kernel, kernel, kernel_parameters, kernel_details)
NODE_CALLS(Memcpy, copy, copy_parameters, copy_details)
NODE_CALLS(Memset, fill, copy_out<FillParameters>, fill_details)
NODE_CALLS(Host, host, copy_out<HostParameters>, host_details)
#undef NODE_CALLS

#define EVENT_CALLS(name, type, waits)                                                                             \
    int hipGraphEvent##name##NodeGetEvent(void* node, void** event) {                                              \
        return entry("hipGraphEvent" #name "NodeGetEvent", [&] { return event_of_node(node, waits, event); });     \
    }                                                                                                              \
    int hipGraphEvent##name##NodeSetEvent(void* node, void* event) {                                               \
        return entry("hipGraphEvent" #name "NodeSetEvent", [&] {                                                   \
            return in_graph(node, NodeType::type, [&](Details& out) { return event_details(event, waits, out); }); \
        });                                                                                                        \
    }                                                                                                              \
    int hipGraphExecEvent##name##NodeSetEvent(void* executable, void* node, void* event) {                         \
        return entry("hipGraphExecEvent" #name "NodeSetEvent", [&] {                                               \
            return in_ready(executable, node, NodeType::type,                                                      \
                            [&](Details& out) { return event_details(event, waits, out); });                       \
        });                                                                                                        \
    }
EVENT_CALLS(Record, record_event, false)
EVENT_CALLS(Wait, wait_event, true)
#undef EVENT_CALLS

int hipGraphMemcpyNodeSetParams1D(void* node, void* to, const void* from, size_t bytes, int kind) {
    return entry("hipGraphMemcpyNodeSetParams1D", [&] {
        return in_graph(node, NodeType::copy, [&](Details& out) { return changed_row(to, from, bytes, kind, out); });
    });
}
int hipGraphExecMemcpyNodeSetParams1D(void* executable, void* node, void* to, const void* from, size_t bytes,
                                      int kind) {
    return entry("hipGraphExecMemcpyNodeSetParams1D", [&] {
        return in_ready(executable, node, NodeType::copy,
                        [&](Details& out) { return changed_row(to, from, bytes, kind, out); });
    });
}
int hipGraphMemcpyNodeSetParamsToSymbol(void* node, const void* symbol, const void* from, size_t bytes, size_t offset,
                                        int kind) {
    return entry("hipGraphMemcpyNodeSetParamsToSymbol", [&] {
        if (!symbol) return hipErrorInvalidSymbol;
        return in_graph(node, NodeType::copy,
                        [&](Details& out) { return changed_to(symbol, from, bytes, offset, kind, out); });
    });
}
int hipGraphExecMemcpyNodeSetParamsToSymbol(void* executable, void* node, const void* symbol, const void* from,
                                            size_t bytes, size_t offset, int kind) {
    return entry("hipGraphExecMemcpyNodeSetParamsToSymbol", [&] {
        if (!symbol) return hipErrorInvalidSymbol;
        return in_ready(executable, node, NodeType::copy,
                        [&](Details& out) { return changed_to(symbol, from, bytes, offset, kind, out); });
    });
}
int hipGraphMemcpyNodeSetParamsFromSymbol(void* node, void* to, const void* symbol, size_t bytes, size_t offset,
                                          int kind) {
    return entry("hipGraphMemcpyNodeSetParamsFromSymbol", [&] {
        if (!symbol) return hipErrorInvalidSymbol;
        return in_graph(node, NodeType::copy,
                        [&](Details& out) { return changed_from(to, symbol, bytes, offset, kind, out); });
    });
}
int hipGraphExecMemcpyNodeSetParamsFromSymbol(void* executable, void* node, void* to, const void* symbol, size_t bytes,
                                              size_t offset, int kind) {
    return entry("hipGraphExecMemcpyNodeSetParamsFromSymbol", [&] {
        if (!symbol) return hipErrorInvalidSymbol;
        return in_ready(executable, node, NodeType::copy,
                        [&](Details& out) { return changed_from(to, symbol, bytes, offset, kind, out); });
    });
}
int hipGraphExecChildGraphNodeSetParams(void* executable, void* node, void* graph) {
    return entry("hipGraphExecChildGraphNodeSetParams", [&] { return change_child(executable, node, graph); });
}
int hipGraphNodeSetEnabled(void* executable, void* node, unsigned enabled) {
    return entry("hipGraphNodeSetEnabled", [&] {
        return change_ready(executable, node, [&](Node& own) {
            if (own.type > NodeType::fill) return hipErrorInvalidValue;
            own.enabled = enabled != 0;
            return hipSuccess;
        });
    });
}
int hipGraphNodeGetEnabled(void* executable, void* node, unsigned* enabled) {
    return entry("hipGraphNodeGetEnabled", [&] {
        return change_ready(executable, node, [&](Node& own) {
            return own.type > NodeType::fill ? hipErrorInvalidValue : set(enabled, own.enabled);
        });
    });
}
