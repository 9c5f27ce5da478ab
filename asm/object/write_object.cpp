#include <algorithm>
#include <cstring>
#include <map>

#include "strata/asm/object/metadata_p.h"
#include "strata/asm/object/object_spec.h"
#include "strata/asm/object/write_p.h"

// From an object's spec to the input of the layout: one .text, one descriptor a kernel, the metadata note, a section
// for each variable.
namespace strata::isa {
namespace {

using Kind = ReferenceSpec::Kind;

constexpr uint32_t kCodeEnd = 0xbf9f0000, kNop = 0xbf800000;  // s_code_end (RDNA), s_nop 0
constexpr uint64_t kLargestGlobal = uint64_t{1} << 32;
constexpr uint8_t kKernel = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), kObject = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                  kFunction = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);

/// Hidden arguments that came with version 5 (LLVM AMDGPUUsage, "Code Object V5 Kernel Argument Metadata").
constexpr std::string_view kSinceV5[] = {
    "hidden_block_count_",     "hidden_group_size_",  "hidden_remainder_",  "hidden_grid_dims", "hidden_heap_v1",
    "hidden_dynamic_lds_size", "hidden_private_base", "hidden_shared_base", "hidden_queue_ptr",
};

constexpr uint64_t align_up(uint64_t size, uint64_t align) { return (size + align - 1) / align * align; }

Error refuse(std::string_view what, std::string_view name, std::string_view why) {
    return make_error(ErrorKind::Usage, "{} '{}': {}", what, name, why);
}

Result<void> check_version(const KernelSpec& spec, int version) {
    for (const KernelArg& arg : spec.args)
        for (std::string_view kind : kSinceV5)
            if (version < 5 && std::string_view(arg.value_kind).starts_with(kind))
                return refuse("kernel", spec.name,
                              fmt::format("metadata of version 4 has no argument '{}'; read the dispatch packet, or "
                                          "write version 5",
                                          arg.value_kind));
    return {};
}

Result<void> check_lines(std::string_view name, const CodeLines& lines, size_t words) {
    uint32_t least = 0;
    for (const CodeLines::Row& row : lines.rows) {
        if (row.word < least || row.word >= words || row.file >= lines.files.size())
            return refuse("lines of", name, "a row is out of order, or names no word of the code or no file");
        least = row.word;
    }
    return {};
}

Result<void> check_global(const GlobalSpec& spec) {
    if (spec.name.empty()) return make_error(ErrorKind::Usage, "a variable needs a name");
    if (spec.bytes.empty() && spec.size == 0) return refuse("variable", spec.name, "it has no bytes and no size");
    if (spec.size && spec.size < spec.bytes.size())
        return refuse("variable", spec.name,
                      fmt::format("{} bytes of contents for a size of {}", spec.bytes.size(), spec.size));
    if (spec.size > kLargestGlobal)
        return refuse("variable", spec.name, fmt::format("{} bytes; allowed are {}", spec.size, kLargestGlobal));
    if (spec.align == 0 || spec.align & (spec.align - 1) || spec.align > 4096)
        return refuse("variable", spec.name,
                      fmt::format("alignment {}; allowed are powers of two up to 4096", spec.align));
    return {};
}

class ObjectWriter {
  public:
    ObjectWriter(const ArchInfo& arch, const ObjectSpec& spec) : arch_(arch), spec_(spec) {
        input_.flags = arch.elf_mach;
        if (!is_rdna(arch)) input_.flags |= 0x500;  // XNACK and SRAM-ECC "any" (EF_AMDGPU_FEATURE_*_ANY_V4)
        input_.abi_version = static_cast<uint8_t>(spec.abi_version - 2);
        input_.sections = {{".note", SHT_NOTE, SHF_ALLOC, 4},
                           {".rodata", SHT_PROGBITS, SHF_ALLOC, 64},
                           {".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, elf::kCodeAlign}};
        input_.symbols.push_back({});
    }

    Result<Bytes> write() {
        for (const KernelSpec& kernel : spec_.kernels) STRATA_TRY_VOID(add_kernel(kernel));
        for (const FunctionSpec& function : spec_.functions) STRATA_TRY_VOID(add_function(function));
        for (const GlobalSpec& global : spec_.globals) STRATA_TRY_VOID(add_global(global));
        for (const ReferenceSpec& reference : spec_.references) STRATA_TRY_VOID(add_reference(reference));
        pad_code();
        add_line_table(input_, lines_);
        input_.sections[kNote].bytes = write_metadata_note(write_metadata(arch_, spec_.kernels, spec_.abi_version));
        return lay_out(input_);
    }

  private:
    enum Section { kNote, kDescriptors, kText };

    Result<int> add_symbol(std::string_view what, const InputSymbol& symbol) {
        const auto index = static_cast<int>(input_.symbols.size());
        if (!names_.emplace(symbol.name, index).second) return refuse(what, symbol.name, "the name is used twice");
        input_.symbols.push_back(symbol);
        return index;
    }

    /// Appends code at a boundary where a kernel may start; returns its symbol.
    Result<int> add_code(std::string_view what, const std::string& name, uint8_t info, uint8_t visibility,
                         const std::vector<uint32_t>& code, const CodeLines& lines) {
        STRATA_TRY_VOID(check_lines(name, lines, code.size()));
        Bytes& text = input_.sections[kText].bytes;
        fill_code(align_up(text.size(), elf::kCodeAlign));
        const uint64_t entry = text.size(), size = code.size() * sizeof(uint32_t);
        const auto* bytes = reinterpret_cast<const uint8_t*>(code.data());
        text.insert(text.end(), bytes, bytes + size);
        STRATA_TRY(int symbol, add_symbol(what, {name, info, visibility, kText, entry, size}));
        lines_.push_back({&lines, symbol, static_cast<uint32_t>(code.size())});
        return symbol;
    }

    Result<void> add_kernel(const KernelSpec& spec) {
        STRATA_TRY_VOID(check_kernel(arch_, spec));
        STRATA_TRY_VOID(check_version(spec, spec_.abi_version));
        STRATA_TRY(int function, add_code("kernel", spec.name, kKernel, STV_PROTECTED, spec.code, spec.lines));
        STRATA_TRY_VOID(add_constants(spec, input_.symbols[static_cast<size_t>(function)].value));
        Bytes& descriptors = input_.sections[kDescriptors].bytes;
        const uint64_t descriptor = descriptors.size();
        const std::array<uint8_t, 64> bytes = encode(describe_kernel(arch_, spec));
        descriptors.insert(descriptors.end(), bytes.begin(), bytes.end());
        STRATA_TRY_VOID(add_symbol("kernel", {spec.name + std::string(elf::kDescriptorSuffix), kObject, STV_PROTECTED,
                                              kDescriptors, descriptor, 64}));
        constexpr uint64_t kEntryField = 16;  // of the descriptor: the entry relative to the descriptor's start
        input_.relocations.push_back({kDescriptors, descriptor + kEntryField, elf::kRelocRel64, function, kEntryField});
        return {};
    }

    /// The kernel's own read-only data, and the distances to it in its code, which starts at `entry`.
    Result<void> add_constants(const KernelSpec& spec, uint64_t entry) {
        if (spec.constants.empty()) return {};
        constexpr uint8_t kLocalObject = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
        const auto section = static_cast<int>(input_.sections.size());
        input_.sections.push_back({".rodata", SHT_PROGBITS, SHF_ALLOC, elf::kCodeAlign, spec.constants});
        STRATA_TRY(int symbol, add_symbol("constants", {spec.name + ".constants", kLocalObject, STV_DEFAULT, section, 0,
                                                        spec.constants.size()}));
        for (const ConstantReference& from : spec.references)
            input_.relocations.push_back({kText, entry + from.word * sizeof(uint32_t),
                                          from.high ? elf::kRelocRel32Hi : elf::kRelocRel32Lo, symbol,
                                          int64_t{from.offset} + from.addend});
        return {};
    }

    Result<void> add_function(const FunctionSpec& spec) {
        if (spec.name.empty()) return make_error(ErrorKind::Usage, "a function needs a name");
        if (spec.code.empty()) return refuse("function", spec.name, "it has no code");
        STRATA_TRY_VOID(add_code("function", spec.name, kFunction, STV_HIDDEN, spec.code, spec.lines));
        return {};
    }

    Result<void> add_global(const GlobalSpec& spec) {
        STRATA_TRY_VOID(check_global(spec));
        const bool holds_address =
            std::ranges::any_of(spec_.references, [&](const ReferenceSpec& r) { return r.holder == spec.name; });
        const bool constant = spec.constant && !holds_address;  // the loader fills in addresses
        const uint64_t size = std::max<uint64_t>(spec.size, spec.bytes.size());
        const auto section = static_cast<int>(input_.sections.size());
        InputSection& place = input_.sections.emplace_back();
        place.flags = SHF_ALLOC | (constant ? 0u : SHF_WRITE);
        place.align = spec.align;
        place.name = constant ? ".rodata" : ".data";
        if (spec.bytes.empty() && !constant && !holds_address) {
            place.name = ".bss";
            place.type = SHT_NOBITS;
            place.zero_bytes = size;
        } else {
            place.bytes = spec.bytes;
            place.bytes.resize(size);
        }
        STRATA_TRY_VOID(add_symbol("variable", {spec.name, kObject, STV_PROTECTED, section, 0, size}));
        return {};
    }

    Result<void> add_reference(const ReferenceSpec& spec) {
        const auto holder = names_.find(spec.holder), target = names_.find(spec.target);
        for (const auto& [name, found] : {std::pair(&spec.holder, holder), std::pair(&spec.target, target)})
            if (found == names_.end())
                return make_error(ErrorKind::Usage, "a reference names '{}', which the object does not have", *name);
        const InputSymbol& in = input_.symbols[static_cast<size_t>(holder->second)];
        const bool address = spec.kind == Kind::address, code = in.section == kText;
        if (in.section == kDescriptors) return refuse("reference in", spec.holder, "a descriptor holds none");
        if (address == code)
            return refuse("reference in", spec.holder,
                          code ? "code cannot hold an address; use a relative one, or a variable"
                               : "a variable holds addresses, relative references are for code");
        const uint64_t field = address ? 8 : 4;
        if (spec.offset % field || spec.offset > in.size || field > in.size - spec.offset)
            return refuse("reference in", spec.holder,
                          fmt::format("a field of {} bytes at {} of {} bytes", field, spec.offset, in.size));
        const uint32_t type = address                           ? elf::kRelocAbs64
                              : spec.kind == Kind::relative_low ? elf::kRelocRel32Lo
                                                                : elf::kRelocRel32Hi;
        input_.relocations.push_back({in.section, in.value + spec.offset, type, target->second, spec.addend});
        return {};
    }

    void fill_code(uint64_t until) {
        const uint32_t word = is_rdna(arch_) ? kCodeEnd : kNop;
        Bytes& text = input_.sections[kText].bytes;
        for (size_t at = text.size(); at < until; at += sizeof(word)) {
            text.resize(at + sizeof(word));
            std::memcpy(text.data() + at, &word, sizeof(word));
        }
    }

    /// Fills after the code as far as the instruction prefetch reads. That is three cache lines of 128 bytes on RDNA,
    /// sixteen of 64 on CDNA (LLVM, AMDGPUTargetELFStreamer::EmitCodeEnd).
    void pad_code() {
        const uint64_t line = is_rdna(arch_) ? 128 : 64, lines = is_rdna(arch_) ? 3 : 16;
        fill_code(align_up(input_.sections[kText].bytes.size(), line) + lines * line);
    }

    const ArchInfo& arch_;
    const ObjectSpec& spec_;
    LinkInput input_;
    std::map<std::string, int, std::less<>> names_;  ///< index of the symbol
    std::vector<PlacedLines> lines_;
};

}  // namespace

void ObjectSpec::add_pc_relative(std::string_view holder, uint64_t pc, uint64_t low, uint64_t high,
                                 std::string_view target, int64_t addend) {
    const std::string from(holder), to(target);
    const auto distance = [&](uint64_t field) { return addend + static_cast<int64_t>(field - pc); };
    references.push_back({from, low, to, distance(low), Kind::relative_low});
    references.push_back({from, high, to, distance(high), Kind::relative_high});
}

Result<Bytes> write_code_object(Arch arch, const ObjectSpec& object) {
    if (object.kernels.empty()) return make_error(ErrorKind::Usage, "a code object needs at least one kernel");
    if (object.abi_version < 4 || object.abi_version > 6)
        return make_error(ErrorKind::Usage, "metadata of version {}; 4, 5 and 6 can be written", object.abi_version);
    return ObjectWriter(info(arch), object).write();
}

Result<Bytes> write_code_object(Arch arch, std::span<const KernelSpec> kernels) {
    ObjectSpec object;
    object.kernels.assign(kernels.begin(), kernels.end());
    return write_code_object(arch, object);
}

}  // namespace strata::isa
