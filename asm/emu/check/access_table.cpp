#include "strata/asm/emu/check/access_table.h"

namespace strata::emu {

const std::vector<lint::Access>& AccessTable::of(const Chunk& chunk) {
    return accesses_.get(chunk, [&] {
        std::vector<lint::Access> accesses;
        accesses.reserve(chunk.insts.size());
        for (const isa::Inst& inst : chunk.insts)
            accesses.push_back(inst.row ? lint::access_of(program_.arch(), inst, program_.wave_size())
                                        : lint::Access{});
        return accesses;
    });
}

}  // namespace strata::emu
