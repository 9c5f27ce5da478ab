// bounded: an index counted from its axis's end below 0. Any other index out of range ends the kernel by a store to an
// address that encodes the index and the axis (core/support/wrong_index.h).
#include "strata/codegen/select/arithmetic/arithmetic.h"
#include "strata/core/support/wrong_index.h"

namespace strata::codegen {
namespace {

constexpr int kIndexBits = 42;

}  // namespace

void Arithmetic::bounded(UOp u, std::span<const Value> s) {
    const bool wide = u.dtype().bits() == 64;
    const int dwords = wide ? 2 : 1;
    const Value index = Source::of(code_.in_vector(s[0], dwords)), &size = s[1];
    const Value from_end =
        wide ? wide_.sum(false, index, size) : Value(Source::of(code_.vector("v_add_nc_u32", {size, index})));
    const Value zero = Source::of_number(0);
    auto selected = [&](Mnemonic compare, const Value& a, const Value& b, const Value& chosen, const Value& otherwise) {
        const Source mask = Source::of(code_.compare(compare, a, b));
        const Place out = function_.add(Bank::vector, dwords);
        for (int i = 0; i < dwords; ++i)
            code_.vector_to(out.part(i), "v_cndmask_b32", {dword(otherwise, i), dword(chosen, i), mask});
        return Value(Source::of(out));
    };
    const bool counts_from_end = !u.dtype().is_unsigned();
    const Value at =
        counts_from_end ? selected(pick(wide, "v_cmp_lt_i64", "v_cmp_lt_i32"), index, zero, from_end, index) : index;
    // Without sign, what is below 0 is beyond every size.
    const Place wrong = context_.among_active(code_.compare(pick(wide, "v_cmp_ge_u64", "v_cmp_ge_u32"), at, size));
    Value which = index;
    if (wide) {
        const Value most = Source::of(code_.number(WrongIndex::kMost, 2)),
                    least = Source::of(code_.number(static_cast<uint64_t>(-WrongIndex::kMost), 2));
        which = selected("v_cmp_lt_i64", which, most, which, most);
        which = selected("v_cmp_gt_i64", which, least, which, least);
    }
    const Place address = function_.add(Bank::vector, 2);
    code_.copy(address.part(0), dword(which, 0));
    const Source high =
        wide ? dword(which, 1) : Source::of(code_.vector("v_ashrrev_i32", {Source::of_number(31), which}));
    const uint64_t marker = WrongIndex::kMark << 16 | *s[2].number << (kIndexBits - 32);
    code_.vector_to(address.part(1), "v_and_or_b32",
                    {high, Source::of(code_.number((uint64_t{1} << (kIndexBits - 32)) - 1, 1)),
                     Source::of(code_.number(marker, 1))});
    const Place none = code_.in_vector(zero);
    Instruction& store = code_.add("global_store_b8");
    store.src[0] = address;
    store.src[1] = none;
    store.inst.src[2] = {};
    store.predicate = wrong;
    store.checks = true;
    set(u, at);
}

}  // namespace strata::codegen
