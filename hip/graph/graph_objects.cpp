// Objects of the program that graphs refer to.
#include "strata/hip/api/exports.h"
#include "strata/hip/graph/graphs_p.h"

namespace strata::hip::library {
namespace {

Code retain_for(void* graph_handle, void* object, unsigned count, unsigned flags) {
    constexpr unsigned kMoves = 1;
    Graph* const graph = graph_of(graph_handle);
    if (!graph || flags > kMoves) return hipErrorInvalidValue;
    const Code code = check_object(object, count);
    if (code == hipSuccess) graph->objects.add(object, count, flags == kMoves);
    return code;
}

Code release_from(void* graph_handle, void* object, unsigned count) {
    Graph* const graph = graph_of(graph_handle);
    if (!graph) return hipErrorInvalidValue;
    const Code code = check_object(object, count);
    if (code == hipSuccess) graph->objects.drop(object, count);
    return code;
}

}  // namespace
}  // namespace strata::hip::library

using namespace strata::hip::library;

int hipGraphRetainUserObject(void* graph, void* object, unsigned count, unsigned flags) {
    return entry("hipGraphRetainUserObject", [&] { return retain_for(graph, object, count, flags); });
}
int hipGraphReleaseUserObject(void* graph, void* object, unsigned count) {
    return entry("hipGraphReleaseUserObject", [&] { return release_from(graph, object, count); });
}
