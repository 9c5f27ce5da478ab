#pragma once
#include <cstdint>
#include <map>

#include "strata/hip/api/state.h"

namespace strata::hip::library {

/// Error: hipErrorInvalidValue where a handle was never given, or that is no number of references.
Code check_object(void* handle, unsigned count);

/// References to objects of the program that a graph holds; a copy of the graph holds its own.
class HeldObjects {
  public:
    HeldObjects() = default;
    HeldObjects(const HeldObjects& other);
    HeldObjects& operator=(const HeldObjects&) = delete;
    ~HeldObjects();
    /// `moves`: references that the program had.
    void add(void* object, unsigned count, bool moves);
    void drop(void* object, unsigned count);

  private:
    std::map<void*, uint64_t> counts_;
};

}  // namespace strata::hip::library
