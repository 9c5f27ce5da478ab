#pragma once
#include <elf.h>

#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "strata/core/support/result.h"

namespace strata::isa::elf {

using ByteSpan = std::span<const uint8_t>;

/// A value of trivially copyable type T at `offset`; the caller has checked the bounds.
template <class T>
T load(ByteSpan bytes, size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

/// A symbol with its name resolved.
struct ElfSymbol {
    std::string_view name;
    Elf64_Sym raw;
    int binding() const { return ELF64_ST_BIND(raw.st_info); }
    int type() const { return ELF64_ST_TYPE(raw.st_info); }
    int visibility() const { return ELF64_ST_VISIBILITY(raw.st_other); }
};

/// A bounds-checked view of a little-endian ELF64 file for AMDGPU/HSA, or for NVIDIA's chips. Nothing in the file is
/// trusted: every accessor checks against the file's size, so no caller does arithmetic on the file's numbers.
class ElfView {
  public:
    /// Checks identification and the header tables. `type` is ET_DYN or ET_REL; ET_EXEC: a file for NVIDIA's chips.
    static Result<ElfView> open(ByteSpan file, uint16_t type);

    ByteSpan file() const { return file_; }
    const Elf64_Ehdr& header() const { return header_; }
    std::span<const Elf64_Phdr> segments() const { return segments_; }
    std::span<const Elf64_Shdr> sections() const { return sections_; }

    /// `size` bytes at `offset`; the error calls them `what`.
    Result<ByteSpan> bytes(uint64_t offset, uint64_t size, std::string_view what) const;
    /// A section's bytes; empty for SHT_NOBITS.
    Result<ByteSpan> contents(const Elf64_Shdr& section) const;
    /// The NUL-terminated string at `offset` of section `table`.
    Result<std::string_view> string(uint32_t table, uint64_t offset) const;
    Result<std::string_view> section_name(const Elf64_Shdr& section) const {
        return string(header_.e_shstrndx, section.sh_name);
    }
    /// All symbols of a SHT_SYMTAB or SHT_DYNSYM section, the null symbol included.
    Result<std::vector<ElfSymbol>> symbols(const Elf64_Shdr& section) const;
    /// The first section of a type, or nullptr.
    const Elf64_Shdr* find_section(uint32_t type) const;

  private:
    ByteSpan file_;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Phdr> segments_;
    std::vector<Elf64_Shdr> sections_;
};

/// The error of a file that is no usable code object.
template <class... Args>
Error damaged(fmt::format_string<Args...> text, Args&&... args) {
    return make_error(ErrorKind::Usage, "code object: {}", fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace strata::isa::elf
