#pragma once
#include <memory>

#include "strata/asm/emu/check/access_table.h"
#include "strata/asm/emu/check/pointers.h"
#include "strata/asm/emu/launch/clear.h"
#include "strata/asm/emu/observe/cost.h"
#include "strata/asm/emu/observe/counter.h"
#include "strata/asm/emu/observe/instrumented.h"
#include "strata/asm/emu/program/program.h"
#include "strata/asm/emu/services/services.h"
#include "strata/asm/object/code_object.h"

namespace strata::emu {

/// Bytes of private memory that a lane has.
uint32_t scratch_bytes(const isa::KernelInfo& kernel);

/// A kernel ready to be launched.
struct LoadedKernel {
    const isa::KernelInfo* info = nullptr;
    std::unique_ptr<Program> program;
    std::unique_ptr<CostTable> costs;
    std::unique_ptr<InstrumentedCode> instrumented;  ///< what workgroups run that are observed
    std::unique_ptr<Counter> counter;
    std::unique_ptr<AccessTable> accesses;
    std::unique_ptr<InstrumentedCode> checked;  ///< what those run that only strict mode observes
    std::unique_ptr<AccessTable> shared_accesses;
    std::unique_ptr<InstrumentedCode> shared;  ///< the same where it looks at accesses to global memory one by one
    std::unique_ptr<PointerTable> pointers;
    const Op* entry = nullptr;
    std::unique_ptr<RowsToClear> cleared;
    ServiceArguments services;
    uint64_t descriptor = 0;  ///< device address
};

/// Decodes a kernel of an object that was placed at `base`; 0: it was not, and is read from the object itself.
Result<LoadedKernel> decode_kernel(const isa::CodeObject& object, const isa::KernelInfo& kernel, uint64_t base);
}  // namespace strata::emu
