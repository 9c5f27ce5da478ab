#include <algorithm>

#include "strata/asm/object/elf_view_p.h"
#include "strata/asm/object/link_p.h"
#include "strata/asm/object/metadata_p.h"

// From a relocatable object made by LLVM to the input of the layout.
namespace strata::isa {
namespace {

using elf::ByteSpan;
using elf::damaged;
using elf::ElfSymbol;
using elf::ElfView;

// The result may hold large zeroed sections, but a size beyond this marks a damaged file.
constexpr uint64_t kMaxSection = uint64_t{1} << 36;

/// Collects the notes of all note sections into one, without metadata notes that name no kernel. LLVM appends such a
/// note to assembly text that brings its own. If none names a kernel, the first stays.
class NoteMerger {
  public:
    Result<void> add(ByteSpan section) {
        STRATA_TRY(std::vector<Note> notes, read_notes(section));
        for (const Note& note : notes) {
            if (!note.is_metadata()) continue;
            STRATA_TRY(const Metadata metadata, read_metadata(note.description));
            const auto& kernels = metadata.kernels;
            if (!kernels.empty() || !has_kernels_) {
                if (!kernels.empty() && !has_kernels_) merged_.clear();
                if (kernels.empty() && !merged_.empty()) continue;
                const Bytes bytes = write_metadata_note(note.description);
                merged_.insert(merged_.end(), bytes.begin(), bytes.end());
            }
            has_kernels_ |= !kernels.empty();
        }
        return {};
    }
    Bytes take() { return std::move(merged_); }

  private:
    Bytes merged_;
    bool has_kernels_ = false;
};

bool is_kept(const Elf64_Shdr& header, std::string_view name) {
    if (header.sh_type == SHT_NOTE) return false;  // merged
    if (header.sh_flags & SHF_ALLOC) return header.sh_type == SHT_PROGBITS || header.sh_type == SHT_NOBITS;
    return header.sh_type == SHT_PROGBITS && name.starts_with(".debug_");
}

/// Fills input.sections; returns the input index of each ELF section, -1 for dropped ones.
Result<std::vector<int>> read_sections(const ElfView& view, LinkInput& input) {
    std::vector<int> index(view.sections().size(), -1);
    NoteMerger notes;
    for (size_t i = 1; i < view.sections().size(); ++i) {
        const Elf64_Shdr& header = view.sections()[i];
        STRATA_TRY(std::string_view name, view.section_name(header));
        STRATA_TRY(ByteSpan bytes, view.contents(header));
        if (header.sh_type == SHT_NOTE && header.sh_flags & SHF_ALLOC) STRATA_TRY_VOID(notes.add(bytes));
        if (!is_kept(header, name)) continue;
        const uint64_t align = std::max<uint64_t>(header.sh_addralign, 1);
        if (align & (align - 1) || align > 0x1000) return damaged("section '{}' has alignment {}", name, align);
        if (header.sh_size > kMaxSection) return damaged("section '{}' has {} bytes", name, header.sh_size);
        if (header.sh_type == SHT_NOBITS && !(header.sh_flags & SHF_WRITE))
            return damaged("section '{}' has no contents, but is not writable", name);
        index[i] = static_cast<int>(input.sections.size());
        input.sections.push_back({std::string(name), header.sh_type, header.sh_flags, align,
                                  Bytes(bytes.begin(), bytes.end()),
                                  header.sh_type == SHT_NOBITS ? header.sh_size : 0});
    }
    if (Bytes note = notes.take(); !note.empty())
        input.sections.push_back({".note", SHT_NOTE, SHF_ALLOC, 4, std::move(note), 0});
    return index;
}

Result<void> read_symbols(const ElfView& view, const Elf64_Shdr& table, std::span<const int> sections,
                          LinkInput& input) {
    STRATA_TRY(std::vector<ElfSymbol> symbols, view.symbols(table));
    for (const ElfSymbol& symbol : symbols) {
        const uint16_t home = symbol.raw.st_shndx;
        InputSymbol out{std::string(symbol.name), symbol.raw.st_info,  symbol.raw.st_other,
                        InputSymbol::kUndefined,  symbol.raw.st_value, symbol.raw.st_size};
        if (home == SHN_ABS)
            out.section = InputSymbol::kAbsolute;
        else if (home >= SHN_LORESERVE)
            return damaged("symbol '{}' is in section {:#x}, which cannot be linked (a common symbol?)", symbol.name,
                           home);
        else if (home != SHN_UNDEF && home >= sections.size())
            return damaged("symbol '{}' is in section {} of {}", symbol.name, home, sections.size());
        else if (home != SHN_UNDEF && sections[home] >= 0) {
            out.section = sections[home];
            if (out.value > input.sections[out.section].size())
                return damaged("symbol '{}' lies outside its section", symbol.name);
        }
        input.symbols.push_back(std::move(out));
    }
    return {};
}

Result<void> read_relocations(const ElfView& view, std::span<const int> sections, LinkInput& input) {
    for (const Elf64_Shdr& header : view.sections()) {
        if (header.sh_type == SHT_REL) return damaged("relocations without addends (SHT_REL) are not made for AMDGPU");
        if (header.sh_type != SHT_RELA) continue;
        if (header.sh_info >= sections.size())
            return damaged("relocations for section {} of {}", header.sh_info, sections.size());
        if (sections[header.sh_info] < 0) continue;
        STRATA_TRY(ByteSpan bytes, view.contents(header));
        for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size(); at += sizeof(Elf64_Rela)) {
            const auto entry = elf::load<Elf64_Rela>(bytes, at);
            const uint64_t symbol = ELF64_R_SYM(entry.r_info);
            if (symbol >= input.symbols.size())
                return damaged("a relocation names symbol {} of {}", symbol, input.symbols.size());
            input.relocations.push_back({sections[header.sh_info], entry.r_offset,
                                         static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info)), static_cast<int>(symbol),
                                         entry.r_addend});
        }
    }
    return {};
}

Result<LinkInput> read_relocatable(std::span<const uint8_t> object) {
    STRATA_TRY(ElfView view, ElfView::open(object, ET_REL));
    LinkInput input;
    input.flags = view.header().e_flags;
    input.abi_version = view.header().e_ident[EI_ABIVERSION];
    STRATA_TRY(std::vector<int> sections, read_sections(view, input));
    const Elf64_Shdr* symbols = view.find_section(SHT_SYMTAB);
    if (!symbols) return damaged("a relocatable object without a symbol table");
    STRATA_TRY_VOID(read_symbols(view, *symbols, sections, input));
    STRATA_TRY_VOID(read_relocations(view, sections, input));
    return input;
}

}  // namespace

Result<Bytes> link_relocatable(std::span<const uint8_t> object) {
    STRATA_TRY(LinkInput input, read_relocatable(object));
    return lay_out(input);
}

Result<Bytes> code_of_relocatable(std::span<const uint8_t> object, std::string_view end_symbol) {
    STRATA_TRY(LinkInput input, read_relocatable(object));
    auto text = std::ranges::find(input.sections, ".text", &InputSection::name);
    if (text == input.sections.end()) return Bytes{};
    const auto index = static_cast<int>(text - input.sections.begin());
    for (const InputRelocation& relocation : input.relocations)
        if (relocation.section == index)
            return make_error(ErrorKind::Assembly, "the code refers to '{}', which it does not define",
                              input.symbols[relocation.symbol].name);
    for (const InputSymbol& symbol : input.symbols)
        if (!end_symbol.empty() && symbol.name == end_symbol && symbol.section == index)
            text->bytes.resize(symbol.value);
    return std::move(text->bytes);
}

}  // namespace strata::isa
