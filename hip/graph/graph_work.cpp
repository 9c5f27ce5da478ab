// The work of graphs' nodes, from the structs in which programs describe it.
#include <algorithm>

#include "strata/hip/graph/graphs_p.h"
#include "strata/hip/memory/blocks.h"
#include "strata/hip/memory/fill.h"
#include "strata/hip/module/registration.h"
#include "strata/hip/stream/event.h"

namespace strata::hip::library {
bool may_follow(const Details& a, const Details& b) {
    const auto same = [&]<class Kind>(auto Kind::* what) {
        const auto *one = a.get_if<Kind>(), *other = b.get_if<Kind>();
        return !one || !other || one->*what == other->*what;
    };
    return same(&Box::kind) && same(&Allocation::memory) && same(&Freeing::memory);
}

Code kernel_details(const void* parameters, Details& out) {
    if (!parameters) return hipErrorInvalidValue;
    const auto& p = *static_cast<const KernelParameters*>(parameters);
    if (!p.function) return hipErrorInvalidValue;
    const Function* function = function_at(p.function);
    Code code = hipSuccess;
    if (Function* of_host = nullptr; !function) {
        code = find_kernel(p.function, of_host);
        if (code != hipSuccess) return code;
        function = of_host;
    }
    if (!p.parameters == !p.extra && function->argument_bytes) return hipErrorInvalidValue;
    Launch launch{function, p.grid, p.block, p.lds, {}, p.function};
    code = arguments_of(*function, p.parameters, p.extra, launch.arguments);
    if (code == hipSuccess) code = check_launch(launch);
    if (code == hipSuccess) out = std::move(launch);
    return code;
}

Code fill_details(const void* parameters, Details& out) {
    if (!parameters) return hipErrorInvalidValue;
    const auto& p = *static_cast<const FillParameters*>(parameters);
    if (!p.to || (p.element != 1 && p.element != 2 && p.element != 4) || !p.width || !p.height)
        return hipErrorInvalidValue;
    if (p.width > SIZE_MAX / p.element || (p.height > 1 && p.width * p.element > p.pitch)) return hipErrorInvalidValue;
    const std::optional<size_t> span = span_of({p.width * p.element, p.height}, p.pitch, 0);
    if (const auto block = block_of(p.to); !span || !block || check_span(*block, p.to, *span, true) != hipSuccess)
        return hipErrorInvalidValue;
    out = p;
    return hipSuccess;
}

Code host_details(const void* parameters, Details& out) {
    if (!parameters || !static_cast<const HostParameters*>(parameters)->function) return hipErrorInvalidValue;
    out = *static_cast<const HostParameters*>(parameters);
    return hipSuccess;
}

Code event_details(void* event, bool waits, Details& out) {
    if (!is_event(event)) return hipErrorInvalidValue;
    out = EventParameters{event, waits};
    return hipSuccess;
}

Code child_details(void* graph, Details& out) {
    const Graph* const own = graph_of(graph);
    if (!own) return hipErrorInvalidValue;
    std::vector<const Node*> order;
    const Code code = own->in_order(order);
    if (code == hipSuccess) out = std::make_shared<Graph>(*own);
    return code;
}

Code copy_details(const void* parameters, Details& out) {
    Box box;
    Code code = box_of(parameters, box);
    if (code == hipSuccess) code = check(box);
    if (code == hipSuccess) out = box;
    return code == hipErrorInvalidPitchValue ? hipErrorInvalidValue : code;
}

Code row_details(void* to, const void* from, size_t bytes, int kind, Details& out) {
    if (!to || !from || !bytes) return hipErrorInvalidValue;
    const Box box{to, from, {.width = bytes}, kind};
    Code code = check_copy(to, from, bytes, kind);
    if (code == hipSuccess) code = check_spans(box);
    if (code == hipSuccess) out = box;
    return code;
}

Code row_to_variable(const void* symbol, const void* from, size_t bytes, size_t offset, int kind, Details& out) {
    char* part = nullptr;
    const Code code = part_of(symbol, bytes, offset, part);
    return code == hipSuccess ? row_details(part, from, bytes, kind, out) : code;
}

Code row_from_variable(void* to, const void* symbol, size_t bytes, size_t offset, int kind, Details& out) {
    char* part = nullptr;
    const Code code = part_of(symbol, bytes, offset, part);
    return code == hipSuccess ? row_details(to, part, bytes, kind, out) : code;
}

}  // namespace strata::hip::library
