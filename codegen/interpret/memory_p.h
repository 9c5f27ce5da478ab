#pragma once
#include <map>
#include <span>

#include "strata/codegen/interpret/interpret.h"
#include "strata/codegen/interpret/shadow_p.h"

namespace strata::codegen {

/// All memory of one kernel: parameters by slot, local memory of the block that runs, registers of its threads.
class InterpretedMemory {
  public:
    InterpretedMemory(std::span<const InterpretedArgument> arguments, size_t threads);
    void begin_block();
    void all_before_are_done();  ///< later accesses race with no earlier one

    /// Elements of a memory; `thread` tells registers apart.
    struct Run {
        UOp memory;
        size_t thread;
        int64_t first;
        int lanes;
    };
    /// Each gives what is wrong, if anything.
    std::optional<Fault> load(const Run& run, const Accessor& by, std::span<ConstArg> values);
    std::optional<Fault> store(const Run& run, const Accessor& by, std::span<const ConstArg> values);
    /// The same of a copy that begins, and of its end, when the values are there.
    std::optional<Fault> begin_copy(const Run& run, const Accessor& by);
    void end_copy(const Run& run, const Accessor& by, std::span<const ConstArg> values);
    /// The old value; `change` gives the new one.
    std::optional<Fault> update(const Run& run, const Accessor& by, ConstArg& old,
                                const std::function<ConstArg(const ConstArg&)>& change);
    ConstArg number(int slot) const { return arguments_[static_cast<size_t>(slot)].number; }

  private:
    struct Area {
        std::vector<uint8_t> own;  ///< of local memory and registers
        std::span<uint8_t> bytes;
        Shadow shadow;
    };
    Area& area(const Run& run);
    /// `does`: reads, writes or updates.
    std::optional<Fault> out_of_bounds(const char* does, const Run& run, const Area& area) const;

    std::span<const InterpretedArgument> arguments_;
    size_t threads_;
    std::map<int, Area> global_;
    std::map<const Node*, Area> of_block_;  ///< local memory, and registers of all threads one after the other
};

/// The value of an element of memory, and its bits.
ConstArg decode(DType type, const uint8_t* from);
void encode(DType type, const ConstArg& value, uint8_t* to);

}  // namespace strata::codegen
