#pragma once
#include "strata/bindings/hip/graph_p.h"

namespace strata::hip::library {

/// Graphs that the program has handles of.
Graph* keep(std::unique_ptr<Graph> graph);
Graph* graph_of(void* handle);  ///< nullptr: it is none
/// Adds a node behind those of `after`. Error: hipErrorInvalidValue.
Code add_node(void** out, void* graph, void* const* after, size_t count, NodeType type, Work work);

}  // namespace strata::hip::library
