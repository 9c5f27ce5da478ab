#pragma once
#include "strata/codegen/select/arithmetic/integer64.h"
#include "strata/codegen/select/memory/register_memory.h"

namespace strata::codegen {

/// An offset in elements as a sum of what scalar units hold, what vector units hold, and a number: memory instructions
/// add the three.
struct Offset {
    struct Part {
        std::optional<Source> source;
        int64_t low = 0, high = 0;  ///< bounds of its value
        bool wide = false;          ///< a pair of registers, as scalar parts of offsets of 64 bits are
    };
    Part scalar, vector;
    int64_t constant = 0;
    bool fits = true;  ///< false: what differs between lanes needs 64 bits
};

/// An address of global memory: base + lanes + offset; of local memory: lanes + offset.
struct Address {
    Source base;   ///< a pair of scalar registers
    Source lanes;  ///< 32 bits, without sign
    int32_t offset = 0;
    bool whole = false;  ///< `lanes` is a pair with all of the address, base nothing
};

/// Splits offsets, and keeps the sums, products and bases that it made for the next access.
class Addresses : SelectionPart {
  public:
    Addresses(SelectionContext& context, const RegisterMemory& registers);

    Address global(UOp index, isa::Format format);  ///< with an offset that such instructions hold
    Address local(UOp index);
    bool is_uniform(UOp index);  ///< one address for all lanes
    std::optional<int64_t> slope(UOp u);
    int32_t stride(UOp index);
    const Offset& split(UOp u);
    void split_sum(UOp u);  ///< if it is one that addresses are made of
    Source times(const Source& x, int64_t factor, bool scalar);

    void change_loop() { slopes_.clear(); }

  private:
    using Numbers = std::array<int64_t, 5>;

    void find();
    void place_local_memory();
    Offset::Part sum(const Offset::Part& a, const Offset::Part& b, bool scalar);
    Offset sum(UOp u);
    Offset product(UOp u);
    Offset extended(UOp u);
    Offset whole(UOp u);
    Source times_wide(const Source& x, int64_t factor);
    Source base_at(UOp memory, const Offset::Part& scalar, int64_t bytes_beyond, int64_t size);
    Address wide(UOp index, int64_t size);
    std::optional<Address> split_address(UOp index, isa::Format format);

    const RegisterMemory& registers_;
    WideIntegers wide_;
    Remembered<UOp, Offset> offsets_;
    UOpMap<std::optional<int64_t>> slopes_;  ///< in the innermost loop
    UOpMap<bool> in_addresses_;              ///< sums that addresses are made of
    UOpMap<uint32_t> local_address_;         ///< of local memory
    Remembered<Numbers, Source> bases_;      ///< by pointer, scalar, bytes beyond, size of an element
    Remembered<Numbers, Source> products_;   ///< by register, factor, whether it is scalar
};

}  // namespace strata::codegen
