#pragma once
#include <span>
#include <string>
#include <vector>

#include "strata/asm/object/amdgpu_elf_p.h"
#include "strata/asm/object/code_object.h"

// Laying out a loadable code object. link_relocatable() fills a LinkInput from an object file, write_code_object() from
// kernel specs; lay_out() turns either into the image.
namespace strata::isa {

struct InputSection {
    std::string name;
    uint32_t type = SHT_PROGBITS;
    uint64_t flags = 0, align = 1;
    Bytes bytes;
    uint64_t zero_bytes = 0;  ///< size of a SHT_NOBITS section
    uint64_t size() const { return type == SHT_NOBITS ? zero_bytes : bytes.size(); }
};

struct InputSymbol {
    static constexpr int kUndefined = -1, kAbsolute = -2;
    std::string name;
    uint8_t info = 0, other = 0;  ///< st_info, st_other
    int section = kUndefined;     ///< index of an InputSection, or one of the two above
    uint64_t value = 0, size = 0;
    bool local() const { return ELF64_ST_BIND(info) == STB_LOCAL; }
    bool weak() const { return ELF64_ST_BIND(info) == STB_WEAK; }
    /// Visible to the loader and to other objects: goes to .dynsym.
    bool exported() const {
        const int visibility = ELF64_ST_VISIBILITY(other);
        return !local() && section != kUndefined && (visibility == STV_DEFAULT || visibility == STV_PROTECTED);
    }
};

struct InputRelocation {
    int section = 0;  ///< the section that is patched
    uint64_t offset = 0;
    uint32_t type = 0;
    int symbol = 0;
    int64_t addend = 0;
};

struct LinkInput {
    uint32_t flags = 0;       ///< e_flags
    uint8_t abi_version = 0;  ///< e_ident[EI_ABIVERSION]
    std::vector<InputSection> sections;
    std::vector<InputSymbol> symbols;
    std::vector<InputRelocation> relocations;
};

Result<Bytes> lay_out(const LinkInput& input);

/// A section of the image. Sections of one region share a PT_LOAD (none for file_only).
enum class Region : uint8_t { constant, code, data, file_only };

struct OutputSection {
    std::string name;
    uint32_t type = SHT_PROGBITS;
    uint64_t flags = SHF_ALLOC, align = 1, entry_size = 0;
    Region region = Region::constant;
    Bytes bytes;
    uint64_t zero_bytes = 0;
    uint64_t offset = 0, address = 0;
    uint32_t link = 0, info = 0, name_offset = 0;  ///< section header fields
    uint64_t size() const { return type == SHT_NOBITS ? zero_bytes : bytes.size(); }
};

/// Where an input section went; `output` is -1 for one that is dropped.
struct Placement {
    int output = -1;
    uint64_t offset = 0;
};

/// The image while it is laid out: section 0 is the null section, the index is the section header index.
struct Image {
    explicit Image(const LinkInput& input) : input(input) {}
    const LinkInput& input;
    std::vector<OutputSection> sections;
    std::vector<Placement> placements;  ///< by input section
    std::vector<int> exported;          ///< input symbols in .dynsym, in order
    std::vector<int> got;               ///< input symbols that own a slot of .got, in order
    /// Section indices; 0 where there is none.
    int notes = 0, dynsym = 0, hash = 0, dynstr = 0, rela = 0, dynamic = 0, got_section = 0, symtab = 0, strtab = 0,
        shstrtab = 0;

    /// The run-time address of a symbol; undefined weak symbols are 0.
    uint64_t address(const InputSymbol& symbol) const;
    const OutputSection* output_of(const InputSymbol& symbol) const;
};

/// The symbols that need a slot of the global offset table, each once; and the number of dynamic relocations.
std::vector<int> symbols_with_got_slot(const LinkInput& input);
size_t count_dynamic_relocations(const LinkInput& input);
/// Patches all sections and fills .got and .rela.dyn; addresses must be assigned.
Result<void> apply_relocations(Image& image);
/// Fills the symbol, string, hash and dynamic tables. Their sizes do not depend on addresses: called before and after
/// these are assigned.
void fill_tables(Image& image);

constexpr uint64_t kProgramHeaders = 5;  ///< constant, code and data segments, PT_DYNAMIC, PT_NOTE
/// The file: ELF header, program headers, sections, section headers.
Bytes write_image(const Image& image);

}  // namespace strata::isa
