#pragma once
#include "strata/codegen/schedule/schedule.h"

namespace strata::codegen {

/// Storage for graphs that are compiled and not run: buffers are names without memory, nothing is computed already.
class NamedStorage final : public Storage {
  public:
    UOp new_buffer(DType dtype, int64_t size) override {
        return make(Op::buffer, dtype, {}, BufferArg{next_id_++, size, 0});
    }
    UOp find(UOp) override { return UOp(); }

  private:
    uint64_t next_id_ = uint64_t{1} << 63;  // far from the buffers that have memory
};

}  // namespace strata::codegen
