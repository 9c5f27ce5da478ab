// Machine code of NVIDIA's chips (ELF, EM_CUDA). NVIDIA does not document the contents of its sections. The facts here
// are those that `cuobjdump -elf` prints of files made by NVRTC 13, by the names that it gives them (EIATTR_...).
#include <algorithm>
#include <set>

#include "strata/asm/object/cubin_p.h"
#include "strata/asm/object/elf_view_p.h"

namespace strata::isa {
namespace {

using elf::ByteSpan;
using elf::damaged;
using elf::ElfSymbol;
using elf::ElfView;
using elf::load;

constexpr uint8_t kWithBytes = 4;  ///< EIFMT_SVAL: the value is the size of what follows
enum Attribute : uint8_t { kFrameSize = 0x11, kParameter = 0x17, kRegisters = 0x2f };
constexpr std::string_view kCode = ".text.", kFacts = ".nv.info", kShared = ".nv.shared.", kVariables = ".nv.global",
                           kConstants = ".nv.constant3";

/// The attributes of a section .nv.info that have bytes.
Result<std::vector<std::pair<uint8_t, ByteSpan>>> attributes_of(ByteSpan section) {
    std::vector<std::pair<uint8_t, ByteSpan>> all;
    for (size_t at = 0; at < section.size();) {
        if (section.size() - at < 4) return damaged("an attribute of .nv.info ends at {} bytes", section.size());
        const uint8_t format = section[at], attribute = section[at + 1];
        const size_t bytes = format == kWithBytes ? load<uint16_t>(section, at + 2) : 0;
        at += 4;
        if (bytes > section.size() - at) return damaged("an attribute of .nv.info has {} bytes too many", bytes);
        if (format == kWithBytes) all.emplace_back(attribute, section.subspan(at, bytes));
        at += bytes;
    }
    return all;
}

/// The facts of one section about a kernel: its parameters.
Result<void> add_parameters(KernelInfo& kernel, ByteSpan section) {
    STRATA_TRY(const auto attributes, attributes_of(section));
    for (const auto& [attribute, bytes] : attributes) {
        if (attribute != kParameter || bytes.size() < 12) continue;
        const uint32_t offset = load<uint16_t>(bytes, 6), size = load<uint32_t>(bytes, 8) >> 18;
        kernel.args.push_back({.offset = offset, .size = size, .value_kind = "by_value"});
        kernel.kernarg_size = std::max(kernel.kernarg_size, offset + size);
    }
    std::ranges::sort(kernel.args, {}, &KernelArg::offset);
    return {};
}

class Reader {
  public:
    explicit Reader(const ElfView& view) : view_(view) {}

    Result<void> read(CodeObject& object) {
        STRATA_TRY_VOID(read_symbols(object));
        for (const Elf64_Shdr& section : view_.sections()) {
            STRATA_TRY(const std::string_view name, view_.section_name(section));
            if (!name.starts_with(kFacts) && !name.starts_with(kShared)) continue;
            STRATA_TRY(const ByteSpan bytes, view_.contents(section));
            if (name == kFacts) STRATA_TRY_VOID(read_sizes(object, bytes));
            if (KernelInfo* kernel = kernel_of_section(object, name, ".nv.info."))
                STRATA_TRY_VOID(add_parameters(*kernel, bytes));
            if (KernelInfo* kernel = kernel_of_section(object, name, kShared))
                kernel->lds = static_cast<uint32_t>(section.sh_size);
        }
        return {};
    }

  private:
    static KernelInfo* kernel_of_section(CodeObject& object, std::string_view section, std::string_view prefix) {
        if (!section.starts_with(prefix)) return nullptr;
        const auto found = std::ranges::find(object.kernels, section.substr(prefix.size()), &KernelInfo::name);
        return found == object.kernels.end() ? nullptr : &*found;
    }

    Result<std::string_view> section_of(const ElfSymbol& symbol) const {
        if (symbol.raw.st_shndx == SHN_UNDEF || symbol.raw.st_shndx >= view_.sections().size())
            return std::string_view();
        return view_.section_name(view_.sections()[symbol.raw.st_shndx]);
    }

    /// A kernel is a function with facts of its own; functions that are called have code alone.
    Result<void> read_symbols(CodeObject& object) {
        const Elf64_Shdr* const table = view_.find_section(SHT_SYMTAB);
        if (!table) return damaged("no symbols");
        STRATA_TRY(symbols_, view_.symbols(*table));
        std::set<std::string, std::less<>> with_facts;
        for (const Elf64_Shdr& section : view_.sections()) {
            STRATA_TRY(const std::string_view name, view_.section_name(section));
            if (name.starts_with(".nv.info.")) with_facts.emplace(name.substr(std::string_view(".nv.info.").size()));
        }
        for (const ElfSymbol& symbol : symbols_) {
            STRATA_TRY(const std::string_view section, section_of(symbol));
            const bool code = section.starts_with(kCode) && symbol.type() == STT_FUNC;
            if (code && symbol.binding() != STB_LOCAL && with_facts.contains(symbol.name))
                object.kernels.push_back({.name = std::string(symbol.name)});
            if (symbol.type() == STT_OBJECT && (section.starts_with(kVariables) || section == kConstants))
                object.symbols.push_back({std::string(symbol.name), symbol.raw.st_value, symbol.raw.st_size, false});
        }
        return {};
    }

    /// Registers and scratch, by symbol.
    Result<void> read_sizes(CodeObject& object, ByteSpan section) {
        STRATA_TRY(const auto attributes, attributes_of(section));
        for (const auto& [attribute, bytes] : attributes) {
            if (bytes.size() < 8 || (attribute != kRegisters && attribute != kFrameSize)) continue;
            const uint32_t symbol = load<uint32_t>(bytes, 0), value = load<uint32_t>(bytes, 4);
            if (symbol >= symbols_.size()) return damaged(".nv.info names symbol {} of {}", symbol, symbols_.size());
            const auto kernel = std::ranges::find(object.kernels, symbols_[symbol].name, &KernelInfo::name);
            if (kernel == object.kernels.end()) continue;
            (attribute == kRegisters ? kernel->vgprs : kernel->scratch) = value;
        }
        return {};
    }

    const ElfView& view_;
    std::vector<ElfSymbol> symbols_;
};

}  // namespace

bool is_cubin(std::span<const uint8_t> file) {
    return file.size() >= sizeof(Elf64_Ehdr) && std::memcmp(file.data(), ELFMAG, SELFMAG) == 0 &&
           load<uint16_t>(file, offsetof(Elf64_Ehdr, e_machine)) == EM_CUDA;
}

Result<CodeObject> read_cubin(Bytes image) {
    CodeObject object;
    object.image = std::move(image);
    object.for_nvidia = true;
    STRATA_TRY(const ElfView view, ElfView::open(object.image, ET_EXEC));
    STRATA_TRY_VOID(Reader(view).read(object));
    return object;
}

}  // namespace strata::isa
