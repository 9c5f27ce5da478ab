#pragma once
#include "strata/codegen/machine/builder.h"
#include "strata/codegen/select/context/regions.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/numbers.h"
#include "strata/core/uop/uop.h"

// Selection: one operation of a linear program after the other becomes instructions. A value that is the same for all
// lanes stays in scalar registers as long as scalar units can compute it. An operation is scalar where all of its
// sources are.
namespace strata::codegen {

/// How a type is computed with. Integers below 32 bits are kept extended to 32 as their type says.
namespace number_class {
enum NumberClass : uint16_t {
    f16 = 1,
    f32 = 2,
    f64 = 4,
    i32 = 8,
    u32 = 16,
    i64 = 32,
    u64 = 64,
    bits16 = 128,
    truth = 256
};
}  // namespace number_class
using number_class::NumberClass;
NumberClass class_of(DType type);
inline bool is_real(NumberClass type) { return type & (number_class::f16 | number_class::f32 | number_class::f64); }
int dwords_of(DType type);  ///< registers of one value, of any lanes
bool is_once(UOp range);    ///< a loop of one step: a condition, where threads leave it

/// The value of an operation: registers or a number; a truth is a lane mask, or 0 or 1 in a scalar register.
struct Value : Source {
    bool mask = false;         ///< a truth as a bit a lane
    std::vector<Value> lanes;  ///< of a vector

    Value() = default;
    Value(Source source, bool mask = false) : Source(source), mask(mask) {}
    bool known() const { return place || number || fixed || !lanes.empty(); }
};

Source dword(const Source& wide, int i);
uint64_t encoded(UOp constant);  ///< its bits

/// State that all classes of selection share: the program, the code, and each operation's value.
class SelectionContext {
  public:
    SelectionContext(const LinearProgram& program, MachineFunction& function);

    const LinearProgram& program;
    MachineFunction& function;
    Code code;
    std::vector<UOp> loops;  ///< ranges of the loops that are open, the innermost last
    Regions regions;         ///< of what is Remembered
    Place active;            ///< lanes that have left no loop around by themselves, a mask; none: all

    const Value& value(UOp u) const { return values_.at(numbers_.find(skip_after(u))); }
    void set(UOp u, Value value) { values_.at(numbers_.find(u)) = std::move(value); }

    int uses(UOp u) const;
    std::optional<size_t> position(UOp u) const;          ///< in the program; none of parameters that no operation uses
    std::span<const size_t> stores_to(UOp memory) const;  ///< positions
    bool writes(UOp memory) const { return stores_.contains(memory); }
    size_t last_use(size_t position) const { return uses_[position].last; }  ///< position; 0: none

    Source plain(const Value& value, DType type);  ///< with its modifiers applied
    Source all_lanes() const;
    Source mask_of(const Value& truth);   ///< a lane mask
    Place predicate_of(UOp index);        ///< lanes that access it: a mask, none for all
    Place among_active(Place predicate);  ///< those of its lanes, or of all, that are active; none: all
    bool takes_scalars(std::span<const Value> values) const;

  private:
    void find_uses();
    void find_last_uses(std::span<const size_t> sources, std::span<const size_t> first);

    struct Uses {
        int count = 0;
        size_t last = 0;  ///< the position of the last one; 0: none
    };
    NodeNumbers numbers_;                 ///< of operations, then of parameters that none uses
    std::vector<Value> values_;           ///< by number
    std::vector<size_t> position_;        ///< by number, of operations
    std::vector<Uses> uses_;              ///< by position
    UOpMap<std::vector<size_t>> stores_;  ///< by memory
    struct {
        Place predicate, active, lanes;
        uint32_t block = 0;
    } among_active_;  ///< what it gave last: neighbouring accesses have one predicate
};

/// A class of selection: the context and short names for what is in it.
class SelectionPart {
  protected:
    explicit SelectionPart(SelectionContext& context)
        : context_(context), program_(context.program), function_(context.function), code_(context.code) {}

    const Value& value(UOp u) const { return context_.value(u); }
    void set(UOp u, Value value) { context_.set(u, std::move(value)); }
    int uses(UOp u) const { return context_.uses(u); }
    Source plain(const Value& value, DType type) { return context_.plain(value, type); }
    Source all_lanes() const { return context_.all_lanes(); }
    Source mask_of(const Value& truth) { return context_.mask_of(truth); }
    bool takes_scalars(std::span<const Value> values) const { return context_.takes_scalars(values); }

    SelectionContext& context_;
    const LinearProgram& program_;
    MachineFunction& function_;
    Code& code_;
};

}  // namespace strata::codegen
