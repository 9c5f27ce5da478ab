#pragma once
#include <map>

#include "strata/codegen/machine/builder.h"
#include "strata/codegen/select/known_predicates_p.h"
#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/numbers.h"
#include "strata/core/uop/uop.h"

// Selection: one operation of a linear program after the other becomes instructions. What is the same for all lanes stays
// in scalar registers as long as scalar units can compute it: an operation is scalar where all of its sources are.
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

/// What an operation came to: registers or a number; a truth is a lane mask, or 0 or 1 in a scalar register.
struct Value : Source {
    bool mask = false;         ///< a truth as a bit a lane
    std::vector<Value> lanes;  ///< of a vector

    Value() = default;
    Value(Source source, bool mask = false) : Source(source), mask(mask) {}
    bool known() const { return place || number || fixed || !lanes.empty(); }
};

/// An offset in elements as a sum of what scalar units hold, what vector units hold, and a number: memory instructions add
/// the three.
struct Offset {
    struct Part {
        std::optional<Source> source;
        int64_t low = 0, high = 0;  ///< bounds of its value
    };
    Part scalar, vector;
    int64_t constant = 0;
};

inline constexpr uint8_t kScopeDevice = 2;  ///< RDNA4 ISA 10.9, "SCOPE_DEV"

class Selector {
  public:
    Selector(const LinearProgram& program, MachineFunction& function);
    Result<void> run();

  private:
    bool select(UOp u);
    void find_uses();
    void begin_loop(UOp range);
    void end_loop(UOp range);
    void barrier();
    static uint64_t encoded(UOp constant);
    // entry.cpp
    void begin();
    void begin_ids();
    void begin_parameters(Place arguments);
    Place fixed(Bank bank, int dwords, uint16_t code);
    // arithmetic.cpp
    bool elementwise(UOp u);
    bool by_row(UOp u, std::span<const Value> s);
    bool real(UOp u, std::span<Value> s);
    bool of_truths(UOp u, std::span<const Value> s);
    Value where(UOp u, std::span<const Value> s);
    Value float_extreme(UOp u, std::span<const Value> s);
    bool fused(UOp u);
    Value narrowed(Value value, DType type);
    Value product(UOp u, std::span<const Value> s);
    // bounded.cpp
    void bounded(UOp u, std::span<const Value> s);
    // sums.cpp
    bool rotated(UOp u);
    bool counted(UOp u);
    bool scalar_sum(UOp u);
    static const char* shifted_add(int64_t factor);  ///< of scalars: a * factor + b, the carry of all of it in SCC
    bool sum_of_scalars(UOp u, std::span<const UOp> terms);
    Source shared_sum(std::span<const Source> scalars);
    bool product_sum(UOp u);
    static const char* short_product(UOp product, const char* without_sign, const char* with_sign);
    void add_terms(UOp u, std::vector<UOp>& terms) const;
    // dots.cpp
    struct Byte {
        Source dword;  ///< a register that it is part of
        uint32_t at = 0;
    };
    struct ByteProduct {
        UOp product;
        Byte a, b;
        bool signed_a = false, signed_b = false;
    };
    bool dot(UOp u, std::span<const UOp> terms);
    std::optional<Byte> byte_of(UOp factor);
    std::optional<ByteProduct> byte_product(UOp u);
    Source joined(const Byte* bytes);
    Source picked(const Source& low, const Source& high, std::array<uint32_t, 4> bytes);
    // division.cpp
    bool division_step(UOp u);
    Code::Carried scaled(UOp n, UOp d, bool of_n);
    // integer64.cpp
    bool wide_integer(UOp u, std::span<const Value> s);
    Value wide_sum(bool subtract, const Value& a, const Value& b);
    Value wide_product(UOp u, const Value& a, const Value& b);
    Value wide_shift(UOp u, const Value& x, int by);
    Value wide_extreme(UOp u, const Value& a, const Value& b);
    // convert.cpp
    bool convert(UOp u, const Value& x);
    bool convert_truth(UOp u, const Value& x);
    bool convert_to_truth(UOp u, const Value& x);
    Value reinterpret(UOp u, const Value& x);
    Value converted(const Value& x, NumberClass from, NumberClass to);
    // lanes.cpp
    bool shuffle(UOp u);
    void take_lane(Place to, Place from, int mask);
    Source far_lane(int mask);
    // matrix.cpp
    bool matrix_product(UOp u);
    Place fragment(UOp u);
    Source loaded_dword(UOp u, size_t first, size_t count) const;
    // address.cpp
    /// Of global memory: base + lanes + offset; of local memory: lanes + offset.
    struct Address {
        Source base;   ///< a pair of scalar registers
        Source lanes;  ///< 32 bits, without sign
        int32_t offset = 0;
        bool whole = false;  ///< `lanes` is a pair with all of the address, base nothing
    };
    Address global_address(UOp index, isa::Format format);  ///< with an offset that such instructions hold
    Address local_address(UOp index);
    void find_addresses();
    bool is_uniform(UOp index);  ///< one address for all lanes
    std::optional<int64_t> slope(UOp u);
    int32_t stride(UOp index);
    const Offset& split(UOp u);
    Offset::Part sum(const Offset::Part& a, const Offset::Part& b, bool scalar);
    Source base_at(UOp memory, const Offset::Part& scalar, int64_t bytes_beyond, int64_t size);
    Source times(const Source& x, int64_t factor, bool scalar);
    bool is_register_memory(Place place) const;
    Address wide_address(UOp index, int64_t size);
    // memory.cpp
    bool load(UOp u);
    bool store(UOp u);
    bool load_scalar(UOp u);
    bool load_vector(UOp u);
    bool load_register(UOp u);
    bool store_register(UOp u);
    bool stays(UOp load) const;
    Value unpacked(Place data, DType type);
    /// A register as a part of one that was loaded: which byte or half of it.
    struct Part {
        Source dword;
        int bytes;
        uint32_t number;
    };
    Part part_of(const Source& element, int bytes) const;
    Source packed(const Value& value, DType type);
    Place gate_of(UOp index);
    struct Access {
        Address at;
        Place lanes, gate;
        bool global = false;
        int32_t stride = Instruction::kUnsteady;
    };
    Access access_to(UOp index);
    Instruction& add_access(const char* name, const Access& to, Place data);
    // buffers.cpp
    /// Global memory of which gated accesses go through a descriptor.
    struct Bounded {
        int64_t before = 0;  ///< bytes that the descriptor begins in front of the memory
        int64_t bytes = 0;   ///< of the descriptor
        Place descriptor{};
        int loads = 0, stores = 0;  ///< what those are worth
    };
    void find_bounded();
    void begin_descriptors();
    bool may_be_bounded(UOp index);
    bool may_be_bounded(UOp load, UOp around);
    bool bounds_stores(UOp memory) const;
    static bool gives_zero(UOp u);
    Address bounded_address(UOp index, const Bounded& memory);
    Instruction& add_bounded(const char* name, UOp index, const Bounded& memory);
    bool load_bounded(UOp u, const char* name);
    bool store_bounded(UOp index, const char* name, Place data);
    // atomics.cpp
    struct Field {
        Access dword;
        Source shift, bits;  ///< where in the dword it begins; a mask
    };
    bool atomic(UOp u);
    bool atomic_by_row(UOp u);
    void swap_until_added(UOp u);
    Field field_around(Access to, DType type);
    Source added_to_field(const Field& field, DType type, const Source& old, const Source& value);
    Source rounded_to_bfloat16(const Source& x);
    // last_block.cpp
    void first_wave(UOp u);
    void last_block(UOp u);
    void go_on_where(std::string_view compare, Source value, uint64_t number, std::string label);
    void fence(bool releases);
    void compare_and_swap(const Access& where, Place now, Place to, Place from);

    const Value& value(UOp u) const { return values_.at(numbers_.find(skip_after(u))); }
    void set(UOp u, Value value) { values_.at(numbers_.find(u)) = std::move(value); }
    Source plain(const Value& value, DType type);  ///< with its modifiers applied
    Source all_lanes() const;
    Source mask_of(const Value& truth);  ///< a lane mask
    Source dword(const Source& wide, int i) const;
    int uses(UOp u) const {
        const uint32_t number = numbers_.find(u);
        return number >= position_.size() ? 0 : uses_[position_[number]].count;
    }
    bool takes_scalars(std::span<const Value> values) const;
    static UOp memory_of(UOp index) { return skip_after(index.src(0)); }

    const LinearProgram& program_;
    MachineFunction& function_;
    Code code_;
    NodeNumbers numbers_;        ///< of operations, then of parameters that none uses
    std::vector<Value> values_;  ///< by number
    UOpMap<Offset> offsets_;
    UOpMap<std::optional<int64_t>> slopes_;                                    ///< in the innermost loop
    UOpMap<bool> in_addresses_;                                                ///< sums that addresses are made of
    std::vector<std::pair<std::array<int64_t, 5>, Source>> bases_, products_;  ///< made already
    std::map<std::vector<uint64_t>, Source> shared_sums_;  ///< made already, by scalars and the number at the end
    struct Uses {
        int count = 0;
        size_t last = 0;  ///< the position of the last one; 0: none
    };
    std::vector<size_t> position_;        ///< by number, of operations
    UOpMap<std::vector<size_t>> stores_;  ///< to register memory
    std::vector<Uses> uses_;              ///< by position
    UOpMap<Place> loaded_;                ///< vectors as they were loaded
    UOpMap<bool> written_;                ///< global memory that the kernel writes
    KnownPredicates gates_;
    UOpMap<Bounded> bounded_;                        ///< of global memory
    std::vector<std::pair<UOp, UOp>> gated_stores_;  ///< innermost loop and gate
    UOpMap<uint32_t> local_address_;                 ///< of local memory
    UOpMap<std::vector<Place>> registers_;           ///< of register memory, one an element
    struct Scaled {
        UOp n, d;
        bool of_n;
        Code::Carried made;
    };
    std::vector<Scaled> scaled_;
    std::unordered_map<uint32_t, Part> parts_;  ///< registers that hold a part of another
    /// A loop that may have no step: the block that then goes on behind it, and what is known there.
    struct Skip {
        uint32_t from;
        UOpMap<Offset> offsets;
        size_t bases, products;
    };
    struct Loop {
        UOp range;
        Place counter;
        Source steps;
        uint32_t block;
        std::optional<Skip> skip;
    };
    void skip_loop(const Loop& loop);
    std::vector<Loop> loops_;
};

}  // namespace strata::codegen
