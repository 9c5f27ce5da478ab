// Products of bytes that are added up: four at a time are one instruction.
//
//   s + a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w, int8 as int32      v_dot4_i32_iu8 v2, v0, v1, v2 neg_lo:[1,1,0]
//
// Factors from several registers are brought together by v_perm_b32; neighbours in each of four registers, as the columns
// of a matrix are, share the first half of that.
#include <algorithm>

#include "strata/codegen/select/select_p.h"

namespace strata::codegen {

using namespace number_class;

/// A byte as a factor of 32 bits: of a loaded vector, or the lowest of a register that holds it extended.
std::optional<Selector::Byte> Selector::byte_of(UOp factor) {
    if (!factor.is(Op::cast)) return {};
    const UOp byte = skip_after(factor.src(0));
    if (!byte.dtype().is_integer() || byte.dtype().bits() != 8) return {};
    const Value& held = value(byte);
    if (!held.place || code_.is_scalar(held)) return {};
    const Part part = part_of(held, 1);
    return Byte{part.dword, part.number};
}

std::optional<Selector::ByteProduct> Selector::byte_product(UOp u) {
    if (!u.is(Op::mul) || uses(u) != 1) return {};
    const UOp a = skip_after(u.src(0)), b = skip_after(u.src(1));
    const std::optional<Byte> of_a = byte_of(a), of_b = byte_of(b);
    if (!of_a || !of_b) return {};
    return ByteProduct{u, *of_a, *of_b, !a.src(0).dtype().is_unsigned(), !b.src(0).dtype().is_unsigned()};
}

/// Bytes of two registers: 0 to 3 of the first, 4 to 7 of the second.
Source Selector::picked(const Source& low, const Source& high, std::array<uint32_t, 4> bytes) {
    const uint32_t pick = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24;
    return Source::of(code_.vector("v_perm_b32", {high, low, Source::of_number(pick)}));
}

/// Four bytes as one dword.
Source Selector::joined(const Byte* bytes) {
    auto dword = [&](size_t i) -> const Source& { return bytes[i].dword; };
    auto only = [&](size_t k, size_t l) {
        return std::all_of(bytes, bytes + 4, [&](const Byte& b) { return b.dword == dword(k) || b.dword == dword(l); });
    };
    if (only(0, 0) && bytes[0].at == 0 && bytes[1].at == 1 && bytes[2].at == 2 && bytes[3].at == 3)
        return bytes[0].dword;
    for (size_t k = 0; k < 4; ++k) {
        if (!only(0, k)) continue;
        std::array<uint32_t, 4> at{};
        for (size_t i = 0; i < 4; ++i) at[i] = bytes[i].at + (dword(i) == dword(0) ? 0 : 4);
        return picked(bytes[0].dword, bytes[k].dword, at);
    }
    struct Two {
        Source source;
        uint32_t first, second;
    };
    auto two = [&](const Byte& a, const Byte& b) -> Two {
        if (a.dword == b.dword) return {a.dword, a.at, b.at};
        if (a.at != b.at) return {picked(a.dword, b.dword, {a.at, b.at + 4, a.at, b.at + 4}), 0, 1};
        const uint32_t even = a.at & ~1u, place = 2 * (a.at & 1);
        return {picked(a.dword, b.dword, {even, even + 4, even + 1, even + 5}), place, place + 1};
    };
    const Two low = two(bytes[0], bytes[1]), high = two(bytes[2], bytes[3]);
    return picked(low.source, high.source, {low.first, low.second, high.first + 4, high.second + 4});
}

/// Sums modulo 2^32 in another order.
bool Selector::dot(UOp u, std::span<const UOp> terms) {
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
        const char* name = !signed_a && !signed_b ? "v_dot4_u32_u8" : mixed ? "v_dot4_i32_iu8" : "v_dot4_i32_i8";
        sum = Source::of(code_.vector(name, {joined(a.data()), joined(b.data()), sum}));
        if (mixed)
            function_.blocks[code_.block()].code.back().inst.neg = static_cast<uint8_t>(signed_a | signed_b << 1);
    }
    set(u, sum);
    return true;
}

}  // namespace strata::codegen
