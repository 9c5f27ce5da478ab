#pragma once
#include "../kernel/build_helpers.h"
#include "../linear/interpreter.h"
#include "../target/gfx1100.h"

namespace strata::codegen {

/// The values that the kernel leaves in a slot, run as blocks of threads. Also the steps of loops that the first thread
/// of each block takes.
struct Ran {
    test::Array out;
    int64_t steps;
};

inline Ran run_in_blocks(const Kernel& kernel, const test::Slots& slots, const Target& target = gfx1100,
                         size_t stored = 0) {
    LinearProgram program = linearize(kernel, target).value();
    Memory memory;
    for (size_t slot = 0; slot < slots.size(); ++slot)
        for (size_t i = 0; i < slots[slot].numel(); ++i)
            memory[static_cast<int>(slot)].push_back(slots[slot].dtype.is_float() ? ConstArg{0, slots[slot].f[i]}
                                                                                  : ConstArg{slots[slot].i[i], 0});
    Interpreter run(program, memory);
    run.run();
    Ran ran{slots[stored], run.steps()};
    for (size_t i = 0; i < ran.out.numel(); ++i) {
        if (ran.out.dtype.is_float())
            ran.out.f[i] = memory.at(static_cast<int>(stored))[i].f;
        else
            ran.out.i[i] = memory.at(static_cast<int>(stored))[i].i;
    }
    return ran;
}

inline test::Array in_blocks(const Kernel& kernel, const test::Slots& slots, const Target& target = gfx1100) {
    return run_in_blocks(kernel, slots, target).out;
}

}  // namespace strata::codegen
