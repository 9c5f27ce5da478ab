// Clang's offload bundles (clang/docs/ClangOffloadBundler.rst): "__CLANG_OFFLOAD_BUNDLE__", entries of offset, size and
// target; compressed ones ("CCOB") hold such a bundle.
#include "strata/bindings/hip/bundle_p.h"

#include <elf.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

namespace strata::hip::library {
namespace {

constexpr std::string_view kBundle = "__CLANG_OFFLOAD_BUNDLE__", kCompressed = "CCOB";
constexpr size_t kMostEntries = 4096, kUnknown = size_t{1} << 40;

Error no_image() { return make_error(ErrorKind::Device, "this is neither a code object nor an offload bundle"); }

template <class T>
T read(const uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

bool begins_with(const uint8_t* image, std::string_view magic) {
    return std::memcmp(image, magic.data(), magic.size()) == 0;
}

/// Where an ELF file that nobody said the size of ends: behind its headers and all that they name.
size_t elf_bytes(const uint8_t* image) {
    const auto header = read<Elf64_Ehdr>(image);
    size_t end = std::max<size_t>(header.e_phoff + size_t{header.e_phnum} * sizeof(Elf64_Phdr),
                                  header.e_shoff + size_t{header.e_shnum} * sizeof(Elf64_Shdr));
    for (size_t i = 0; i < header.e_phnum; ++i) {
        const auto one = read<Elf64_Phdr>(image + header.e_phoff + i * sizeof(Elf64_Phdr));
        end = std::max<size_t>(end, one.p_offset + one.p_filesz);
    }
    for (size_t i = 0; i < header.e_shnum; ++i) {
        const auto one = read<Elf64_Shdr>(image + header.e_shoff + i * sizeof(Elf64_Shdr));
        if (one.sh_type != SHT_NOBITS) end = std::max<size_t>(end, one.sh_offset + one.sh_size);
    }
    return end;
}

struct Entry {
    std::string_view target;  ///< "gfx90a:xnack-"; empty: the host's
    size_t offset = 0, bytes = 0;
};

/// Entries of a bundle; `size` bounds it where it is known.
Result<std::vector<Entry>> entries_of(const uint8_t* image, size_t size) {
    const auto refuse = [](size_t at) {
        return make_error(ErrorKind::Device, "the offload bundle is damaged at byte {}", at);
    };
    size_t at = kBundle.size();
    if (size < at + 8) return refuse(at);
    const auto count = read<uint64_t>(image + at);
    at += 8;
    if (count > kMostEntries) return refuse(at);
    std::vector<Entry> out;
    for (uint64_t i = 0; i < count; ++i) {
        if (size < at + 24) return refuse(at);
        const auto offset = read<uint64_t>(image + at), bytes = read<uint64_t>(image + at + 8);
        const auto length = read<uint64_t>(image + at + 16);
        at += 24;
        if (length > size - at || bytes > size || offset > size - bytes) return refuse(at);
        const std::string_view target(reinterpret_cast<const char*>(image + at), length);
        at += length;
        const size_t arch = target.rfind("gfx");
        out.push_back({arch == target.npos || !target.starts_with("hip") ? "" : target.substr(arch), offset, bytes});
    }
    return out;
}

Result<isa::Bytes> of_bundle(const uint8_t* image, size_t size, std::string_view arch) {
    STRATA_TRY(const std::vector<Entry> entries, entries_of(image, size));
    const Entry* best = nullptr;  // who names more features is made for fewer devices
    std::vector<std::string_view> targets;
    for (const Entry& entry : entries) {
        if (entry.target.empty()) continue;
        targets.push_back(entry.target);
        if (fits(entry.target, arch) && (!best || entry.target.size() > best->target.size())) best = &entry;
    }
    if (best) return isa::Bytes(image + best->offset, image + best->offset + best->bytes);
    const std::string_view wanted = arch.substr(0, arch.find(':'));
    return make_error(ErrorKind::Unsupported,
                      "the program has code for {}, the device is {}; compile with --offload-arch={}, or choose "
                      "another device by STRATA_DEVICE=emu:<arch>",
                      targets.empty() ? "no GPU" : fmt::format("{}", fmt::join(targets, ", ")), arch, wanted);
}

Result<isa::Bytes> of_compressed(const uint8_t* image, std::string_view arch) {
    const auto version = read<uint16_t>(image + 4);
    const auto method = static_cast<Compression>(read<uint16_t>(image + 6));
    size_t header = 0, total = kUnknown, unpacked = 0;
    switch (version) {
        case 1: header = 20, unpacked = read<uint32_t>(image + 8); break;
        case 2: header = 24, total = read<uint32_t>(image + 8), unpacked = read<uint32_t>(image + 12); break;
        case 3: header = 32, total = read<uint64_t>(image + 8), unpacked = read<uint64_t>(image + 16); break;
        default:
            return make_error(ErrorKind::Unsupported, "compressed offload bundles of version {} are not known",
                              version);
    }
    if (total < header) return no_image();
    STRATA_TRY(const isa::Bytes bundle, decompress(method, image + header, total - header, unpacked));
    if (bundle.size() < kBundle.size() || !begins_with(bundle.data(), kBundle)) return no_image();
    return of_bundle(bundle.data(), bundle.size(), arch);
}

}  // namespace

bool fits(std::string_view code, std::string_view arch) {
    const auto rest = [](std::string_view& text) {
        const std::string_view first = text.substr(0, text.find(':'));
        text.remove_prefix(std::min(text.size(), first.size() + 1));
        return first;
    };
    const std::string with = fmt::format(":{}:", arch);
    if (rest(code) != arch.substr(0, arch.find(':'))) return false;
    while (!code.empty()) {
        const std::string_view feature = rest(code);
        if (with.find(fmt::format(":{}:", feature)) == with.npos) return false;
    }
    return true;
}

Result<isa::Bytes> code_for(const void* image, std::string_view arch) {
    const auto* const bytes = static_cast<const uint8_t*>(image);
    if (begins_with(bytes, {ELFMAG, SELFMAG})) return isa::Bytes(bytes, bytes + elf_bytes(bytes));
    if (begins_with(bytes, kCompressed)) return of_compressed(bytes, arch);
    if (begins_with(bytes, kBundle)) return of_bundle(bytes, kUnknown, arch);
    return no_image();
}

}  // namespace strata::hip::library
