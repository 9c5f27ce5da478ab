// Elements narrower than a register: out of the registers that were loaded, and together again for what takes them.
//
// Bytes from several registers are brought together by v_perm_b32. Neighbours in each of four registers, as the columns
// of a matrix are, share the first half of that.
#include "strata/codegen/select/context/packing.h"

namespace strata::codegen {

/// The elements of loaded registers.
Value Packing::unpacked(Place data, DType type) {
    const DType element = type.element();
    const int bytes = element.bytes();
    const bool scalar = function_.bank(data) == Bank::scalar;
    auto one = [&](int i) -> Value {
        if (bytes >= 4) return Source::of(data.part(i * bytes / 4, bytes / 4));
        const Source dword = Source::of(data.part(i * bytes / 4));
        const auto shift = static_cast<uint64_t>(i * bytes % 4 * 8), bits = static_cast<uint64_t>(bytes * 8);
        const bool sign = element.is_integer() && !element.is_unsigned();
        Value out = dword;
        if (scalar) {
            out = Source::of(
                code_.scalar(pick(sign, "s_bfe_i32", "s_bfe_u32"), {dword, Source::of_number(bits << 16 | shift)}));
        } else if (type.lanes > 1 && !(shift == 0 && element.scalar == Scalar::float16)) {
            if (shift + bits == 32)
                out = Source::of(
                    code_.vector(pick(sign, "v_ashrrev_i32", "v_lshrrev_b32"), {Source::of_number(shift), dword}));
            else
                out = Source::of(code_.vector(pick(sign, "v_bfe_i32", "v_bfe_u32"),
                                              {dword, Source::of_number(shift), Source::of_number(bits)}));
        }
        const auto number = static_cast<uint32_t>(i % (4 / bytes));
        if (type.lanes > 1 && out.place != dword.place) parts_[out.place.reg] = {dword, bytes, number};
        if (!element.is_bool()) return out;
        return {Source::of(code_.compare("v_cmp_ne_u32", out, Source::of_number(0))), true};
    };
    if (type.lanes == 1) return one(0);
    Value all;
    for (int i = 0; i < type.lanes; ++i) all.lanes.push_back(one(i));
    return all;
}

/// Where an element of `bytes` bytes was loaded from, or the element itself.
Packing::Part Packing::part_of(const Source& element, int bytes) const {
    const auto found = element.place ? parts_.find(element.place.reg) : parts_.end();
    return found != parts_.end() && found->second.bytes == bytes ? found->second : Part{element, bytes, 0};
}

void Packing::set_upper(const Source& element, const Source& dword) {
    if (function_.bank(element.place) == Bank::vector && dword.place && function_.bank(dword.place) == Bank::vector)
        parts_[element.place.reg] = {dword, 2, 1};
}

std::optional<Place> Packing::loaded(UOp load) const {
    const auto found = loaded_.find(load);
    return found != loaded_.end() ? std::optional(found->second) : std::nullopt;
}

/// Bytes of two registers: 0 to 3 of the first, 4 to 7 of the second.
Source Packing::picked(const Source& low, const Source& high, std::array<uint32_t, 4> bytes) {
    const uint32_t pick = bytes[0] | bytes[1] << 8 | bytes[2] << 16 | bytes[3] << 24;
    return Source::of(code_.vector("v_perm_b32", {high, low, Source::of_number(pick)}));
}

/// Four bytes as one dword.
Source Packing::joined(const Byte* bytes) {
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

/// The dwords that a store takes.
Source Packing::packed(const Value& value, DType type) {
    const DType element = type.element();
    auto one = [&](const Value& v) -> Source {
        if (!element.is_bool()) return plain(v, element);
        if (!v.mask) return v;
        return Source::of(code_.vector("v_cndmask_b32", {Source::of_number(0), Source::of_number(1), v}));
    };
    if (type.lanes == 1) return one(value);
    std::vector<Source> parts;
    for (int i = 0; i < type.lanes; ++i)
        parts.push_back(one(value.lanes.empty() ? value : value.lanes[static_cast<size_t>(i)]));
    const int bytes = element.bytes(), each = std::max(1, bytes / 4);
    if (bytes < 4) {
        // v_perm_b32 picks bytes 0 to 3 of its second source and 4 to 7 of its first; 12 is a zero byte.
        const bool halves = bytes == 2;
        auto join = [&](const Source& low, const Source& high, uint32_t pick) {
            return Source::of(code_.vector("v_perm_b32", {high, low, Source::of_number(pick)}));
        };
        auto join_halves = [&](const Source& low, const Source& high) {
            const Part a = part_of(low, 2), b = part_of(high, 2);
            if (a.dword.place && a.dword.place == b.dword.place && a.number == 0 && b.number == 1) return a.dword;
            return join(a.dword, b.dword, (a.number ? 0x0302u : 0x0100u) | (b.number ? 0x07060000u : 0x05040000u));
        };
        std::vector<Source> dwords;
        for (size_t i = 0; i < parts.size(); i += static_cast<size_t>(4 / bytes)) {
            if (halves) {
                dwords.push_back(join_halves(parts[i], parts[i + 1]));
            } else if (parts.size() == 2) {
                dwords.push_back(join(parts[0], parts[1], 0x0c0c0400));
            } else {
                std::array<Byte, 4> of;
                for (size_t k = 0; k < 4; ++k) {
                    const Part part = part_of(parts[i + k], 1);
                    of[k] = {part.dword, part.number};
                }
                dwords.push_back(joined(of.data()));
            }
        }
        parts = std::move(dwords);
        if (parts.size() == 1) return parts[0];
    }
    const Place all = function_.add(Bank::vector, static_cast<int>(parts.size()) * each);
    for (size_t i = 0; i < parts.size(); ++i) code_.copy(all.part(static_cast<int>(i) * each, each), parts[i]);
    return Source::of(all);
}

}  // namespace strata::codegen
