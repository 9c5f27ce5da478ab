// Products of bytes that are added up: four at a time are one instruction.
//
//   s + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w, int8 as int32      v_dot4_i32_iu8 v2, v0, v1, v2 neg_lo:[1,1,0]
#include <algorithm>

#include "strata/codegen/select/arithmetic/dots.h"

namespace strata::codegen {

using namespace number_class;

/// A byte as a factor of 32 bits: of a loaded vector, or the lowest of a register that holds it extended.
std::optional<Packing::Byte> Dots::byte_of(UOp factor) {
    if (!factor.is(Op::cast)) return {};
    const UOp byte = skip_after(factor.src(0));
    if (!byte.dtype().is_integer() || byte.dtype().bits() != 8) return {};
    const Value& held = value(byte);
    if (!held.place || code_.is_scalar(held)) return {};
    const Packing::Part part = packing_.part_of(held, 1);
    return Byte{part.dword, part.number};
}

std::optional<Dots::ByteProduct> Dots::byte_product(UOp u) {
    if (!u.is(Op::mul) || uses(u) != 1) return {};
    const UOp a = skip_after(u.src(0)), b = skip_after(u.src(1));
    const std::optional<Byte> of_a = byte_of(a), of_b = byte_of(b);
    if (!of_a || !of_b) return {};
    return ByteProduct{u, *of_a, *of_b, !a.src(0).dtype().is_unsigned(), !b.src(0).dtype().is_unsigned()};
}

/// Sums modulo 2^32 in another order.
bool Dots::dot(UOp u, std::span<const UOp> terms) {
    if (terms.size() < 4) return false;
    std::vector<ByteProduct> products;
    std::vector<UOp> others;
    const bool mixed = code_.has("v_dot4_i32_iu8");
    for (UOp term : terms) {
        const std::optional<ByteProduct> product = byte_product(term);
        const bool fits = product && (products.empty() || (product->signed_a == products[0].signed_a &&
                                                           product->signed_b == products[0].signed_b));
        if (fits && (mixed || product->signed_a == product->signed_b))
            products.push_back(*product);
        else
            others.push_back(term);
    }
    if (products.size() < 4) return false;
    for (; products.size() % 4; products.pop_back()) others.push_back(products.back().product);
    Source sum = others.empty() ? Source::of_number(0) : Source(value(others[0]));
    for (size_t i = 1; i < others.size(); ++i) sum = Source::of(code_.vector("v_add_nc_u32", {sum, value(others[i])}));
    for (size_t i = 0; i < products.size(); i += 4) {
        const bool signed_a = products[i].signed_a, signed_b = products[i].signed_b;
        std::array<Byte, 4> a, b;
        for (size_t k = 0; k < 4; ++k) {
            a[k] = products[i + k].a, b[k] = products[i + k].b;
            if (signed_a == signed_b && a[k].dword.place != a[0].dword.place && b[k].dword.place == a[0].dword.place)
                std::swap(a[k], b[k]);
        }
        const Mnemonic with_sign = pick(mixed, "v_dot4_i32_iu8", "v_dot4_i32_i8");
        const Mnemonic name = pick(signed_a || signed_b, with_sign, "v_dot4_u32_u8");
        sum = Source::of(code_.vector(name, {packing_.joined(a.data()), packing_.joined(b.data()), sum}));
        if (mixed)
            function_.blocks[code_.block()].code.back().inst.neg = static_cast<uint8_t>(signed_a | signed_b << 1);
    }
    set(u, sum);
    return true;
}

}  // namespace strata::codegen
