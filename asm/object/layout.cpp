#include <algorithm>

#include "strata/asm/object/elf_view_p.h"
#include "strata/asm/object/link_p.h"

// Decides what sections the image has and where they lie.
namespace strata::isa {
namespace {

using elf::damaged;

constexpr uint64_t kPage = 0x1000;
constexpr uint64_t kMostAlign = uint64_t{1} << 16;  // the file has a gap of up to the alignment

constexpr uint64_t align_up(uint64_t value, uint64_t align) { return (value + align - 1) & ~(align - 1); }

Region region_of(const InputSection& section) {
    if (!(section.flags & SHF_ALLOC)) return Region::file_only;
    if (section.flags & SHF_EXECINSTR) return Region::code;
    return section.flags & SHF_WRITE ? Region::data : Region::constant;
}

/// The name of the section that takes an input section. The loader finds code by the name ".text", so ".text.foo" joins
/// it.
std::string output_name(const InputSection& section) {
    if (section.type == SHT_NOTE) return ".note";
    switch (region_of(section)) {
        case Region::constant: return ".rodata";
        case Region::code: return ".text";
        case Region::data: return section.type == SHT_NOBITS ? ".bss" : ".data";
        case Region::file_only: break;
    }
    return section.name;
}

uint64_t output_flags(Region region) {
    switch (region) {
        case Region::constant: return SHF_ALLOC;
        case Region::code: return SHF_ALLOC | SHF_EXECINSTR;
        case Region::data: return SHF_ALLOC | SHF_WRITE;
        case Region::file_only: break;
    }
    return 0;
}

/// Appends the input sections that go to `name` to one output section, made at the first.
int gather(Image& image, std::string_view name) {
    int index = 0;
    for (size_t i = 0; i < image.input.sections.size(); ++i) {
        const InputSection& input = image.input.sections[i];
        if (output_name(input) != name) continue;
        if (!index) {
            const Region region = region_of(input);
            index = static_cast<int>(image.sections.size());
            image.sections.push_back({std::string(name), input.type, output_flags(region), 1, 0, region});
        }
        OutputSection& output = image.sections[index];
        output.align = std::max(output.align, input.align);
        const uint64_t at = align_up(output.size(), input.align);
        image.placements[i] = {index, at};
        if (input.type == SHT_NOBITS) {
            output.zero_bytes = at + input.size();
        } else {
            output.bytes.resize(at);
            output.bytes.insert(output.bytes.end(), input.bytes.begin(), input.bytes.end());
        }
    }
    return index;
}

int add(Image& image, OutputSection section) {
    image.sections.push_back(std::move(section));
    return static_cast<int>(image.sections.size()) - 1;
}

/// All sections in file order. The tables among them get their contents from fill_tables().
void make_sections(Image& image) {
    image.sections.push_back({.type = SHT_NULL, .flags = 0, .align = 0, .region = Region::file_only});
    image.notes = gather(image, ".note");
    image.dynsym = add(image, {.name = ".dynsym", .type = SHT_DYNSYM, .align = 8, .entry_size = sizeof(Elf64_Sym)});
    image.hash = add(image, {.name = ".hash", .type = SHT_HASH, .align = 4, .entry_size = 4});
    image.dynstr = add(image, {.name = ".dynstr", .type = SHT_STRTAB});
    if (const size_t count = count_dynamic_relocations(image.input))
        image.rela = add(image, {.name = ".rela.dyn",
                                 .type = SHT_RELA,
                                 .align = 8,
                                 .entry_size = sizeof(Elf64_Rela),
                                 .bytes = Bytes(count * sizeof(Elf64_Rela))});
    gather(image, ".rodata");
    if (int text = gather(image, ".text"))
        image.sections[text].align = std::max(image.sections[text].align, elf::kCodeAlign);
    constexpr uint64_t kDataFlags = SHF_ALLOC | SHF_WRITE;
    image.dynamic = add(image, {.name = ".dynamic",
                                .type = SHT_DYNAMIC,
                                .flags = kDataFlags,
                                .align = 8,
                                .entry_size = sizeof(Elf64_Dyn),
                                .region = Region::data});
    if (!image.got.empty())
        image.got_section = add(image, {.name = ".got",
                                        .flags = kDataFlags,
                                        .align = 8,
                                        .region = Region::data,
                                        .bytes = Bytes(image.got.size() * sizeof(uint64_t))});
    gather(image, ".data");
    gather(image, ".bss");
    for (size_t i = 0; i < image.input.sections.size(); ++i)
        if (image.placements[i].output < 0) gather(image, output_name(image.input.sections[i]));
    image.symtab = add(image, {.name = ".symtab",
                               .type = SHT_SYMTAB,
                               .flags = 0,
                               .align = 8,
                               .entry_size = sizeof(Elf64_Sym),
                               .region = Region::file_only});
    image.strtab = add(image, {.name = ".strtab", .type = SHT_STRTAB, .flags = 0, .region = Region::file_only});
    image.shstrtab = add(image, {.name = ".shstrtab", .type = SHT_STRTAB, .flags = 0, .region = Region::file_only});

    const auto link = [&](int from, int to) { image.sections[from].link = static_cast<uint32_t>(to); };
    link(image.dynsym, image.dynstr);
    link(image.hash, image.dynsym);
    link(image.dynamic, image.dynstr);
    link(image.symtab, image.strtab);
    if (image.rela) link(image.rela, image.dynsym);
}

/// File offsets and addresses. Each region starts on a page of its own; address and offset agree modulo the page.
void assign_addresses(Image& image) {
    uint64_t offset = sizeof(Elf64_Ehdr) + kProgramHeaders * sizeof(Elf64_Phdr), shift = 0;
    Region region = Region::constant;
    uint64_t zero_end = 0;
    for (size_t i = 1; i < image.sections.size(); ++i) {
        OutputSection& section = image.sections[i];
        if (section.region != region) {
            region = section.region;
            shift += kPage;
        }
        offset = align_up(offset, section.align);
        section.offset = offset;
        if (region == Region::file_only) {
            offset += section.size();
        } else if (section.type == SHT_NOBITS) {
            zero_end = align_up(std::max(zero_end, offset + shift), section.align);
            section.address = zero_end;
            zero_end += section.size();
        } else {
            section.address = offset + shift;
            offset += section.size();
        }
    }
}

}  // namespace

const OutputSection* Image::output_of(const InputSymbol& symbol) const {
    if (symbol.section < 0 || placements[symbol.section].output < 0) return nullptr;
    return &sections[placements[symbol.section].output];
}

uint64_t Image::address(const InputSymbol& symbol) const {
    if (symbol.section == InputSymbol::kAbsolute) return symbol.value;
    const OutputSection* home = output_of(symbol);
    return home ? home->address + placements[symbol.section].offset + symbol.value : 0;
}

Result<Bytes> lay_out(const LinkInput& input) {
    for (const InputSection& section : input.sections)
        if (section.align > kMostAlign)
            return damaged("section '{}' wants an alignment of {} bytes; the most is {}", section.name, section.align,
                           kMostAlign);
    Image image(input);
    image.placements.resize(input.sections.size());
    for (size_t i = 0; i < input.symbols.size(); ++i)
        if (input.symbols[i].exported()) image.exported.push_back(static_cast<int>(i));
    image.got = symbols_with_got_slot(input);
    make_sections(image);
    fill_tables(image);  // for their sizes
    assign_addresses(image);
    STRATA_TRY_VOID(apply_relocations(image));
    fill_tables(image);  // for the addresses in them
    return write_image(image);
}

}  // namespace strata::isa
