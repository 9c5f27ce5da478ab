#include "valu_inputs.h"

#include <iterator>

namespace strata::emu::rows {
namespace {

constexpr uint16_t kHalves[] = {0,      0x8000, 1,      0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x3c00, 0xbc00,
                                0x3800, 0xb800, 0x4000, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7c01,
                                0xfd55, 0x3bff, 0x3c01, 0x6400, 0x77ff, 0x7800, 0xf800, 0x3e00, 0x4200, 0x1c00};
constexpr uint32_t kSingles[] = {
    0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000, 0x3f800000,
    0xbf800000, 0x3f000000, 0xbf000000, 0x40000000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
    0xffc00001, 0x7f800001, 0xffa55555, 0x3f7fffff, 0x3f800001, 0x4b000000, 0x4b7fffff, 0x4effffff, 0x4f000000,
    0xcf000000, 0x4f7fffff, 0x4f800000, 0x477fff00, 0x477fe000, 0x477ff000, 0x33000000, 0x33000001, 0x3effffff,
    0x43700000, 0x43e00000, 0x43e80000, 0x47600000, 0x47700000, 0x2f800000, 0x5f000000, 0x1f800000, 0x46fffe00,
    0x3fc00000, 0x40200000, 0xc0200000, 0x0c000000, 0x73000000};
constexpr uint64_t kDoubles[] = {0,
                                 0x8000000000000000,
                                 1,
                                 0x8000000000000001,
                                 0x000fffffffffffff,
                                 0x0010000000000000,
                                 0x8010000000000000,
                                 0x3ff0000000000000,
                                 0xbff0000000000000,
                                 0x3fe0000000000000,
                                 0xbfe0000000000000,
                                 0x7fefffffffffffff,
                                 0xffefffffffffffff,
                                 0x7ff0000000000000,
                                 0xfff0000000000000,
                                 0x7ff8000000000000,
                                 0xfff8000000000001,
                                 0x7ff0000000000001,
                                 0xfff4000000000000,
                                 0x3fefffffffffffff,
                                 0x41dfffffffc00000,
                                 0x41e0000000000000,
                                 0xc1e0000000000000,
                                 0x41efffffffe00000,
                                 0x41f0000000000000,
                                 0x4330000000000000,
                                 0x7b00000000000000,
                                 0x0470000000000000,
                                 0x36a0000000000000,
                                 0x47efffffe0000000};
constexpr uint32_t kIntegers[] = {0,          1,          2,          0xffffffff, 0xfffffffe, 0x80000000, 0x80000001,
                                  0x7fffffff, 0x7ffffffe, 0x0000ffff, 0xffff0000, 0x00008000, 0x00007fff, 0xffff8000,
                                  0x80008000, 0x7fff7fff, 0x007fffff, 0x00800000, 0xff800000, 0x00ffffff, 0x01000000,
                                  31,         32,         33,         63,         64,         0x55555555, 0xaaaaaaaa,
                                  0x80808080, 0x7f7f7f7f, 0x0c0b0a09, 0x0d080007};
constexpr uint16_t kShorts[] = {0,      1,      2,      15,     16,   17,    0x7fff, 0x7ffe,
                                0x8000, 0x8001, 0xffff, 0xfffe, 0xff, 0x100, 0x5555};

template <class T, size_t kSize>
T any(const T (&list)[kSize], uint64_t r) {
    return list[r % kSize];
}

}  // namespace

uint64_t Values::next() {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1du;
}

uint32_t Values::half() {
    const uint64_t r = next();
    const uint32_t bits = static_cast<uint32_t>(r >> 40) & 0xffff;
    if (r & 1) return any(kHalves, r >> 8);
    return r & 2 ? bits : (bits & 0x83ff) | (10 + (bits >> 10 & 7)) << 10;
}

uint32_t Values::single() {
    const uint64_t r = next();
    const uint32_t bits = static_cast<uint32_t>(r >> 32);
    switch (r & 7) {
        case 0:
        case 1:
        case 2: return any(kSingles, r >> 8);
        case 3:
        case 4: return bits;
        default: return (bits & 0x807fffff) | (120 + (bits >> 23 & 15)) << 23;
    }
}

uint64_t Values::whole_double() {
    const uint64_t r = next(), bits = next();
    switch (r >> 32 & 7) {
        case 0:
        case 1:
        case 2: return any(kDoubles, r >> 40);
        case 3:
        case 4: return bits;
        default: return (bits & 0x800fffffffffffff) | (1010 + (bits >> 52 & 31)) << 52;
    }
}

uint32_t Values::integer() {
    const uint64_t r = next();
    const uint32_t bits = static_cast<uint32_t>(r >> 32);
    switch (r & 7) {
        case 0:
        case 1: return any(kIntegers, r >> 8);
        case 2: return bits & 63;
        case 3: return 0u - (bits & 255);
        case 4: return bits >> (r >> 8 & 31);
        default: return bits;
    }
}

uint32_t Values::short_integer() {
    const uint64_t r = next();
    return r & 3 ? static_cast<uint32_t>(r >> 40) & 0xffff : any(kShorts, r >> 8);
}

uint64_t Values::of(isa::Type type) {
    using isa::Type;
    switch (type) {
        case Type::f16: return half() | half() << 16;
        case Type::bf16: return (single() >> 16) | (single() & 0xffff0000);
        case Type::i16:
        case Type::u16:
        case Type::b16: return short_integer() | short_integer() << 16;
        case Type::pk16:
            // Pairs of halves, of integers or of brain floats: the type does not tell.
            switch (below(4)) {
                case 0: return short_integer() | short_integer() << 16;
                case 1: return (single() >> 16) | (single() & 0xffff0000);
                default: return half() | half() << 16;
            }
        case Type::f32: return single();
        case Type::b32: return chance(2) ? single() : integer();
        case Type::f64: return whole_double();
        case Type::pk32: return single() | uint64_t{single()} << 32;
        case Type::b64:
        case Type::i64:
        case Type::u64: return chance(3) ? next() : integer() | uint64_t{integer()} << 32;
        default: return integer();
    }
}

}  // namespace strata::emu::rows
