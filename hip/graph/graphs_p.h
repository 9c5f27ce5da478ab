#pragma once
#include "strata/hip/memory/copy.h"
#include "strata/hip/memory/graph_memory.h"
#include "strata/hip/module/launch.h"
#include "strata/hip/stream/recording.h"

namespace strata::hip::library {

/// Calls change(node) for the one of a graph that was made ready which stands for a node of the graph.
Code change_ready(void* executable, const void* node, const std::function<Code(Node&)>& change);

/// A graph that was made ready keeps the directions of its copies, and the memory that it takes and gives back.
bool may_follow(const Details& a, const Details& b);

/// The work that the parameters of a program describe. Errors: hipErrorInvalidValue, hipErrorInvalidDeviceFunction, ...
Code kernel_details(const void* parameters, Details& out);
Code fill_details(const void* parameters, Details& out);
Code host_details(const void* parameters, Details& out);
Code event_details(void* event, bool waits, Details& out);
Code child_details(void* graph, Details& out);
/// The copy that hipMemcpy3DParms describe.
Code copy_details(const void* parameters, Details& out);
Code row_details(void* to, const void* from, size_t bytes, int kind, Details& out);
/// The copy of a part of a variable, to or from other memory. Errors: hipErrorInvalidSymbol, hipErrorInvalidValue, ...
Code row_to_variable(const void* symbol, const void* from, size_t bytes, size_t offset, int kind, Details& out);
Code row_from_variable(void* to, const void* symbol, size_t bytes, size_t offset, int kind, Details& out);

}  // namespace strata::hip::library
