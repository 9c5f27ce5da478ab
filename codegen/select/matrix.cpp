// Matrix products: what a lane holds of A, B and C in tuples of registers, the layouts of
// codegen/target/matrix_shapes.def.
#include <algorithm>

#include "strata/codegen/select/matrix_p.h"

namespace strata::codegen {
namespace {

bool is_zero(const Value& value) {
    return !value.lanes.empty() &&
           std::ranges::all_of(value.lanes, [](const Value& v) { return v.number && *v.number == 0; });
}

}  // namespace

/// Dword `first` / `count` of a vector as it was loaded, where its elements are those of one dword there; else nothing.
Source MatrixProducts::loaded_dword(UOp u, size_t first, size_t count) const {
    if (!u.is(Op::vec)) return {};
    const UOp start = skip_after(u.src(first));
    if (!start.is(Op::lane)) return {};
    const UOp from = skip_after(start.src(0));
    const std::optional<Place> loaded = packing_.loaded(from);
    const auto at = static_cast<size_t>(start.as<IndexArg>().index);
    if (!loaded || at % count) return {};
    for (size_t i = 1; i < count; ++i) {
        const UOp next = skip_after(u.src(first + i));
        if (!next.is(Op::lane) || skip_after(next.src(0)) != from ||
            static_cast<size_t>(next.as<IndexArg>().index) != at + i)
            return {};
    }
    return Source::of(loaded->part(static_cast<int>(at / count)));
}

/// A vector as registers, several elements in one where they are narrow.
Place MatrixProducts::fragment(UOp u) {
    const DType type = u.dtype(), element = type.element();
    if (type.lanes == 1 || element.bytes() >= 4)
        return code_.in_vector(packing_.packed(value(u), type), dwords_of(type));
    const auto count = static_cast<size_t>(4 / element.bytes());
    const Value& all = value(u);
    std::vector<Source> dwords;
    for (size_t i = 0; i < type.lanes; i += count) {
        Source dword = loaded_dword(u, i, count);
        if (!dword.place) {
            Value part;
            part.lanes.assign(all.lanes.begin() + static_cast<std::ptrdiff_t>(i),
                              all.lanes.begin() + static_cast<std::ptrdiff_t>(i + count));
            dword = packing_.packed(part, element.vector(static_cast<int>(count)));
        }
        dwords.push_back(dword);
    }
    const Place tuple = function_.add(Bank::vector, static_cast<int>(dwords.size()));
    for (size_t i = 0; i < dwords.size(); ++i) code_.copy(tuple.part(static_cast<int>(i)), dwords[i]);
    return tuple;
}

void MatrixProducts::product(UOp u) {
    const std::string& name = u.as<MatrixArg>().name;
    const DType type = u.dtype();
    const Value& start = value(u.src(2));
    // gfx11's sums of 16 bits take the lower half of a register each and leave the other as it was (RDNA3 ISA 7.9).
    const bool halves = function_.family == isa::Family::rdna3 && type.bits() == 16;
    const bool from_zero = !halves && is_zero(start);
    const Place a = fragment(u.src(0)), b = fragment(u.src(1));
    Place sum, c;
    if (halves) {
        c = sum = function_.add(Bank::vector, type.lanes);
        for (int i = 0; i < type.lanes; ++i)
            code_.copy(sum.part(i), plain(start.lanes[static_cast<size_t>(i)], type.element()));
    } else {
        sum = function_.add(Bank::vector, dwords_of(type));
        if (!from_zero) c = fragment(u.src(2));
    }
    Instruction& made = code_.add(Mnemonic::of(name));
    made.dst[0] = sum;
    made.src = {a, b, c};
    if (from_zero) made.inst.src[2].code = isa::code::inline_zero;
    const DType a_type = u.src(0).dtype().element(), b_type = u.src(1).dtype().element();
    if (a_type.is_integer() && !isa::is_cdna(function_.family))  // bits of operands with sign
        made.inst.neg = static_cast<uint8_t>(!a_type.is_unsigned() | !b_type.is_unsigned() << 1);
    made.inst.clamp = u.as<MatrixArg>().clamp;
    made.keeps = halves;
    Value out;
    if (halves)
        for (int i = 0; i < type.lanes; ++i) out.lanes.emplace_back(Source::of(sum.part(i)));
    else
        out = packing_.unpacked(sum, type);
    set(u, std::move(out));
}

}  // namespace strata::codegen
