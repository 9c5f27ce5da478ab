#include "strata/codegen/machine/builder.h"

#include <algorithm>
#include <array>

#include "strata/asm/isa/constants.h"

namespace strata::codegen {
namespace {

struct Spelling {
    isa::FamilySet families;
    std::string_view there, rdna3;
};
constexpr Spelling kSpellings[] = {
#define SPELLING(which, there, rdna3) {isa::families::which, #there, #rdna3},
#include "strata/asm/isa/spellings.def"
#include "strata/codegen/machine/spellings.def"
#undef SPELLING
};

std::string_view spelled(isa::Family family, std::string_view name) {
    for (const Spelling& s : kSpellings)
        if (s.rdna3 == name && s.families.has(family)) return s.there;
    return name;
}

}  // namespace

std::string_view swapped(std::string_view name) {
    struct Pair {
        Mnemonic one, other;
    };
    static constexpr Pair kPairs[] = {
        {"v_sub_f32", "v_subrev_f32"},    {"v_sub_f16", "v_subrev_f16"},    {"v_cmp_lt_f32", "v_cmp_gt_f32"},
        {"v_cmp_lt_f16", "v_cmp_gt_f16"}, {"v_cmp_lt_f64", "v_cmp_gt_f64"}, {"v_cmp_lt_i32", "v_cmp_gt_i32"},
        {"v_cmp_lt_u32", "v_cmp_gt_u32"}, {"v_cmp_lt_i64", "v_cmp_gt_i64"}, {"v_cmp_lt_u64", "v_cmp_gt_u64"}};
    for (auto [a, b] : kPairs)
        if (a == name) return b;
    static constexpr std::string_view kCommutative[] = {
        "v_add_f",  "v_mul_f",  "v_max_",   "v_min_",        "v_add_nc_u",    "v_add_u32",     "v_and_b",
        "v_or_b",   "v_xor_b",  "v_mul_lo", "v_mul_hi",      "v_mul_u32_u24", "v_mul_i32_i24", "v_cmp_eq",
        "v_cmp_ne", "v_add_co", "v_fma_f",  "v_mad_u32_u24", "v_mad_i32_i24", "v_cmp_u_",      "v_cmp_o_"};
    for (std::string_view start : kCommutative)
        if (name.starts_with(start)) return name;
    return {};
}

const isa::Row* row_of(isa::Family family, std::string_view name) {
    thread_local std::array<std::unordered_map<std::string_view, const isa::Row*>, isa::kFamilyCount> known;
    const auto [at, added] = known[static_cast<size_t>(family)].try_emplace(name);
    if (added) at->second = isa::find_row(family, spelled(family, name));
    return at->second;
}

const isa::Row& widest(isa::Family family, const isa::Row& row) {
    thread_local std::array<std::vector<const isa::Row*>, isa::kFamilyCount> known;
    const std::span<const isa::Row> rows = isa::rows(family);
    std::vector<const isa::Row*>& of_family = known[static_cast<size_t>(family)];
    if (of_family.empty()) of_family.resize(rows.size());
    const isa::Row*& wide = of_family[static_cast<size_t>(&row - rows.data())];
    if (wide) return *wide;
    wide = isa::find_row(family, row.mnemonic);
    for (isa::Format format : {isa::Format::VOP3, isa::Format::VOP3SD})
        if (const isa::Row* found = isa::find_row(family, row.mnemonic, format)) wide = found;
    return *wide;
}

const isa::Row& Code::row(Mnemonic name) const {
    const isa::Row* found = row_of(function_.family, name);
    STRATA_CHECK(found, "{} has no {}", isa::info(function_.target.arch).name, std::string_view(name));
    return *found;
}

bool Code::has(Mnemonic name) const {
    const isa::Row* const found = row_of(function_.family, name);
    return found && isa::has_row(function_.target.arch, *found);
}

Instruction& Code::insert(uint32_t block, const isa::Row& row) {
    return function_.blocks[block].code.emplace_back(instruction_of(row, origin_));
}

Instruction& Code::add(Mnemonic name) { return insert(block_, row(name)); }

std::optional<isa::Operand> Code::constant(uint32_t& literal, isa::Type type, uint64_t bits) {
    const isa::Reals reals = isa::info(type).reals;
    const bool wide = isa::span_of(type) == 2, half = isa::is_half(type);
    const int64_t value = wide   ? static_cast<int64_t>(bits)
                          : half ? static_cast<int16_t>(bits)
                                 : static_cast<int32_t>(static_cast<uint32_t>(bits));
    if (auto code = isa::inline_integer_code(value)) return isa::Operand{*code, type};
    const uint64_t kept = wide ? bits : half ? bits & 0xffff : bits & 0xffffffff;
    if (auto code = isa::inline_real_code(kept, reals)) return isa::Operand{*code, type};
    if (wide) return {};
    literal = static_cast<uint32_t>(kept);
    return isa::Operand{isa::code::literal, type};
}

Place Code::number(uint64_t bits, int dwords) {
    auto [at, added] = numbers_[dwords].try_emplace(bits);
    if (!added) return at->second;
    const Place place = function_.add(Bank::scalar, dwords);
    for (int i = 0; i < dwords; ++i) {
        Instruction& move = insert(before_loops_, row("s_mov_b32"));
        move.dst[0] = place.part(i);
        move.inst.src[0] = *constant(move.inst.literal, isa::Type::b32, static_cast<uint32_t>(bits >> 32 * i));
    }
    return at->second = place;
}

/// Puts sources that the fields of a vector instruction do not take into registers. They are constants where no literal
/// may stand, and scalars beyond the constant bus's limit (RDNA3 ISA 6.2.4: two; CDNA3 ISA 6.2: one).
void Code::legalize(const isa::Row& row, std::span<Source> sources) {
    const isa::Row& wide = widest(function_.family, row);
    const bool cdna = isa::is_cdna(function_.family);
    size_t limit = cdna || row.flags & isa::kOneScalar ? 1 : 2;
    std::array<Source, 4> bus;
    size_t on_bus = 0;
    std::optional<uint32_t> literal;
    // The operand that cannot move is counted first: a mask.
    for (size_t i = 0; i < sources.size(); ++i)
        if (row.src[i] == isa::Type::lanes) bus[on_bus++] = sources[i];
    // A mask may turn out not to be VCC, which the short forms need.
    const bool masks = row.dst[0] == isa::Type::lanes || row.dst[1] == isa::Type::lanes || on_bus;
    const bool has_short = row.format == isa::Format::VOP2 || row.format == isa::Format::VOP1;
    auto fits_in_e32 = [&](size_t at) {
        if (!has_short || masks || at != 0) return false;
        return std::none_of(sources.begin(), sources.end(), [](const Source& s) { return s.neg || s.abs; }) &&
               std::all_of(sources.begin() + 1, sources.end(), [&](const Source& s) { return !is_scalar(s); });
    };
    for (size_t i = 0; i < sources.size(); ++i) {
        Source& s = sources[i];
        if (row.src[i] == isa::Type::lanes || s.fixed) continue;
        if (s.number) {
            uint32_t value = 0;
            const std::optional<isa::Operand> operand = constant(value, row.src[i], *s.number);
            if (operand && !operand->is_literal() && wide.src_kind[i] & isa::kInline) continue;
            const bool may =
                operand && operand->is_literal() && (cdna ? fits_in_e32(i) : wide.src_kind[i] & isa::kLiteralConstant);
            if (may && (!literal || *literal == value)) {
                if (literal) continue;
                if (on_bus < limit) {
                    literal = value;
                    bus[on_bus++] = s;
                    continue;
                }
            }
            const bool neg = s.neg, abs = s.abs;
            s = Source::of(number(*s.number, std::max(1, isa::span_of(row.src[i]))));
            s.neg = neg, s.abs = abs;
        }
        if (!is_scalar(s)) continue;
        const bool counted =
            std::any_of(bus.begin(), bus.end(), [&](const Source& b) { return b.place && b.place == s.place; });
        if (wide.src_kind[i] & isa::kSgpr && (counted || on_bus < limit)) {
            if (!counted) bus[on_bus++] = s;
            continue;
        }
        const Place moved = function_.add(Bank::vector, s.place.dwords);
        copy(moved, Source::of(s.place));
        s.place = moved;
    }
}

void Code::fill(Instruction& instruction, std::span<const Source> sources) {
    for (size_t i = 0; i < sources.size(); ++i) {
        const Source& s = sources[i];
        if (s.neg) instruction.inst.neg |= static_cast<uint8_t>(1 << i);
        if (s.abs) instruction.inst.abs |= static_cast<uint8_t>(1 << i);
        if (s.place)
            instruction.src[i] = s.place;
        else if (s.number)
            instruction.inst.src[i] = *constant(instruction.inst.literal, instruction.inst.src[i].type, *s.number);
        else
            instruction.inst.src[i].code = s.fixed;
    }
}

void Code::vector_to(Place dst, Mnemonic name, std::initializer_list<Source> given) {
    std::array<Source, 4> sources;
    std::copy(given.begin(), given.end(), sources.begin());
    const std::span<Source> used(sources.data(), given.size());
    // A register as second source lets the short form stand.
    if (given.size() >= 2 && is_scalar(sources[1]) && !is_scalar(sources[0]))
        if (const std::string_view other = swapped(name); !other.empty() && has(Mnemonic::of(other))) {
            std::swap(sources[0], sources[1]);
            name = Mnemonic::of(other);
        }
    const isa::Row& which = row(name);
    legalize(which, used);
    Instruction& made = insert(block_, which);
    fill(made, used);
    made.dst[0] = dst;
}

Place Code::vector(Mnemonic name, std::initializer_list<Source> sources, int dwords) {
    const Place dst = function_.add(Bank::vector, dwords);
    vector_to(dst, name, sources);
    return dst;
}

Place Code::compare(Mnemonic name, Source a, Source b) {
    const Place mask = function_.add(Bank::scalar, function_.mask_dwords());
    vector_to(mask, name, {a, b});
    return mask;
}

Place Code::carrying_to(Place sum, Mnemonic name, std::initializer_list<Source> given) {
    std::array<Source, 4> sources;
    std::copy(given.begin(), given.end(), sources.begin());
    const std::span<Source> used(sources.data(), given.size());
    const isa::Row& which = row(name);
    legalize(which, used);
    const Place carry = function_.add(Bank::scalar, function_.mask_dwords());
    Instruction& made = insert(block_, which);
    fill(made, used);
    made.dst = {sum, carry};
    return carry;
}

Code::Carried Code::carrying(Mnemonic name, std::initializer_list<Source> given, int dwords) {
    const Place sum = function_.add(Bank::vector, dwords);
    return {sum, carrying_to(sum, name, given)};
}

void Code::scalar_to(Place dst, Mnemonic name, std::initializer_list<Source> given) {
    std::array<Source, 4> sources;
    std::copy(given.begin(), given.end(), sources.begin());
    const isa::Row& which = row(name);
    std::optional<uint32_t> literal;
    for (size_t i = 0; i < given.size(); ++i) {
        Source& s = sources[i];
        if (!s.number) continue;
        uint32_t value = 0;
        const std::optional<isa::Operand> operand = constant(value, which.src[i], *s.number);
        const bool taken = literal && operand && operand->is_literal() && *literal != value;
        if (!operand || taken)
            s = Source::of(number(*s.number, std::max(1, isa::span_of(which.src[i]))));
        else if (operand->is_literal())
            literal = value;
    }
    Instruction& made = insert(block_, which);
    fill(made, {sources.data(), given.size()});
    made.dst[0] = dst;
}

Place Code::scalar(Mnemonic name, std::initializer_list<Source> sources, int dwords) {
    const Place dst = function_.add(Bank::scalar, dwords);
    scalar_to(dst, name, sources);
    return dst;
}

void Code::scalar_compare(Mnemonic name, Source a, Source b) { scalar_to({}, name, {a, b}); }

void Code::copy(Place to, const Source& from) {
    for (int i = 0; i < (from.place ? 1 : to.dwords); ++i) {
        Instruction& made = function_.blocks[block_].code.emplace_back();
        made.pseudo = Pseudo::copy;
        made.origin = origin_;
        made.dst[0] = from.place ? to : to.part(i);
        made.src[0] = from.place;
        if (from.number)
            made.inst.src[0] =
                *constant(made.inst.literal, isa::Type::b32, static_cast<uint32_t>(*from.number >> 32 * i));
        else if (!from.place)
            made.inst.src[0] = {from.fixed, isa::Type::b32};
    }
}

Place Code::in_vector(const Source& source, int dwords, uint32_t sign) {
    const bool changed = source.neg || source.abs;
    if (source.place && function_.bank(source.place) == Bank::vector && !changed) return source.place;
    const Place place = function_.add(Bank::vector, dwords);
    if (!changed) {
        copy(place, source);
        return place;
    }
    Source plain = source;
    plain.neg = plain.abs = false;
    STRATA_CHECK(plain.place, "a constant with a sign of its own");
    for (int i = 0; i + 1 < dwords; ++i) copy(place.part(i), Source::of(plain.place.part(i)));
    const Source top = Source::of(plain.place.part(dwords - 1));
    if (source.abs && source.neg)
        vector_to(place.part(dwords - 1), "v_or_b32", {Source::of_number(sign), top});
    else if (source.abs)
        vector_to(place.part(dwords - 1), "v_and_b32", {Source::of_number(~sign), top});
    else
        vector_to(place.part(dwords - 1), "v_xor_b32", {Source::of_number(sign), top});
    return place;
}

void Code::open_block(std::string label, uint32_t depth) {
    block_ = static_cast<uint32_t>(function_.blocks.size());
    function_.blocks.push_back({.label = std::move(label), .depth = depth, .code = {}});
    if (depth == 0 && !detours_) before_loops_ = block_;
}

void Code::open_front() {
    const uint32_t numbers = before_loops_;
    open_block("", depth());
    before_loops_ = numbers;
}

}  // namespace strata::codegen
