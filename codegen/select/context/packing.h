#pragma once
#include <unordered_map>

#include "strata/codegen/select/context/context.h"

namespace strata::codegen {

/// Elements narrower than a register, in registers as memory and matrix instructions take them.
class Packing : SelectionPart {
  public:
    explicit Packing(SelectionContext& context) : SelectionPart(context) {}

    struct Byte {
        Source dword;  ///< a register that it is part of
        uint32_t at = 0;
    };
    /// A register as a part of another one: which byte or half of it.
    struct Part {
        Source dword;
        int bytes;
        uint32_t number;
    };
    Value unpacked(Place data, DType type);
    Source packed(const Value& value, DType type);
    Source joined(const Byte* bytes);
    Part part_of(const Source& element, int bytes) const;

    /// The lower half of `element` is the upper half of `dword`, a register that nothing writes again.
    void set_upper(const Source& element, const Source& dword);

    /// Registers of a vector as it was loaded.
    std::optional<Place> loaded(UOp load) const;
    void set_loaded(UOp load, Place data) { loaded_[load] = data; }

  private:
    Source picked(const Source& low, const Source& high, std::array<uint32_t, 4> bytes);

    UOpMap<Place> loaded_;
    std::unordered_map<uint32_t, Part> parts_;  ///< by register
};

}  // namespace strata::codegen
