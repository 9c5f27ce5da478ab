#pragma once
#include "../kernel/build_helpers.h"
#include "../linear/interpreter.h"
#include "../target/gfx1100.h"

namespace strata::codegen {

/// What the kernel writes, run as blocks of threads.
inline test::Array in_blocks(const Kernel& kernel, const test::Slots& slots, const Target& target = gfx1100) {
    LinearProgram program = linearize(kernel, target).value();
    Memory memory;
    for (size_t slot = 0; slot < slots.size(); ++slot)
        for (size_t i = 0; i < slots[slot].numel(); ++i)
            memory[static_cast<int>(slot)].push_back(slots[slot].dtype.is_float() ? ConstArg{0, slots[slot].f[i]}
                                                                                  : ConstArg{slots[slot].i[i], 0});
    Interpreter(program, memory).run();
    test::Array out = slots[0];
    for (size_t i = 0; i < out.numel(); ++i) {
        if (out.dtype.is_float())
            out.f[i] = memory.at(0)[i].f;
        else
            out.i[i] = memory.at(0)[i].i;
    }
    return out;
}

}  // namespace strata::codegen
