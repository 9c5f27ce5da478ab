// Values as unsigned integers of the same order, and with their positions as items of which no two are equal.
#include <bit>

#include "strata/ops/build_p.h"
#include "strata/ops/order/order_items_p.h"

namespace strata::ops {
namespace {

DType unsigned_of(int bits) {
    return bits == 8 ? dtypes::uint8 : bits == 16 ? dtypes::uint16 : bits == 32 ? dtypes::uint32 : dtypes::uint64;
}

UOp number(DType type, uint64_t value) { return constant_int(type, static_cast<int64_t>(value)); }

uint64_t ones(int bits) { return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

/// Floats whose arithmetic every chip has, in the order of their own bits; narrower ones are float32 first.
UOp key_of_float(UOp value) {
    if (value.dtype().bits() < 16) value = cast(value, dtypes::float32);
    const DType type = value.dtype(), key = unsigned_of(type.bits());
    const UOp sign = number(key, uint64_t{1} << (type.bits() - 1)), all = number(key, ones(type.bits()));
    const UOp infinity = number(key, ones(type.exponent_bits()) << type.mantissa_bits());
    const UOp bits = bitcast(value, key), magnitude = alu(Op::bit_and, {bits, number(key, ones(type.bits() - 1))});
    const UOp negative = alu(Op::cmpne, {alu(Op::bit_and, {bits, sign}), number(key, 0)});
    const UOp ordered = alu(Op::where, {negative, alu(Op::bit_xor, {bits, all}), alu(Op::bit_or, {bits, sign})});
    const UOp of_number = alu(Op::where, {alu(Op::cmpeq, {magnitude, number(key, 0)}), sign, ordered});
    return alu(Op::where, {infinity < magnitude, all, of_number});
}

UOp key_of(UOp value) {
    const DType type = value.dtype();
    if (type.is_bool()) return cast(value, dtypes::uint8);
    if (type.is_float()) return key_of_float(value);
    const DType key = unsigned_of(type.bits());
    if (key == type) return value;
    return alu(Op::bit_xor, {bitcast(value, key), number(key, uint64_t{1} << (type.bits() - 1))});
}

int key_bits_of(DType values) {
    if (values.is_bool()) return 8;
    return values.is_float() && values.bits() < 16 ? 32 : values.bits();
}

}  // namespace

Packing Packing::of(DType values, int64_t n) {
    const int key = key_bits_of(values), place = n < int64_t{1} << 32 ? 32 : 64;
    const int least = key + std::bit_width(static_cast<uint64_t>(n));  // no position has all bits
    Packing out{unsigned_of(key), unsigned_of(place), dtypes::none};
    if (least <= 64) out.word = unsigned_of(least <= 32 ? 32 : 64);
    return out;
}

std::vector<DType> Packing::words() const { return word == dtypes::none ? std::vector{key, place} : std::vector{word}; }

int Packing::bytes() const { return (word == dtypes::none ? key.bits() + place.bits() : word.bits()) / 8; }

Words Packing::pack(UOp of, UOp position) const {
    if (word == dtypes::none) return {of, cast(position, place)};
    const UOp high = alu(Op::shl, {cast(of, word), number(word, static_cast<uint64_t>(word.bits() - key.bits()))});
    return {alu(Op::bit_or, {high, cast(position, word)})};
}

UOp Packing::position(const Words& words) const {
    if (word == dtypes::none) return words[1];
    return alu(Op::bit_and, {words[0], number(word, ones(word.bits() - key.bits()))});
}

Words Packing::last() const {
    Words out;
    for (DType type : words()) out.push_back(number(type, ones(type.bits())));
    return out;
}

Words ItemSource::at(UOp place, UOp position, UOp exists) const {
    if (packed) return Items{buffers}.at(place, exists, packing.last());
    const UOp value = uop::load(uop::at(buffers[0], place, exists), exists ? constant_int(type, 0) : UOp());
    UOp key = key_of(value);
    if (descending) key = alu(Op::bit_xor, {key, number(key.dtype(), ones(key.dtype().bits()))});
    const Words words = packing.pack(key, position);
    return exists ? either_of(exists, words, packing.last()) : words;
}

}  // namespace strata::ops
