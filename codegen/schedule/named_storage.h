#pragma once
#include "strata/codegen/schedule/schedule.h"

namespace strata::codegen {

/// Storage for graphs that are compiled and not run: buffers are names without memory, nothing is computed already.
class NamedStorage final : public Storage {
  public:
    explicit NamedStorage(bool has_product_chains = true) : has_product_chains_(has_product_chains) {}
    bool has_product_chains() override { return has_product_chains_; }
    UOp new_buffer(DType dtype, int64_t size) override {
        return make(Op::buffer, dtype, {}, BufferArg{next_id_++, size, 0});
    }
    UOp find(UOp) override { return UOp(); }

  private:
    bool has_product_chains_;
    uint64_t next_id_ = uint64_t{1} << 63;  // far from the buffers that have memory
};

}  // namespace strata::codegen
