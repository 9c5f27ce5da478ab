#include "strata/asm/isa/table_p.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace strata::isa {
namespace {

struct Spec {
    uint8_t kind = 0;
    Type type = Type::none;
};

// The spelling of operands in the rows: V vector register, S scalar register, C inline constant, L literal, A all
// of these; G accumulation register.
#define KIND(name, bits) \
    constexpr Spec name(Type type) { return {bits, type}; }
KIND(V, kVgpr)
KIND(S, kSgpr)
KIND(SC, kSgpr | kInline)
KIND(SCL, kSgpr | kInline | kLiteralConstant)
KIND(VCL, kVgpr | kInline | kLiteralConstant)
KIND(L, kLiteralConstant)
KIND(A, kVgpr | kSgpr | kInline | kLiteralConstant)
KIND(VSC, kVgpr | kSgpr | kInline)
KIND(G, kAgpr)
KIND(VG, kVgpr | kAgpr)
KIND(VCG, kVgpr | kInline | kAgpr)
#undef KIND

struct Specs {
    std::array<Spec, 4> at{};
    constexpr Specs(Spec a = {}, Spec b = {}, Spec c = {}, Spec d = {}) : at{a, b, c, d} {}
};

constexpr Reals reals_in(std::string_view mnemonic) {
    bool brain = mnemonic.find("bf16") != std::string_view::npos, half = mnemonic.find("f16") != std::string_view::npos;
    return brain ? Reals::bf16 : half ? Reals::f16 : Reals::f32;
}

constexpr Row make_row(std::string_view mnemonic, Format format, uint16_t opcode, Specs dst, Specs src, uint32_t flags,
                       uint32_t modifiers, uint32_t ignored) {
    Row row{mnemonic, format, opcode, {}, {}, flags, {}, {}, modifiers, ignored, reals_in(mnemonic)};
    for (size_t i = 0; i < 2; ++i) row.dst[i] = dst.at[i].type, row.dst_kind[i] = dst.at[i].kind;
    for (size_t i = 0; i < 4; ++i) row.src[i] = src.at[i].type, row.src_kind[i] = src.at[i].kind;
    return row;
}

using enum Type;
using namespace mod;

using Entry = Row;
#define INST(mnemonic, format, opcode, dst, src, flags, modifiers, ignored, ...) \
    make_row(#mnemonic, Format::format, opcode, Specs dst, Specs src, flags, modifiers, ignored),
#include "family_tables.inc"
#undef INST

using namespace families;

constexpr Layout kLayouts[] = {
#define LAYOUT(which, name, head, head_bits, size, ...) \
    {.families = families::which,                       \
     .format = Format::name,                            \
     .prefix = head,                                    \
     .prefix_bits = head_bits,                          \
     .words = size,                                     \
     __VA_ARGS__},
#include "strata/asm/isa/formats.def"
};

template <size_t N>
constexpr bool sorted_and_unique(const Row (&rows)[N]) {
    for (size_t i = 1; i < N; ++i) {
        const Row &a = rows[i - 1], &b = rows[i];
        bool second_form = a.opcode == b.opcode && !(a.flags & kWave64) && b.flags & kWave64;
        if (a.format > b.format || (a.format == b.format && a.opcode >= b.opcode && !second_form)) return false;
    }
    return true;
}
#define FAMILY(name, ...) \
    static_assert(sorted_and_unique(name##_entries), #name ".def: rows out of order or an opcode twice in a format");
#include "strata/asm/isa/families.def"
#undef FAMILY

uint64_t prefix_mask(const Layout& layout) { return ~uint64_t{0} << (32 - layout.prefix_bits) & 0xffffffff; }

void index_layouts(FamilyTable& table, Family family) {
    std::array<uint8_t, 512> specificity{};
    for (const Layout& layout : kLayouts) {
        if (!layout.families.has(family)) continue;
        if (!layout.first_opcode) table.layouts[index_of(layout.format)] = &layout;
        if (layout.format == Format::VOP3SD || (layout.segment.bits && layout.format != Format::FLAT))
            continue;  // reached through VOP3's opcode and FLAT's segment
        for (uint32_t top = 0; top < 512; ++top) {
            bool matches = ((top << 23 ^ layout.prefix) & prefix_mask(layout)) == 0;
            if (!matches || specificity[top] >= layout.prefix_bits) continue;
            specificity[top] = layout.prefix_bits;
            table.by_prefix[top] = &layout;
        }
    }
}

/// The place of a mnemonic in by_mnemonic: that of its first row, or a free one.
size_t place_of(const FamilyTable& table, std::string_view mnemonic) {
    const size_t last = table.by_mnemonic.size() - 1;
    size_t at = std::hash<std::string_view>()(mnemonic) & last;
    while (table.by_mnemonic[at] != FamilyTable::kNoRow && table.rows[table.by_mnemonic[at]].mnemonic != mnemonic)
        at = (at + 1) & last;
    return at;
}

/// Rows of one mnemonic are a chain, in which the native format comes before VOP3.
void index_mnemonics(FamilyTable& table) {
    table.by_mnemonic.assign(std::bit_ceil(2 * table.rows.size()), FamilyTable::kNoRow);
    table.next_form.assign(table.rows.size(), FamilyTable::kNoRow);
    for (size_t i = 0; i < table.rows.size(); ++i) {
        if (table.rows[i].flags & kWave64) continue;
        uint16_t* end = &table.by_mnemonic[place_of(table, table.rows[i].mnemonic)];
        while (*end != FamilyTable::kNoRow) end = &table.next_form[*end];
        *end = static_cast<uint16_t>(i);
    }
}

FamilyTable build(Family family, std::span<const Row> rows) {
    FamilyTable table;
    table.rows = rows;
    table.rules = rules(family);
    for (auto& format : table.by_opcode_) format.fill(FamilyTable::kNoRow);
    index_layouts(table, family);
    for (size_t i = 0; i < rows.size(); ++i) {
        auto number = static_cast<uint16_t>(i);
        if (!(rows[i].flags & kWave64)) table.by_opcode_[index_of(rows[i].format)][rows[i].opcode] = number;
        if (rows[i].format == Format::VOP3SD) table.by_opcode_[index_of(Format::VOP3)][rows[i].opcode] = number;
        if (rows[i].format == Format::MFMA) table.by_opcode_[index_of(Format::VOP3P)][rows[i].opcode] = number;
        const Layout& layout = table.layout(rows[i].format);
        if (layout.prefix_bits > 9) {  // MTBUF of RDNA4: reached through the highest bit of MUBUF's opcode
            const Field& op = table.layout(Format::MUBUF).op;
            table.by_opcode_[index_of(Format::MUBUF)][op.get(layout.prefix | layout.op.put(rows[i].opcode))] = number;
        }
        table.bits.push_back(bits_of(layout, rows[i], table.rules));
    }
    index_mnemonics(table);
    return table;
}

/// The table of a family, built at the first call.
template <Family family, const auto& entries>
const FamilyTable& table_of() {
    static const FamilyTable table = build(family, entries);
    return table;
}

}  // namespace

const FamilyTable& table(Family family) {
    static constexpr const FamilyTable& (*tables[])() = {
#define FAMILY(name, ...) table_of<Family::name, name##_entries>,
#include "strata/asm/isa/families.def"
#undef FAMILY
    };
    return tables[static_cast<size_t>(family)]();
}

std::span<const Row> rows(Family family) {
    static constexpr std::span<const Row> all[] = {
#define FAMILY(name, ...) name##_entries,
#include "strata/asm/isa/families.def"
#undef FAMILY
    };
    return all[static_cast<size_t>(family)];
}

const Row* find_row(Family family, Format format, uint16_t opcode) {
    if (opcode > 1023) return nullptr;
    const Row* row = table(family).find(format, opcode);
    return row && row->format == format ? row : nullptr;
}

const Row& in_wave(Family family, const Row& row, int wave_size) {
    const FamilyTable& found = table(family);
    return wave_size == 64 ? found.rows[found.wave64_form(static_cast<size_t>(&row - found.rows.data()))] : row;
}

const Row* find_row(Family family, std::string_view mnemonic, Format format) {
    const Row* row = find_row(family, mnemonic);
    while (row && row->format != format) row = table(family).vop3_form(*row);
    return row;
}

const Row* find_row(Family family, std::string_view mnemonic) {
    const FamilyTable& found = table(family);
    const uint16_t number = found.by_mnemonic[place_of(found, mnemonic)];
    return number == FamilyTable::kNoRow ? nullptr : &found.rows[number];
}

}  // namespace strata::isa
