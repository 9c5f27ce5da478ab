#pragma once
#include <set>

#include "strata/asm/lint/access.h"
#include "strata/codegen/machine/placed_code.h"

// Passes that add instructions by what is known at each place of placed code, whichever way control came there.
namespace strata::codegen {

/// The accesses of each instruction of each block.
inline std::vector<std::vector<lint::Access>> accesses_of(const MachineFunction& function) {
    std::vector<std::vector<lint::Access>> all(function.blocks.size());
    for (size_t i = 0; i < all.size(); ++i) {
        all[i].reserve(function.blocks[i].code.size());
        for (const Instruction& one : function.blocks[i].code)
            all[i].push_back(lint::access_of(function.target.arch, one.inst, function.wave_size()));
    }
    return all;
}

/// The instructions to add to each block.
using Insertions = std::vector<std::vector<Insertion>>;

inline void insert(MachineFunction& function, const Insertions& added) {
    for (size_t i = 0; i < added.size(); ++i) insert(function.blocks[i], added[i]);
}

/// walk(block, state, added) goes through a block from the state at its start and returns the state at its end. join()
/// merges that into the blocks after it until none changes. Then its insertions are made.
template <class State, class Walk>
void insert_by_flow(MachineFunction& function, const State& fresh, Walk walk) {
    const size_t blocks = function.blocks.size();
    std::vector<State> entered(blocks, fresh);
    Insertions added(blocks);
    std::set<uint32_t> open;
    for (uint32_t i = 0; i < blocks; ++i) open.insert(i);
    while (!open.empty()) {
        const uint32_t block = *open.begin();
        open.erase(open.begin());
        added[block].clear();
        const State left = walk(block, entered[block], added[block]);
        for (uint32_t next : function.successors(block))
            if (entered[next].join(left)) open.insert(next);
    }
    insert(function, added);
}

}  // namespace strata::codegen
