#include <map>
#include <string>

#include "valu_model.h"

// Comparisons and classification (RDNA3 ISA 16.11 VOPC).
namespace strata::emu::rows {
namespace {

struct Order {
    bool unordered, less, equal;
};

template <class T>
Order order(T a, T b) {
    return {a != a || b != b, a < b, a == b};
}

Order ordered(const Lane& x, std::string_view type) {
    if (type == "f16") return order(x.h(0), x.h(1));
    if (type == "f32") return order(x.f(0), x.f(1));
    if (type == "f64") return order(x.g(0), x.g(1));
    if (type == "i16") return order(x.i16(0), x.i16(1));
    if (type == "u16") return order(x.u16(0), x.u16(1));
    if (type == "i32") return order(x.i(0), x.i(1));
    if (type == "u32") return order(x.u(0), x.u(1));
    if (type == "i64") return order(x.l(0), x.l(1));
    return order(x.q(0), x.q(1));
}

bool relation(std::string_view name, const Order& o) {
    if (name == "f") return false;
    if (name == "t" || name == "tru") return true;
    if (name == "o") return !o.unordered;
    if (name == "u") return o.unordered;
    if (name == "ne") return !o.equal;  // of integers
    if (name == "lt") return o.less;
    if (name == "eq") return o.equal;
    if (name == "le") return o.less || o.equal;
    if (name == "gt") return !o.unordered && !o.less && !o.equal;
    if (name == "ge") return !o.unordered && !o.less;
    if (name == "lg") return !o.unordered && !o.equal;
    return !relation(name.substr(1), o);
}

/// The bit of S1 that tells whether numbers like this one are asked for.
int class_of(uint64_t x, int exponent_bits, int digits) {
    const uint64_t mantissa = x & ((uint64_t{1} << digits) - 1), all = (uint64_t{1} << exponent_bits) - 1,
                   exponent = x >> digits & all;
    const bool negative = x >> (digits + exponent_bits) & 1;
    if (exponent == all && mantissa) return mantissa >> (digits - 1) ? 1 : 0;
    if (exponent == all) return negative ? 2 : 9;
    if (exponent) return negative ? 3 : 8;
    if (mantissa) return negative ? 4 : 7;
    return negative ? 5 : 6;
}

bool in_class(const Lane& x, std::string_view type) {
    const int bit = type == "f16"   ? class_of(x.u16(0), 5, 10)
                    : type == "f32" ? class_of(x.u(0), 8, 23)
                                    : class_of(x.q(0), 11, 52);
    return x.u(1) >> bit & 1;
}

}  // namespace

Run comparison(std::string_view mnemonic) {
    if (mnemonic.starts_with("v_cmpx_"))
        mnemonic.remove_prefix(7);
    else if (mnemonic.starts_with("v_cmp_"))
        mnemonic.remove_prefix(6);
    else
        return {};
    const size_t cut = mnemonic.find('_');
    const std::string name(mnemonic.substr(0, cut)), type(mnemonic.substr(cut + 1));
    if (name == "class") return [type](Lane& x) { x.mask = in_class(x, type); };
    return [name, type](Lane& x) { x.mask = relation(name, ordered(x, type)); };
}

}  // namespace strata::emu::rows
