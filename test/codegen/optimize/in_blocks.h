#pragma once
#include "../kernel/build_helpers.h"
#include "../linear/interpreter.h"
#include "../target/gfx1100.h"

namespace strata::codegen {

/// The kernel's output, run as blocks of threads, and the steps that the loops of each block's first thread take.
struct Ran {
    test::Array out;
    int64_t steps;
};

inline Ran run_in_blocks(const Kernel& kernel, const test::Slots& slots, const Target& target = gfx1100) {
    LinearProgram program = linearize(kernel, target).value();
    Memory memory;
    for (size_t slot = 0; slot < slots.size(); ++slot)
        for (size_t i = 0; i < slots[slot].numel(); ++i)
            memory[static_cast<int>(slot)].push_back(slots[slot].dtype.is_float() ? ConstArg{0, slots[slot].f[i]}
                                                                                  : ConstArg{slots[slot].i[i], 0});
    Interpreter run(program, memory);
    run.run();
    Ran ran{slots[0], run.steps()};
    for (size_t i = 0; i < ran.out.numel(); ++i) {
        if (ran.out.dtype.is_float())
            ran.out.f[i] = memory.at(0)[i].f;
        else
            ran.out.i[i] = memory.at(0)[i].i;
    }
    return ran;
}

inline test::Array in_blocks(const Kernel& kernel, const test::Slots& slots, const Target& target = gfx1100) {
    return run_in_blocks(kernel, slots, target).out;
}

}  // namespace strata::codegen
