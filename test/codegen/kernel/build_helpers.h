#pragma once
#include <gtest/gtest.h>

#include "run_kernel.h"
#include "strata/codegen/kernel/build.h"
#include "strata/core/uop/verify.h"
#include "tensors.h"

namespace strata::codegen {

/// A kernel with the content of its buffers; slot 0 is the output, still empty.
struct Filled {
    Kernel kernel;
    test::Slots slots;
};

inline Filled built(UOp body) {
    UOp output = make(Op::buffer, body.dtype(), {}, BufferArg{2'000'000, body.numel(), 0});
    BoundKernel bound = build_kernel({output, body});
    Filled out{bound.kernel, {test::Array(body.dtype(), {body.numel()})}};
    EXPECT_EQ(bound.buffers[0], output);
    for (size_t i = 1; i < bound.buffers.size(); ++i)
        out.slots.push_back(test::contents().at(bound.buffers[i].as<BufferArg>().id));
    return out;
}

/// Runs a kernel over a copy of the memory; every element of the output must be written.
inline test::Array result(const Kernel& kernel, test::Slots slots) {
    Result<void> valid = verify_kernel(kernel.sink);
    EXPECT_TRUE(valid) << valid.error().message;
    try {
        test::KernelRun run(kernel, slots);
        EXPECT_EQ(run.written(), slots[0].numel());
    } catch (const std::runtime_error& e) {
        ADD_FAILURE() << e.what() << "\n" << tree(kernel.sink);
    }
    return slots[0];
}

/// The kernel of a body computes what the body means; returns it.
inline Kernel expect_built(UOp body) {
    Filled f = built(body);
    EXPECT_EQ(test::difference(result(f.kernel, f.slots), test::evaluate(body, test::contents())), "")
        << tree(body) << tree(f.kernel.sink);
    return f.kernel;
}

inline std::vector<UOp> nodes(const Kernel& kernel, Op op) {
    std::vector<UOp> out;
    for (UOp u : toposort(kernel.sink))
        if (u.is(op)) out.push_back(u);
    return out;
}

}  // namespace strata::codegen
