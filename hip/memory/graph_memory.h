#pragma once
#include <memory>
#include <optional>

#include "strata/hip/api/state.h"
#include "strata/hip/api/structs.h"
#include "strata/hip/stream/recording.h"

namespace strata::hip::library {

/// Memory that nodes of graphs take and give back. It has its address from when the node that takes it is made until no
/// node names it and it is not taken.
struct GraphMemory {
    AllocationParameters parameters =
        {};          ///< as the program gave them, pointers too, as AMD's library tells them; with the address
    int device = 0;  ///< as the emulator counts

    GraphMemory() = default;
    GraphMemory(const GraphMemory&) = delete;
    ~GraphMemory();
};
using SharedGraphMemory = std::shared_ptr<GraphMemory>;

/// Errors: hipErrorInvalidValue, hipErrorOutOfMemory, hipErrorNotSupported for access of other devices.
Code allocate_for_graph(const AllocationParameters& wanted, SharedGraphMemory& out);
/// nullptr: an address where none starts.
SharedGraphMemory graph_memory_at(const void* memory);
/// Error: hipErrorInvalidValue where it is taken.
Code take_graph_memory(const SharedGraphMemory& memory);
/// Gives it back, to nodes that name it or else to the device; none: it is no memory of graphs. Error:
/// hipErrorInvalidValue where it is not taken.
std::optional<Code> free_graph_memory(const void* memory);

/// The work of nodes that take such memory, and that give it back.
struct Allocation {
    SharedGraphMemory memory;
};
struct Freeing {
    SharedGraphMemory memory;
};
Code perform(Stream& stream, const Allocation& what);
Code perform(Stream& stream, const Freeing& what);
/// Takes AllocationParameters, and writes the address there.
Code allocation_details(void* parameters, Details& out);
/// Error: hipErrorInvalidValue where it is no memory of a graph's, or the graph gives it back already.
Code freeing_details(const Graph& graph, const void* memory, Details& out);

}  // namespace strata::hip::library
