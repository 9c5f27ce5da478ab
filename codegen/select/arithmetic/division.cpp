// The steps of a division: v_div_scale fills a register and a mask, which v_div_fmas reads in VCC.
#include "strata/codegen/select/arithmetic/division.h"

namespace strata::codegen {

/// v_div_scale of a numerator n and a denominator d; `of_n`: the scaled n, else the scaled d. The mask is the same.
Code::Carried Division::scaled(UOp n, UOp d, bool of_n) {
    const Scaling key{n.node(), d.node(), of_n};
    if (const Code::Carried* known = scaled_.find(key)) return *known;
    const int dwords = dwords_of(n.dtype());
    const Source top = Source::of(code_.in_vector(value(n), dwords)),
                 bottom = Source::of(code_.in_vector(value(d), dwords));
    const Mnemonic name = pick(dwords == 2, "v_div_scale_f64", "v_div_scale_f32");
    return scaled_.add(key, code_.carrying(name, {of_n ? top : bottom, bottom, top}, dwords));
}

bool Division::step(UOp u) {
    switch (u.op()) {
        case Op::div_scale_n:
        case Op::div_scale_d:
            set(u, Source::of(scaled(skip_after(u.src(0)), skip_after(u.src(1)), u.is(Op::div_scale_n)).sum));
            return true;
        case Op::div_scales:
            set(u, {Source::of(scaled(skip_after(u.src(0)), skip_after(u.src(1)), true).carry), true});
            return true;
        case Op::div_fmas: {
            const Place mask = mask_of(value(u.src(3))).place;
            Instruction& move = code_.add(pick(mask.dwords == 2, "s_mov_b64", "s_mov_b32"));
            move.src[0] = mask;
            move.inst.dst[0].code = isa::code::vcc_lo;
            const int dwords = dwords_of(u.dtype());
            set(u, Source::of(code_.vector(pick(dwords == 2, "v_div_fmas_f64", "v_div_fmas_f32"),
                                           {value(u.src(0)), value(u.src(1)), value(u.src(2))}, dwords)));
            return true;
        }
        default: return false;
    }
}

}  // namespace strata::codegen
