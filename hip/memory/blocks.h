#pragma once
#include <optional>

#include "strata/hip/api/state.h"

/// Memory that the library gave out, or that the program registered.
namespace strata::hip::library {

enum class MemoryKind {
    device,
    host,  ///< hipHostMalloc: of the device, as all the emulator's memory is the host's too
    managed,
    registered,  ///< the program's own: hipHostRegister
    variable,    ///< of a code object
    mapped,      ///< hipMemMap: a part of a range of addresses (virtual_memory.cpp)
    imported     ///< of another process
};
struct Block {
    DevicePtr start = 0;
    size_t bytes = 0;
    int device = 0;  ///< as the emulator counts
    MemoryKind kind = MemoryKind::device;
    unsigned flags = 0;  ///< that it was made with
    void* pool = nullptr;

    /// The emulator knows it by its start; else it is copied as the host's.
    bool of_emulator() const { return kind < MemoryKind::registered || kind == MemoryKind::variable; }
    bool of_host() const { return kind == MemoryKind::host || kind == MemoryKind::registered; }
    size_t bytes_from(DevicePtr at) const { return static_cast<size_t>(start + bytes - at); }
};

/// Takes memory of a device.
Code allocate(int device, size_t bytes, MemoryKind kind, unsigned flags, void** out, void* pool = nullptr);
/// Gives it back. Error: hipErrorInvalidValue where it is none that allocate() gave.
Code release(void* memory);
void note(const Block& block);
std::optional<Block> take_note(DevicePtr start);  ///< of a block that is no more
/// The block that an address lies in.
std::optional<Block> block_of(const void* memory);
/// True if an address is of a device, freed or beyond any block: no memory that the host made.
bool belongs_to_device(const void* memory);
/// True if a range shares an address with a block.
bool overlaps_block(const void* memory, size_t bytes);
size_t free_bytes(int device);
void count_used(int device, int64_t bytes);  ///< what was taken besides blocks, or given back
/// True if a copy may read or write bytes from an address in a block on. Error: hipErrorInvalidValue.
Code check_span(const Block& block, const void* from, size_t bytes, bool writes);
/// All that allocate() gave on a device.
std::vector<Block> blocks_of(int device);
/// Other devices use memory of the host's and managed memory, and what they were given access to: from now on, or no
/// more.
void show_to_peers(const Block& block);
void hide_from_peers(const Block& block);
void count_returned(const Block& block);  ///< its pool holds it no more
void forget_peers_of(int device);         ///< it has access to none

}  // namespace strata::hip::library
