#pragma once
#include "strata/bindings/hip/graph_p.h"

namespace strata::hip::library {

/// Graphs that the program has handles of.
Graph* keep(std::shared_ptr<Graph> graph);
/// One that the program is told of while streams record into it.
void tell_of(const std::shared_ptr<Graph>& graph);
std::shared_ptr<Graph> kept(void* handle);  ///< nullptr: it is none
Graph* graph_of(void* handle);              ///< nullptr: it is none
/// A node of any of them, and its graph; nullptr: it is none.
Node* node_of(const void* handle, Graph** graph = nullptr);
/// The nodes a call was given; hipErrorInvalidValue where one is not of the graph.
Code nodes_of(const Graph& graph, void* const* nodes, size_t count, std::vector<Node*>& out);
/// Calls change(node) for the one of a graph that was made ready which stands for a node of the graph.
Code change_ready(void* executable, const void* node, const std::function<Code(Node&)>& change);

/// A graph that was made ready keeps the directions of its copies, and the memory that it takes and gives back.
bool may_follow(const Details& a, const Details& b);

/// What is to be done by parameters of a program. Errors: hipErrorInvalidValue, hipErrorInvalidDeviceFunction, ...
Code kernel_details(const void* parameters, Details& out);
Code fill_details(const void* parameters, Details& out);
Code host_details(const void* parameters, Details& out);
Code event_details(void* event, bool waits, Details& out);
Code child_details(void* graph, Details& out);
/// Takes AllocationParameters, and writes the address there.
Code allocation_details(void* parameters, Details& out);
/// Error: hipErrorInvalidValue where it is no memory of a graph's, or the graph gives it back already.
Code freeing_details(const Graph& graph, const void* memory, Details& out);
/// Of hipMemcpy3DParms.
Code copy_details(const void* parameters, Details& out);
Code row_details(void* to, const void* from, size_t bytes, int kind, Details& out);
/// Of a part of a variable, to or from other memory. Errors: hipErrorInvalidSymbol, hipErrorInvalidValue, ...
Code row_to_variable(const void* symbol, const void* from, size_t bytes, size_t offset, int kind, Details& out);
Code row_from_variable(void* to, const void* symbol, size_t bytes, size_t offset, int kind, Details& out);

}  // namespace strata::hip::library
