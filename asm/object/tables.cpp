#include "strata/asm/object/elf_view_p.h"
#include "strata/asm/object/link_p.h"

// The symbol tables, their strings and hash, and the dynamic section of an image.
namespace strata::isa {
namespace {

template <class T>
Bytes as_bytes(const std::vector<T>& items) {
    Bytes bytes(items.size() * sizeof(T));
    if (!items.empty()) std::memcpy(bytes.data(), items.data(), bytes.size());
    return bytes;
}

/// A string table: offset 0 is the empty string.
class Strings {
  public:
    uint32_t add(std::string_view text) {
        if (text.empty()) return 0;
        const auto at = static_cast<uint32_t>(bytes.size());
        bytes.insert(bytes.end(), text.begin(), text.end());
        bytes.push_back(0);
        return at;
    }
    Bytes bytes{0};
};

Elf64_Sym encode_symbol(const Image& image, const InputSymbol& symbol, uint32_t name) {
    const OutputSection* home = image.output_of(symbol);
    const auto index = home ? home - image.sections.data() : std::ptrdiff_t{SHN_ABS};
    return {name, symbol.info, symbol.other, static_cast<uint16_t>(index), image.address(symbol), symbol.size};
}

/// The hash function of the System V ABI, "Dynamic Linking / Hash Table".
uint32_t sysv_hash(std::string_view name) {
    uint32_t hash = 0;
    for (unsigned char c : name) {
        hash = (hash << 4) + c;
        const uint32_t top = hash & 0xf0000000u;
        hash = (hash ^ (top >> 24)) & ~top;
    }
    return hash;
}

void fill_dynamic_symbols(Image& image) {
    const uint32_t count = static_cast<uint32_t>(image.exported.size()) + 1;
    Strings strings;
    std::vector<Elf64_Sym> table(1);
    std::vector<uint32_t> hash(2 + 2 * count);  // bucket count, chain count, buckets, chains
    hash[0] = hash[1] = count;
    for (uint32_t i = 1; i < count; ++i) {
        const InputSymbol& symbol = image.input.symbols[image.exported[i - 1]];
        table.push_back(encode_symbol(image, symbol, strings.add(symbol.name)));
        uint32_t& bucket = hash[2 + sysv_hash(symbol.name) % count];
        hash[2 + count + i] = bucket;
        bucket = i;
    }
    image.sections[image.dynsym].bytes = as_bytes(table);
    image.sections[image.dynsym].info = 1;  // the first symbol that is not local
    image.sections[image.hash].bytes = as_bytes(hash);
    image.sections[image.dynstr].bytes = std::move(strings.bytes);
}

/// .symtab and .strtab: the loader of ROCm reads kernels from them, not from .dynsym. Locals come first, as ELF
/// demands.
void fill_symbol_table(Image& image) {
    Strings strings;
    std::vector<Elf64_Sym> table(1);
    for (bool local : {true, false}) {
        for (const InputSymbol& symbol : image.input.symbols) {
            if (symbol.local() != local || symbol.name.empty() || ELF64_ST_TYPE(symbol.info) == STT_SECTION) continue;
            if (!image.output_of(symbol) && symbol.section != InputSymbol::kAbsolute) continue;
            table.push_back(encode_symbol(image, symbol, strings.add(symbol.name)));
        }
        if (local) image.sections[image.symtab].info = static_cast<uint32_t>(table.size());
    }
    image.sections[image.symtab].bytes = as_bytes(table);
    image.sections[image.strtab].bytes = std::move(strings.bytes);
}

void fill_dynamic_section(Image& image) {
    const auto& s = image.sections;
    std::vector<Elf64_Dyn> entries;
    auto entry = [&](int64_t tag, uint64_t value) { entries.push_back({tag, {value}}); };
    if (image.rela) {
        entry(DT_RELA, s[image.rela].address);
        entry(DT_RELASZ, s[image.rela].size());
        entry(DT_RELAENT, sizeof(Elf64_Rela));
    }
    entry(DT_SYMTAB, s[image.dynsym].address);
    entry(DT_SYMENT, sizeof(Elf64_Sym));
    entry(DT_STRTAB, s[image.dynstr].address);
    entry(DT_STRSZ, s[image.dynstr].size());
    entry(DT_HASH, s[image.hash].address);
    entry(DT_NULL, 0);
    image.sections[image.dynamic].bytes = as_bytes(entries);
}

void fill_section_names(Image& image) {
    Strings strings;
    for (OutputSection& section : image.sections) section.name_offset = strings.add(section.name);
    image.sections[image.shstrtab].bytes = std::move(strings.bytes);
}

}  // namespace

void fill_tables(Image& image) {
    fill_dynamic_symbols(image);
    fill_symbol_table(image);
    fill_dynamic_section(image);
    fill_section_names(image);
}

}  // namespace strata::isa
