#pragma once
#include <vector>

#include "strata/codegen/kernel/kernel.h"
#include "strata/codegen/schedule/schedule.h"
#include "strata/core/support/result.h"

namespace strata::codegen {

/// A kernel and the buffer nodes its params stand for, by slot; the first are the outputs.
struct BoundKernel {
    Kernel kernel;
    std::vector<UOp> buffers;
};

/// Turns one item of a schedule (not a custom one) into a kernel: movement ops become index expressions over ranges.
BoundKernel build_kernel(const ScheduleItem& item);

/// Folds neighbouring ranges into one where that does not make the index expressions harder.
UOp merge_ranges(UOp sink);

/// A name from the kernel's form: "r_512_32" for a reduction or scan, "e_256" for elementwise; the sizes of its ranges.
std::string kernel_name(UOp sink);

}  // namespace strata::codegen
