#include <algorithm>

#include "strata/asm/object/elf_view_p.h"
#include "strata/asm/object/link_p.h"

// Writes the laid-out image as a file.
namespace strata::isa {
namespace {

template <class T>
void put(Bytes& file, uint64_t at, const T& value) {
    std::memcpy(file.data() + at, &value, sizeof(T));
}

/// One program header over the sections that `belongs` selects; PT_NULL when there are none.
template <class Predicate>
Elf64_Phdr segment(const Image& image, uint32_t type, uint32_t flags, uint64_t align, Predicate belongs) {
    Elf64_Phdr header{};
    for (const OutputSection& section : image.sections) {
        if (!belongs(section)) continue;
        if (header.p_type == PT_NULL)
            header = {type, flags, section.offset, section.address, section.address, 0, 0, align};
        if (section.type != SHT_NOBITS) header.p_filesz = section.offset + section.size() - header.p_offset;
        header.p_memsz = section.address + section.size() - header.p_vaddr;
    }
    return header;
}

std::array<Elf64_Phdr, kProgramHeaders> program_headers(const Image& image) {
    constexpr uint64_t kPage = 0x1000;
    auto in_region = [](Region region) { return [=](const OutputSection& s) { return s.region == region; }; };
    auto is_section = [&](int index) {
        return [&image, index](const OutputSection& s) { return index && &s == &image.sections[index]; };
    };
    std::array headers = {
        segment(image, PT_LOAD, PF_R, kPage, in_region(Region::constant)),
        segment(image, PT_LOAD, PF_R | PF_X, kPage, in_region(Region::code)),
        segment(image, PT_LOAD, PF_R | PF_W, kPage, in_region(Region::data)),
        segment(image, PT_DYNAMIC, PF_R | PF_W, 8, is_section(image.dynamic)),
        segment(image, PT_NOTE, PF_R, 4, is_section(image.notes)),
    };
    // The first segment takes the file's own headers along.
    Elf64_Phdr& first = headers[0];
    first.p_filesz += first.p_offset;
    first.p_memsz += first.p_offset;
    first.p_offset = first.p_vaddr = first.p_paddr = 0;
    return headers;
}

}  // namespace

Bytes write_image(const Image& image) {
    const uint64_t end = image.sections.back().offset + image.sections.back().size();
    const uint64_t headers_at = (end + 7) & ~uint64_t{7};
    Bytes file(headers_at + image.sections.size() * sizeof(Elf64_Shdr));

    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_ident[EI_OSABI] = elf::kOsAbiHsa;
    header.e_ident[EI_ABIVERSION] = image.input.abi_version;
    header.e_type = ET_DYN;
    header.e_machine = EM_AMDGPU;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof(Elf64_Ehdr);
    header.e_shoff = headers_at;
    header.e_flags = image.input.flags;
    header.e_ehsize = sizeof(Elf64_Ehdr);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = kProgramHeaders;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<uint16_t>(image.sections.size());
    header.e_shstrndx = static_cast<uint16_t>(image.shstrtab);
    put(file, 0, header);
    put(file, header.e_phoff, program_headers(image));
    for (size_t i = 0; i < image.sections.size(); ++i) {
        const OutputSection& s = image.sections[i];
        std::copy(s.bytes.begin(), s.bytes.end(), file.begin() + static_cast<std::ptrdiff_t>(s.offset));
        put(file, headers_at + i * sizeof(Elf64_Shdr),
            Elf64_Shdr{s.name_offset, s.type, s.flags, s.address, s.offset, s.size(), s.link, s.info, s.align,
                       s.entry_size});
    }
    return file;
}

}  // namespace strata::isa
