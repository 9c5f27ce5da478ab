// A graph as text for Graphviz.
#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "strata/hip/api/exports.h"
#include "strata/hip/graph/graphs_p.h"
#include "strata/hip/memory/blocks.h"

namespace strata::hip::library {
namespace {

/// hipGraphDebugDotFlags.
enum Flag : unsigned {
    everything = 1 << 0,
    kernels = 1 << 2,
    copies = 1 << 3,
    fills = 1 << 4,
    calls = 1 << 5,
    events = 1 << 6,
    attributes = 1 << 9,
    handles = 1 << 10
};

const char* name_of(NodeType type) {
    switch (type) {
        case NodeType::kernel: return "KERNEL";
        case NodeType::copy: return "MEMCPY";
        case NodeType::fill: return "MEMSET";
        case NodeType::host: return "HOST";
        case NodeType::graph: return "GRAPH";
        case NodeType::empty: return "EMPTY";
        case NodeType::wait_event: return "EVENT_WAIT";
        case NodeType::record_event: return "EVENT_RECORD";
        case NodeType::allocate: return "MEM_ALLOC";
        case NodeType::free: return "MEM_FREE";
    }
    return "";
}

char side(const void* memory, const void* array) { return array ? 'A' : block_of(memory) ? 'D' : 'H'; }
std::string direction(const Box& box) {
    const void* const from = box.given ? box.given->from_array : nullptr;
    const void* const to = box.given ? box.given->to_array : nullptr;
    return fmt::format("{}to{}", side(box.from, from), side(box.to, to));
}

/// Lines of what a node does, as far as the flags ask for it.
struct Lines {
    unsigned flags;
    bool wants(unsigned flag) const { return flags & (flag | everything); }

    std::string operator()(const Details& what) const {
        return of_kinds<Launch, Box, FillParameters, HostParameters, EventParameters, Allocation, Freeing>(what);
    }
    template <class... Kinds>
    std::string of_kinds(const Details& what) const {
        std::string out;
        const auto add = [&](const auto* own) { out += own ? (*this)(*own) : std::string(); };
        (add(what.get_if<Kinds>()), ...);
        return out;
    }
    std::string operator()(const Launch& own) const {
        std::string out = "\\n" + own.function->kernel.name;
        const Dim3 &grid = own.grid, &block = own.block;
        if (wants(kernels))
            out += fmt::format("\\ngrid {} {} {}\\nblock {} {} {}\\nshared {}", grid.x, grid.y, grid.z, block.x,
                               block.y, block.z, own.lds);
        if (wants(handles)) out += fmt::format("\\nfunction {}", fmt::ptr(own.function));
        return out;
    }
    std::string operator()(const Box& own) const {
        const Rows& rows = own.rows;
        std::string out = "\\n" + direction(own);
        if (wants(copies))
            out += fmt::format("\\nfrom {}\\nto {}\\nbytes {} {} {}", own.from, fmt::ptr(own.to), rows.width,
                               rows.height, rows.depth);
        return out;
    }
    std::string operator()(const FillParameters& own) const {
        if (!wants(fills)) return {};
        return fmt::format("\\nto {}\\nvalue {:#x}\\nelements {} of {}\\nrows {}", own.to, own.value, own.width,
                           own.element, own.height);
    }
    std::string operator()(const HostParameters& own) const {
        if (!wants(calls)) return {};
        return fmt::format("\\nfunction {:#x}\\ndata {}", reinterpret_cast<uintptr_t>(own.function), own.data);
    }
    std::string operator()(const EventParameters& own) const {
        return wants(events) ? fmt::format("\\nevent {}", own.event) : std::string();
    }
    std::string operator()(const Allocation& own) const { return of_memory(*own.memory); }
    std::string operator()(const Freeing& own) const { return of_memory(*own.memory); }
    static std::string of_memory(const GraphMemory& own) {
        return fmt::format("\\n{}\\nbytes {}", own.parameters.memory, own.parameters.bytes);
    }
};

std::string attributes_of(const Node& node) {
    constexpr int kCooperative = 2, kPriority = 8;
    std::string out;
    for (const auto& [attribute, value] : node.attributes) {
        if (attribute == kCooperative) out += fmt::format("\\ncooperative {}", value.cooperative);
        if (attribute == kPriority) out += fmt::format("\\npriority {}", value.priority);
    }
    return out;
}

void write(const Graph& graph, const Lines& lines, const std::string& prefix, std::string& out) {
    std::map<const Node*, std::string> names;
    for (const auto& node : graph.nodes) names[node.get()] = fmt::format("{}_{}", prefix, names.size());
    out += fmt::format("subgraph cluster_{} {{\nlabel=\"{}\"\n", prefix, prefix);
    for (const auto& node : graph.nodes) {
        const std::string& name = names[node.get()];
        const std::string handle = lines.wants(handles) ? fmt::format("\\n{}", fmt::ptr(node.get())) : "";
        std::string text = lines(node->details);
        if (lines.wants(attributes) && node->type == NodeType::kernel) text += attributes_of(*node);
        out += fmt::format("{} [shape=box label=\"{}{}{}\"]\n", name, name_of(node->type), handle, text);
        if (const auto* child = node->details.get_if<Child>()) write(**child, lines, name, out);
        for (const Node* before : node->after) out += fmt::format("{} -> {}\n", names.at(before), name);
    }
    out += "}\n";
}

Code print(void* handle, const char* path, unsigned flags) {
    const Graph* const graph = graph_of(handle);
    if (!graph || !path) return hipErrorInvalidValue;
    std::string text = "digraph {\n";
    write(*graph, {flags}, "graph", text);
    text += "}\n";
    std::FILE* const file = std::fopen(path, "w");
    if (!file) return hipErrorOperatingSystem;
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return (std::fclose(file) == 0) && written ? hipSuccess : hipErrorOperatingSystem;
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipGraphDebugDotPrint(void* graph, const char* path, unsigned flags) {
    return entry("hipGraphDebugDotPrint", [&] { return print(graph, path, flags); });
}
