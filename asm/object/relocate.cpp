#include <algorithm>

#include "strata/asm/object/elf_view_p.h"
#include "strata/asm/object/link_p.h"

// Patching of placed sections. S is the symbol's address, A the addend, P the patched place, G the symbol's slot of
// .got (LLVM AMDGPUUsage, "Relocation Records").
namespace strata::isa {
namespace {

using elf::damaged;

enum class Formula : uint8_t { none, absolute, relative, got_relative };
enum class Field : uint8_t { none, word64, word32, low32, high32, branch16 };

struct RelocRow {
    uint32_t type;
    std::string_view name;
    Formula formula;
    Field field;
};

constexpr RelocRow kRows[] = {
    {elf::kRelocNone, "NONE", Formula::none, Field::none},
    {elf::kRelocAbs32Lo, "ABS32_LO", Formula::absolute, Field::low32},
    {elf::kRelocAbs32Hi, "ABS32_HI", Formula::absolute, Field::high32},
    {elf::kRelocAbs64, "ABS64", Formula::absolute, Field::word64},
    {elf::kRelocRel32, "REL32", Formula::relative, Field::word32},
    {elf::kRelocRel64, "REL64", Formula::relative, Field::word64},
    {elf::kRelocAbs32, "ABS32", Formula::absolute, Field::word32},
    {elf::kRelocGotPcRel, "GOTPCREL", Formula::got_relative, Field::word32},
    {elf::kRelocGotPcRelLo, "GOTPCREL32_LO", Formula::got_relative, Field::low32},
    {elf::kRelocGotPcRelHi, "GOTPCREL32_HI", Formula::got_relative, Field::high32},
    {elf::kRelocRel32Lo, "REL32_LO", Formula::relative, Field::low32},
    {elf::kRelocRel32Hi, "REL32_HI", Formula::relative, Field::high32},
    {elf::kRelocRel16, "REL16", Formula::relative, Field::branch16},
};

const RelocRow* find_row(uint32_t type) {
    for (const RelocRow& row : kRows)
        if (row.type == type) return &row;
    return nullptr;
}

size_t field_size(Field field) {
    switch (field) {
        case Field::none: return 0;
        case Field::word64: return 8;
        case Field::branch16: return 2;
        default: return 4;
    }
}

bool in_memory(const LinkInput& input, int section) {
    return section >= 0 && input.sections[section].flags & SHF_ALLOC;
}

/// True if the value is an address that the loader moves: an absolute reference between parts of the loaded image.
bool needs_loader(const LinkInput& input, const InputRelocation& relocation, const RelocRow& row) {
    return row.formula == Formula::absolute && in_memory(input, relocation.section) &&
           in_memory(input, input.symbols[relocation.symbol].section);
}

/// Stores `value` in the field's width; false when it does not fit.
bool store(std::span<uint8_t> place, Field field, uint64_t value) {
    const auto number = static_cast<int64_t>(value);
    if (field == Field::word32 && number != static_cast<int32_t>(number) && value != static_cast<uint32_t>(value))
        return false;
    if (field == Field::high32) value >>= 32;
    if (field == Field::branch16) {  // counted in words from the end of the branch instruction
        const int64_t words = (number - 4) / 4;
        if (number % 4 || words != static_cast<int16_t>(words)) return false;
        value = static_cast<uint64_t>(words);
    }
    std::memcpy(place.data(), &value, field_size(field));
    return true;
}

class Relocator {
  public:
    explicit Relocator(Image& image) : image_(image) {}

    Result<void> run() {
        for (const InputRelocation& relocation : image_.input.relocations) STRATA_TRY_VOID(apply(relocation));
        for (size_t slot = 0; slot < image_.got.size(); ++slot) fill_slot(slot);
        if (!dynamic_.empty()) {
            Bytes& table = image_.sections[image_.rela].bytes;
            STRATA_CHECK(table.size() == dynamic_.size() * sizeof(Elf64_Rela));
            std::memcpy(table.data(), dynamic_.data(), table.size());
        }
        return {};
    }

  private:
    Result<void> apply(const InputRelocation& relocation) {
        const RelocRow* row = find_row(relocation.type);
        if (!row) return damaged("relocation of type {}, which the linker does not know", relocation.type);
        const Placement& place = image_.placements[relocation.section];
        if (row->field == Field::none || place.output < 0) return {};
        const InputSection& input = image_.input.sections[relocation.section];
        const size_t size = field_size(row->field);
        if (input.type == SHT_NOBITS || relocation.offset > input.size() || size > input.size() - relocation.offset)
            return damaged("a relocation of '{}' lies outside the section", input.name);
        const InputSymbol& symbol = image_.input.symbols[relocation.symbol];
        // Debug information also names what has no address in the image, such as LDS variables.
        const bool loaded = in_memory(image_.input, relocation.section);
        if (loaded && symbol.section == InputSymbol::kUndefined && !symbol.name.empty() && !symbol.weak())
            return damaged("undefined symbol '{}'; define it in this source", symbol.name);
        OutputSection& output = image_.sections[place.output];
        const uint64_t at = place.offset + relocation.offset, here = output.address + at;
        if (needs_loader(image_.input, relocation, *row)) {
            if (row->field != Field::word64)
                return damaged(
                    "R_AMDGPU_{} against '{}' cannot be loaded at any address; use a 64-bit or relative reference",
                    row->name, symbol.name);
            if (output.region != Region::data)
                return damaged("read-only section '{}' holds the address of '{}'; put it in .data", input.name,
                               symbol.name);
            add_dynamic(here, image_.address(symbol) + static_cast<uint64_t>(relocation.addend));
        }
        const uint64_t value = base_of(*row, relocation) + static_cast<uint64_t>(relocation.addend) -
                               (row->formula == Formula::absolute ? 0 : here);
        if (!store(std::span(output.bytes).subspan(at, size), row->field, value))
            return damaged("R_AMDGPU_{} against '{}': the distance {} does not fit", row->name, symbol.name,
                           static_cast<int64_t>(value));
        return {};
    }

    uint64_t base_of(const RelocRow& row, const InputRelocation& relocation) const {
        if (row.formula != Formula::got_relative) return image_.address(image_.input.symbols[relocation.symbol]);
        const auto slot = std::ranges::lower_bound(image_.got, relocation.symbol) - image_.got.begin();
        return image_.sections[image_.got_section].address + static_cast<uint64_t>(slot) * sizeof(uint64_t);
    }

    void fill_slot(size_t slot) {
        const InputSymbol& symbol = image_.input.symbols[image_.got[slot]];
        OutputSection& got = image_.sections[image_.got_section];
        const uint64_t value = image_.address(symbol);
        std::memcpy(got.bytes.data() + slot * sizeof(value), &value, sizeof(value));
        if (in_memory(image_.input, symbol.section)) add_dynamic(got.address + slot * sizeof(value), value);
    }

    void add_dynamic(uint64_t address, uint64_t addend) {
        dynamic_.push_back({address, ELF64_R_INFO(0ull, elf::kRelocRelative64), static_cast<int64_t>(addend)});
    }

    Image& image_;
    std::vector<Elf64_Rela> dynamic_;
};

}  // namespace

std::vector<int> symbols_with_got_slot(const LinkInput& input) {
    std::vector<int> symbols;
    for (const InputRelocation& relocation : input.relocations) {
        const RelocRow* row = find_row(relocation.type);
        if (row && row->formula == Formula::got_relative) symbols.push_back(relocation.symbol);
    }
    std::ranges::sort(symbols);
    symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
    return symbols;
}

size_t count_dynamic_relocations(const LinkInput& input) {
    size_t count = 0;
    for (const InputRelocation& relocation : input.relocations) {
        const RelocRow* row = find_row(relocation.type);
        count += row && needs_loader(input, relocation, *row);
    }
    for (int symbol : symbols_with_got_slot(input)) count += in_memory(input, input.symbols[symbol].section);
    return count;
}

Result<void> apply_relocations(Image& image) { return Relocator(image).run(); }

}  // namespace strata::isa
