#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "strata/asm/emu/program/program.h"

namespace strata::emu {

/// Ops that a backward branch repeats, first and last one included.
struct Loop {
    size_t first = 0, last = 0;
    uint16_t parent = 0, depth = 0;
};

/// The loops of a chunk, each after those around it. Number 0 is the whole chunk, which no branch repeats.
struct Loops {
    std::vector<Loop> loops;
    std::vector<uint16_t> of_op;    ///< innermost loop, by op
    std::vector<uint16_t> entered;  ///< by op: a deeper loop that control may reach right after it; 0: none
    std::vector<uint8_t> arrived;   ///< by op: control may come here from another loop that is not around it
    bool holds(uint16_t outer, uint16_t inner) const;
};
/// By the chunk's own branches: calls and jumps by register are no part of a loop.
Loops loops_of(const Chunk& chunk);

}  // namespace strata::emu
