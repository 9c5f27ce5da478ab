// Values of other lanes: the ways of codegen/target/lane_xor.def as instructions, others by ds_bpermute. All lanes run,
// those that have left a loop too.
#include "strata/codegen/select/lanes_p.h"

namespace strata::codegen {

/// take(to, from) moves a dword.
template <class Take>
void OtherLanes::exchange(UOp u, Take take) {
    const Value& x = value(u.src(0));
    const DType type = u.dtype();
    if (!x.mask && code_.is_scalar(x)) {  // the same in all lanes
        set(u, x);
        return;
    }
    const Place from = code_.in_vector(packing_.packed(x, type), dwords_of(type));
    const Place to = function_.add(Bank::vector, from.dwords);
    for (int i = 0; i < from.dwords; ++i) take(to.part(i), from.part(i));
    Value out = Source::of(to);
    if (type.is_bool()) out = {Source::of(code_.compare("v_cmp_ne_u32", out, Source::of_number(0))), true};
    set(u, out);
}

void OtherLanes::shuffle_xor(UOp u) {
    exchange(u, [&](Place to, Place from) { take_lane(to, from, u.as<IndexArg>().index); });
}

/// The number counts modulo the lanes of a wave (CDNA3 ISA, DS_BPERMUTE_B32).
void OtherLanes::shuffle(UOp u) {
    const DType type = u.src(1).dtype();
    const Source number = plain(value(u.src(1)), type);
    const Source lane = type.bits() == 64 ? dword(number, 0) : number;
    const Place bytes = code_.vector("v_lshlrev_b32", {Source::of_number(2), lane});
    exchange(u, [&](Place to, Place from) {
        Instruction& permute = code_.add("ds_bpermute_b32");
        permute.dst[0] = to;
        permute.src[0] = bytes;
        permute.src[1] = from;
    });
}

/// A mask, and zeros above it.
void OtherLanes::ballot(UOp u) {
    const Place mask = context_.among_active(mask_of(value(u.src(0))).place);
    const int dwords = dwords_of(u.dtype());
    if (mask.dwords == dwords) {
        set(u, Source::of(mask));
        return;
    }
    const Place wide = function_.add(Bank::scalar, 2);
    code_.copy(wide.part(0), Source::of(mask));
    code_.copy(wide.part(1), Source::of_number(0));
    set(u, Source::of(wide));
}

/// One dword of the lane whose number differs in the mask's bits.
void OtherLanes::take_lane(Place to, Place from, int mask) {
    const LaneXor way = lane_xor(function_.target, mask);
    switch (way.path) {
        case LanePath::dpp: {
            Instruction& move = code_.add("v_mov_b32");
            move.dst[0] = to;
            move.src[0] = from;
            move.inst.dpp = {.kind = isa::DppKind::dpp16, .ctrl = way.control, .bound_ctrl = true};
            return;
        }
        case LanePath::other_row: {
            // Four bits a lane of the row: which one of the other row it reads.
            const uint64_t flipped = static_cast<uint64_t>(mask & 15) * 0x1111111111111111;
            const uint64_t lanes = 0xfedcba9876543210 ^ flipped;
            code_.vector_to(to, "v_permlanex16_b32",
                            {Source::of(from), Source::of_number(lanes & 0xffffffff), Source::of_number(lanes >> 32)});
            function_.blocks[code_.block()].code.back().inst.op_sel = 2;  // zero for lanes that do not run
            return;
        }
        case LanePath::swizzle: {
            Instruction& swizzle = code_.add("ds_swizzle_b32");
            swizzle.dst[0] = to;
            swizzle.src[0] = from;
            swizzle.inst.offset = mask << 10 | 0x1f;  // and 31, or 0, xor the mask (CDNA3 ISA, DS_SWIZZLE_B32)
            return;
        }
        case LanePath::permute: {
            const Place lane = code_.in_vector(far_lane(mask));
            Instruction& permute = code_.add("ds_bpermute_b32");
            permute.dst[0] = to;
            permute.src[0] = lane;
            permute.src[1] = from;
            return;
        }
    }
}

/// The number of that lane, in bytes.
Source OtherLanes::far_lane(int mask) {
    const Source none = Source::of_number(0), all = Source::of_number(0xffffffff);
    Place lane = code_.vector("v_mbcnt_lo_u32_b32", {all, none});
    if (function_.wave_size() == 64) lane = code_.vector("v_mbcnt_hi_u32_b32", {all, Source::of(lane)});
    const Place bytes = code_.vector("v_lshlrev_b32", {Source::of_number(2), Source::of(lane)});
    return Source::of(
        code_.vector("v_xor_b32", {Source::of_number(static_cast<uint64_t>(mask) * 4), Source::of(bytes)}));
}

}  // namespace strata::codegen
