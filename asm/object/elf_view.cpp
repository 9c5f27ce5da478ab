#include "strata/asm/object/amdgpu_elf_p.h"
#include "strata/asm/object/elf_view_p.h"

namespace strata::isa::elf {
namespace {

template <class T>
Result<std::vector<T>> read_table(const ElfView& view, uint64_t offset, uint64_t count, uint64_t entry_size,
                                  std::string_view what) {
    if (count == 0) return std::vector<T>{};
    if (entry_size != sizeof(T)) return damaged("{} has entries of {} bytes, not {}", what, entry_size, sizeof(T));
    STRATA_TRY(ByteSpan bytes, view.bytes(offset, count * sizeof(T), what));  // count is at most 2^16
    std::vector<T> table(count);
    std::memcpy(table.data(), bytes.data(), bytes.size());
    return table;
}

Result<void> check_identification(const Elf64_Ehdr& header, uint16_t type) {
    const unsigned char* ident = header.e_ident;
    if (std::memcmp(ident, ELFMAG, SELFMAG) != 0) return damaged("not an ELF file (no \\x7fELF at its start)");
    if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
        return damaged("not a 64-bit little-endian ELF file");
    if (header.e_machine == EM_CUDA && header.e_type == ET_EXEC && type == ET_EXEC) return {};
    if (header.e_machine != EM_AMDGPU) return damaged("ELF machine {} is not AMDGPU (224)", header.e_machine);
    if (ident[EI_OSABI] != kOsAbiHsa) return damaged("ELF OS ABI {} is not AMDGPU HSA (64)", ident[EI_OSABI]);
    if (header.e_type != type)
        return damaged("ELF type {} where {} is needed ({})", header.e_type, type,
                       type == ET_DYN ? "a linked, loadable object" : "a relocatable object");
    return {};
}

}  // namespace

Result<ElfView> ElfView::open(ByteSpan file, uint16_t type) {
    ElfView view;
    view.file_ = file;
    STRATA_TRY(ByteSpan head, view.bytes(0, sizeof(Elf64_Ehdr), "the ELF header"));
    const Elf64_Ehdr header = load<Elf64_Ehdr>(head, 0);
    STRATA_TRY_VOID(check_identification(header, type));
    view.header_ = header;
    STRATA_TRY(view.segments_, read_table<Elf64_Phdr>(view, header.e_phoff, header.e_phnum, header.e_phentsize,
                                                      "the program header table"));
    STRATA_TRY(view.sections_, read_table<Elf64_Shdr>(view, header.e_shoff, header.e_shnum, header.e_shentsize,
                                                      "the section header table"));
    return view;
}

Result<ByteSpan> ElfView::bytes(uint64_t offset, uint64_t size, std::string_view what) const {
    if (offset > file_.size() || size > file_.size() - offset)
        return damaged("{} (offset {:#x}, {} bytes) lies outside the file of {} bytes", what, offset, size,
                       file_.size());
    return file_.subspan(offset, size);
}

Result<ByteSpan> ElfView::contents(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS) return ByteSpan{};
    return bytes(section.sh_offset, section.sh_size, "a section");
}

Result<std::string_view> ElfView::string(uint32_t table, uint64_t offset) const {
    if (table >= sections_.size()) return damaged("string table index {} of {} sections", table, sections_.size());
    STRATA_TRY(ByteSpan strings, contents(sections_[table]));
    if (offset >= strings.size())
        return damaged("string offset {:#x} outside its table of {} bytes", offset, strings.size());
    const char* start = reinterpret_cast<const char*>(strings.data()) + offset;
    const void* end = std::memchr(start, 0, strings.size() - offset);
    if (!end) return damaged("the string at offset {:#x} of its table has no end", offset);
    return std::string_view(start, static_cast<const char*>(end) - start);
}

Result<std::vector<ElfSymbol>> ElfView::symbols(const Elf64_Shdr& section) const {
    if (section.sh_entsize != sizeof(Elf64_Sym))
        return damaged("a symbol table has entries of {} bytes", section.sh_entsize);
    STRATA_TRY(ByteSpan table, contents(section));
    std::vector<ElfSymbol> symbols;
    symbols.reserve(table.size() / sizeof(Elf64_Sym));
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= table.size(); at += sizeof(Elf64_Sym)) {
        const Elf64_Sym raw = load<Elf64_Sym>(table, at);
        STRATA_TRY(std::string_view name, string(section.sh_link, raw.st_name));
        symbols.push_back({name, raw});
    }
    return symbols;
}

const Elf64_Shdr* ElfView::find_section(uint32_t type) const {
    for (const Elf64_Shdr& section : sections_)
        if (section.sh_type == type) return &section;
    return nullptr;
}

}  // namespace strata::isa::elf
