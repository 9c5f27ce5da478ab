#pragma once
#include "../kernel/build_helpers.h"
#include "../linear/interpreter.h"
#include "../target/gfx1100.h"

namespace strata::codegen {

/// What the kernel writes, run as blocks of threads.
inline test::Array in_blocks(const Kernel& kernel, const test::Slots& slots) {
    LinearProgram program = linearize(kernel, gfx1100).value();
    Memory memory;
    for (size_t slot = 0; slot < slots.size(); ++slot)
        for (size_t i = 0; i < slots[slot].numel(); ++i)
            memory[static_cast<int>(slot)].push_back({0, slots[slot].f[i]});
    Interpreter(program, memory).run();
    test::Array out = slots[0];
    for (size_t i = 0; i < out.numel(); ++i) out.f[i] = memory.at(0)[i].f;
    return out;
}

}  // namespace strata::codegen
