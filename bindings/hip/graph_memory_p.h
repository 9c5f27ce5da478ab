#pragma once
#include <memory>
#include <optional>

#include "strata/bindings/hip/state_p.h"
#include "strata/bindings/hip/structs_p.h"

namespace strata::hip::library {

/// Memory that nodes of graphs take and give back. It has its address from when the node that takes it is made until no node names
/// it and it is not taken.
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
/// Gives it back, to nodes that name it or else to the device; none: it is no memory of graphs. Error: hipErrorInvalidValue where it
/// is not taken.
std::optional<Code> free_graph_memory(const void* memory);

}  // namespace strata::hip::library
