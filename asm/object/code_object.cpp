#include "strata/asm/object/code_object.h"

#include <algorithm>

#include "strata/asm/object/amdgpu_elf_p.h"
#include "strata/asm/object/cubin_p.h"
#include "strata/asm/object/elf_view_p.h"
#include "strata/asm/object/features.h"
#include "strata/asm/object/metadata_p.h"
#include "strata/core/support/utf8.h"

namespace strata::isa {
namespace {

using elf::ByteSpan;
using elf::damaged;
using elf::ElfSymbol;
using elf::ElfView;

// The loader allocates the whole address range of an object at once; beyond this the file is taken for damaged.
constexpr uint64_t kMaxExtent = uint64_t{1} << 36;

Result<Arch> arch_of(uint32_t flags) {
    for (const ArchInfo& row : archs())
        if (row.elf_mach == (flags & elf::kMachMask)) return row.arch;
    for (const GenericTarget& row : generic_targets())
        if (row.elf_mach == (flags & elf::kMachMask)) return row.arch;
    std::string known;
    for (const ArchInfo& row : archs()) known += fmt::format("{}{}", known.empty() ? "" : ", ", row.name);
    for (const GenericTarget& row : generic_targets()) known += fmt::format(", {}", row.name);
    return make_error(ErrorKind::Device,
                      "code object: made for machine {:#x} of e_flags, which Strata does not know; known: {}",
                      flags & elf::kMachMask, known);
}

Result<std::vector<Segment>> read_segments(const ElfView& view) {
    std::vector<Segment> segments;
    uint64_t end = 0;
    for (const Elf64_Phdr& header : view.segments()) {
        if (header.p_type != PT_LOAD) continue;
        STRATA_TRY(ByteSpan bytes, view.bytes(header.p_offset, header.p_filesz, "a loadable segment"));
        if (header.p_memsz < header.p_filesz)
            return damaged("the segment at {:#x} is smaller in memory than in the file", header.p_vaddr);
        if (header.p_vaddr < end) return damaged("the segment at {:#x} overlaps the one before it", header.p_vaddr);
        if (header.p_vaddr > kMaxExtent || header.p_memsz > kMaxExtent - header.p_vaddr)
            return damaged("the segment at {:#x} of {} bytes is beyond {} GiB", header.p_vaddr, header.p_memsz,
                           kMaxExtent >> 30);
        end = header.p_vaddr + header.p_memsz;
        segments.push_back(
            {header.p_vaddr, header.p_memsz, bytes, (header.p_flags & PF_W) != 0, (header.p_flags & PF_X) != 0});
    }
    if (segments.empty()) return damaged("no loadable segment");
    return segments;
}

/// The segment that holds `size` bytes at `address`, or nullptr.
const Segment* find_segment(std::span<const Segment> segments, uint64_t address, uint64_t size) {
    for (const Segment& segment : segments)
        if (address >= segment.address && address - segment.address <= segment.memory_size &&
            size <= segment.memory_size - (address - segment.address))
            return &segment;
    return nullptr;
}

/// `size` bytes of the file that are loaded at `address`.
Result<ByteSpan> loaded_bytes(std::span<const Segment> segments, uint64_t address, uint64_t size,
                              std::string_view what) {
    const Segment* segment = find_segment(segments, address, size);
    if (!segment || address - segment->address > segment->bytes.size() ||
        size > segment->bytes.size() - (address - segment->address))
        return damaged("{} at address {:#x} ({} bytes) lies outside the loaded segments", what, address, size);
    return segment->bytes.subspan(address - segment->address, size);
}

Result<std::vector<Symbol>> read_symbols(const ElfView& view, std::span<const Segment> segments) {
    std::vector<Symbol> symbols;
    const Elf64_Shdr* section = view.find_section(SHT_SYMTAB);
    if (!section) section = view.find_section(SHT_DYNSYM);
    if (!section) return damaged("no symbol table (.symtab or .dynsym)");
    STRATA_TRY(std::vector<ElfSymbol> raw, view.symbols(*section));
    for (const ElfSymbol& symbol : raw) {
        const bool has_place = symbol.type() == STT_FUNC || symbol.type() == STT_OBJECT || symbol.type() == STT_NOTYPE;
        if (symbol.name.empty() || symbol.raw.st_shndx == SHN_UNDEF || symbol.raw.st_shndx >= SHN_LORESERVE ||
            !has_place)
            continue;
        if (!is_utf8(symbol.name)) return damaged("the name of a symbol is not UTF-8");
        if (!find_segment(segments, symbol.raw.st_value, symbol.raw.st_size))
            return damaged("symbol '{}' ({:#x}, {} bytes) lies outside the loaded segments", symbol.name,
                           symbol.raw.st_value, symbol.raw.st_size);
        symbols.push_back(
            {std::string(symbol.name), symbol.raw.st_value, symbol.raw.st_size, symbol.type() == STT_FUNC});
    }
    return symbols;
}

struct DynamicTable {
    uint64_t rela = 0, rela_size = 0;
};

Result<DynamicTable> read_dynamic(const ElfView& view) {
    DynamicTable table;
    for (const Elf64_Phdr& header : view.segments()) {
        if (header.p_type != PT_DYNAMIC) continue;
        STRATA_TRY(ByteSpan bytes, view.bytes(header.p_offset, header.p_filesz, "the dynamic section"));
        for (size_t at = 0; at + sizeof(Elf64_Dyn) <= bytes.size(); at += sizeof(Elf64_Dyn)) {
            const auto entry = elf::load<Elf64_Dyn>(bytes, at);
            if (entry.d_tag == DT_NULL) break;
            if (entry.d_tag == DT_RELA) table.rela = entry.d_un.d_val;
            if (entry.d_tag == DT_RELASZ) table.rela_size = entry.d_un.d_val;
        }
    }
    return table;
}

/// The dynamic symbols, read when the first relocation names one.
class DynamicSymbols {
  public:
    explicit DynamicSymbols(const ElfView& view) : view_(view) {}

    Result<uint64_t> address(uint32_t index) {
        const Elf64_Shdr* section = view_.find_section(SHT_DYNSYM);
        if (!section) return damaged("a relocation names a symbol, but there is no .dynsym");
        if (symbols_.empty()) {
            STRATA_TRY(symbols_, view_.symbols(*section));
        }
        if (index >= symbols_.size()) return damaged("a relocation names symbol {} of {}", index, symbols_.size());
        if (symbols_[index].raw.st_shndx == SHN_UNDEF)
            return damaged("symbol '{}' is used but not defined; link the object that defines it",
                           symbols_[index].name);
        return symbols_[index].raw.st_value;
    }

  private:
    const ElfView& view_;
    std::vector<ElfSymbol> symbols_;
};

Result<std::vector<Relocation>> read_relocations(const ElfView& view, std::span<const Segment> segments) {
    STRATA_TRY(DynamicTable table, read_dynamic(view));
    std::vector<Relocation> relocations;
    DynamicSymbols symbols(view);
    if (table.rela_size == 0) return relocations;
    STRATA_TRY(ByteSpan bytes, loaded_bytes(segments, table.rela, table.rela_size, "the relocation table"));
    for (size_t at = 0; at + sizeof(Elf64_Rela) <= bytes.size(); at += sizeof(Elf64_Rela)) {
        const auto entry = elf::load<Elf64_Rela>(bytes, at);
        const uint32_t type = ELF64_R_TYPE(entry.r_info);
        if (type == elf::kRelocNone) continue;
        uint64_t addend = static_cast<uint64_t>(entry.r_addend);
        if (type == elf::kRelocAbs64) {
            STRATA_TRY(uint64_t value, symbols.address(ELF64_R_SYM(entry.r_info)));
            addend += value;
        } else if (type != elf::kRelocRelative64) {
            return damaged("dynamic relocation of type {} at {:#x}; only ABS64 and RELATIVE64 can be loaded", type,
                           entry.r_offset);
        }
        const Segment* target = find_segment(segments, entry.r_offset, sizeof(uint64_t));
        if (!target || !target->writable)
            return damaged("the relocation at {:#x} is in no writable segment", entry.r_offset);
        relocations.push_back({entry.r_offset, addend});
    }
    return relocations;
}

Result<Metadata> read_all_metadata(const ElfView& view) {
    Metadata all;
    for (const Elf64_Phdr& header : view.segments()) {
        if (header.p_type != PT_NOTE) continue;
        STRATA_TRY(ByteSpan bytes, view.bytes(header.p_offset, header.p_filesz, "a note segment"));
        STRATA_TRY(std::vector<Note> notes, read_notes(bytes));
        for (const Note& note : notes) {
            if (!note.is_metadata()) continue;
            STRATA_TRY(Metadata more, read_metadata(note.description));
            std::ranges::move(more.kernels, std::back_inserter(all.kernels));
            std::ranges::move(more.printf_formats, std::back_inserter(all.printf_formats));
        }
    }
    return all;
}

/// Completes a kernel from its descriptor, and checks that its entry is code.
Result<void> attach_descriptor(const CodeObject& object, const Symbol& symbol, KernelInfo& kernel) {
    STRATA_TRY(ByteSpan bytes,
               loaded_bytes(object.segments, symbol.address, 64, "the descriptor '" + symbol.name + "'"));
    kernel.descriptor = decode_descriptor(bytes.first<64>());
    kernel.descriptor_address = symbol.address;
    kernel.entry_address = symbol.address + static_cast<uint64_t>(kernel.descriptor.code_entry_offset);
    const Segment* code = find_segment(object.segments, kernel.entry_address, 4);
    if (!code || !code->executable)
        return damaged("kernel '{}': its entry {:#x} is in no executable segment", kernel.name, kernel.entry_address);
    if (kernel.entry_address % elf::kCodeAlign)
        return damaged("kernel '{}': its entry {:#x} is not aligned to 256 bytes", kernel.name, kernel.entry_address);
    return {};
}

/// A kernel that only has a descriptor (assembly text without .amdgpu_metadata).
KernelInfo from_descriptor(const Symbol& symbol, const KernelDescriptor& descriptor, const ArchInfo& arch) {
    KernelInfo kernel;
    kernel.name = symbol.name.substr(0, symbol.name.size() - elf::kDescriptorSuffix.size());
    kernel.kernarg_size = descriptor.kernarg_size;
    kernel.lds = descriptor.group_segment_fixed_size;
    kernel.scratch = descriptor.private_segment_fixed_size;
    kernel.wave_size = descriptor.wave_size(arch);
    kernel.vgprs = static_cast<uint32_t>(descriptor.vgprs(arch));
    kernel.sgprs = static_cast<uint32_t>(arch.sgprs);
    kernel.max_block = static_cast<uint32_t>(arch.max_block);
    kernel.uses_dynamic_stack = descriptor.dynamic_stack();
    return kernel;
}

Result<void> attach_kernels(CodeObject& object) {
    for (KernelInfo& kernel : object.kernels) {
        const std::string wanted = kernel.name + std::string(elf::kDescriptorSuffix);
        auto symbol = std::find_if(object.symbols.begin(), object.symbols.end(),
                                   [&](const Symbol& s) { return s.name == wanted; });
        if (symbol == object.symbols.end())
            return damaged("kernel '{}' has no descriptor symbol '{}'", kernel.name, wanted);
        STRATA_TRY_VOID(attach_descriptor(object, *symbol, kernel));
    }
    for (const Symbol& symbol : object.symbols) {
        if (!symbol.name.ends_with(elf::kDescriptorSuffix) || symbol.is_function) continue;
        if (object.find(std::string_view(symbol.name).substr(0, symbol.name.size() - elf::kDescriptorSuffix.size())))
            continue;
        STRATA_TRY(ByteSpan bytes,
                   loaded_bytes(object.segments, symbol.address, 64, "the descriptor '" + symbol.name + "'"));
        KernelInfo kernel = from_descriptor(symbol, decode_descriptor(bytes.first<64>()), info(object.arch));
        STRATA_TRY_VOID(attach_descriptor(object, symbol, kernel));
        object.kernels.push_back(std::move(kernel));
    }
    return {};
}

}  // namespace

Result<CodeObject> CodeObject::parse(Bytes image) {
    if (is_cubin(image)) return read_cubin(std::move(image));
    CodeObject object;
    object.image = std::move(image);
    STRATA_TRY(ElfView view, ElfView::open(object.image, ET_DYN));
    const uint8_t abi = view.header().e_ident[EI_ABIVERSION];
    if (abi < elf::kAbiVersionV4 || abi > elf::kAbiVersionV6)
        return damaged("metadata version {} is not supported; compile with -mcode-object-version=4, 5 or 6", abi + 2);
    object.abi_version = abi + 2;
    STRATA_TRY(object.arch, arch_of(view.header().e_flags));
    STRATA_TRY(object.segments, read_segments(view));
    STRATA_TRY(object.symbols, read_symbols(view, object.segments));
    STRATA_TRY(object.relocations, read_relocations(view, object.segments));
    STRATA_TRY(Metadata metadata, read_all_metadata(view));
    object.kernels = std::move(metadata.kernels);
    object.printf_formats = std::move(metadata.printf_formats);
    STRATA_TRY_VOID(attach_kernels(object));
    return object;
}

const KernelInfo* CodeObject::find(std::string_view kernel) const {
    for (const KernelInfo& candidate : kernels)
        if (candidate.name == kernel) return &candidate;
    return nullptr;
}

const Segment* CodeObject::code_at(uint64_t address) const {
    for (const Segment& segment : segments)
        if (segment.executable && address >= segment.address && address - segment.address < segment.bytes.size())
            return &segment;
    return nullptr;
}

Result<const KernelInfo*> CodeObject::kernel(std::string_view name) const {
    if (const KernelInfo* found = find(name)) return found;
    std::string known;
    for (const KernelInfo& k : kernels) known += (known.empty() ? "" : ", ") + k.name;
    return make_error(ErrorKind::Launch, "the code object has no kernel '{}'; it has: {}", name,
                      known.empty() ? "none" : known);
}

}  // namespace strata::isa
