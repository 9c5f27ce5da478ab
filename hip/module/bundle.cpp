// Clang's offload bundles (clang/docs/ClangOffloadBundler.rst): "__CLANG_OFFLOAD_BUNDLE__", entries of offset, size and
// target; compressed ones ("CCOB") hold such a bundle.
#include "strata/hip/module/bundle_p.h"

#include <elf.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "strata/asm/object/features.h"
#include "strata/core/support/guarded.h"

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

/// An image and where it ends, if anybody said so; else it ends where the memory of the process does.
struct Image {
    const uint8_t* at = nullptr;
    std::optional<size_t> size = {};

    bool has(size_t offset, size_t bytes) const {
        if (size) return offset <= *size && bytes <= *size - offset;
        return offset < kUnknown && bytes < kUnknown && is_readable(at + offset, bytes);
    }
    /// Bytes from an offset on, `most` at most.
    size_t bytes_from(size_t offset, size_t most) const {
        if (!size) return readable_bytes(at + offset, most);
        return std::min(most, *size - std::min(offset, *size));
    }
};

Error cut_off() { return make_error(ErrorKind::Device, "the code object is cut off, or its headers are damaged"); }

/// Where an ELF file ends: after its headers and all that they name. Error: the image ends before.
Result<size_t> elf_bytes(const Image& image) {
    if (!image.has(0, sizeof(Elf64_Ehdr))) return cut_off();
    const auto header = read<Elf64_Ehdr>(image.at);
    size_t end = sizeof header;
    const auto extend = [&](size_t offset, size_t bytes) {
        if (!image.has(offset, bytes)) return false;
        end = std::max(end, offset + bytes);
        return true;
    };
    if (header.e_phnum && !extend(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr))) return cut_off();
    if (header.e_shnum && !extend(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr))) return cut_off();
    for (size_t i = 0; i < header.e_phnum; ++i) {
        const auto one = read<Elf64_Phdr>(image.at + header.e_phoff + i * sizeof(Elf64_Phdr));
        if (one.p_filesz && !extend(one.p_offset, one.p_filesz)) return cut_off();
    }
    for (size_t i = 0; i < header.e_shnum; ++i) {
        const auto one = read<Elf64_Shdr>(image.at + header.e_shoff + i * sizeof(Elf64_Shdr));
        if (one.sh_type != SHT_NOBITS && one.sh_size && !extend(one.sh_offset, one.sh_size)) return cut_off();
    }
    if (!image.has(0, end)) return cut_off();  // what the headers name may be other memory
    return end;
}

struct Entry {
    std::string_view target;  ///< "gfx90a:xnack-"; empty: the host's
    size_t offset = 0, bytes = 0;
};

Result<std::vector<Entry>> entries_of(const Image& image) {
    const auto refuse = [](size_t at) {
        return make_error(ErrorKind::Device, "the offload bundle is damaged at byte {}", at);
    };
    size_t at = kBundle.size();
    if (!image.has(at, 8)) return refuse(at);
    const auto count = read<uint64_t>(image.at + at);
    at += 8;
    if (count > kMostEntries) return refuse(at);
    std::vector<Entry> out;
    for (uint64_t i = 0; i < count; ++i) {
        if (!image.has(at, 24)) return refuse(at);
        const auto offset = read<uint64_t>(image.at + at), bytes = read<uint64_t>(image.at + at + 8);
        const auto length = read<uint64_t>(image.at + at + 16);
        at += 24;
        if (!image.has(at, length) || (image.size && !image.has(offset, bytes))) return refuse(at);
        const std::string_view target(reinterpret_cast<const char*>(image.at + at), length);
        at += length;
        const size_t arch = target.rfind("gfx");
        out.push_back({arch == target.npos || !target.starts_with("hip") ? "" : target.substr(arch), offset, bytes});
    }
    return out;
}

bool is_generic(std::string_view target) { return target.substr(0, target.find(':')).ends_with("-generic"); }

std::pair<bool, size_t> rank(const Entry& entry) { return {!is_generic(entry.target), entry.target.size()}; }

/// True if a target id without features is the processor's, or one of several that it belongs to.
bool is_of(std::string_view target, std::string_view processor) {
    const auto is_its = [&](const isa::GenericTarget& row) {
        return row.name == target && isa::info(row.arch).name == processor;
    };
    return target == processor || std::ranges::any_of(isa::generic_targets(), is_its);
}

Result<isa::Bytes> of_bundle(const Image& image, std::string_view arch) {
    STRATA_TRY(const std::vector<Entry> entries, entries_of(image));
    const Entry* best = nullptr;  // the entry with the most features that the device has
    std::vector<std::string_view> targets;
    for (const Entry& entry : entries) {
        if (entry.target.empty()) continue;
        targets.push_back(entry.target);
        if (fits(entry.target, arch) && (!best || rank(entry) > rank(*best))) best = &entry;
    }
    if (best && !image.has(best->offset, best->bytes)) return cut_off();
    if (best) return isa::Bytes(image.at + best->offset, image.at + best->offset + best->bytes);
    const std::string_view wanted = arch.substr(0, arch.find(':'));
    return make_error(ErrorKind::Unsupported,
                      "the program has code for {}, the device is {}; compile with --offload-arch={}, or choose "
                      "another device by STRATA_DEVICE=emu:<arch>",
                      targets.empty() ? "no GPU" : fmt::format("{}", fmt::join(targets, ", ")), arch, wanted);
}

Result<isa::Bytes> of_compressed(const Image& image, std::string_view arch) {
    constexpr size_t kLongestHeader = 32;
    if (!image.has(0, kLongestHeader)) return no_image();
    const auto version = read<uint16_t>(image.at + 4);
    const auto method = static_cast<Compression>(read<uint16_t>(image.at + 6));
    size_t header = 0, total = kUnknown, unpacked = 0;
    switch (version) {
        case 1: header = 20, unpacked = read<uint32_t>(image.at + 8); break;
        case 2: header = 24, total = read<uint32_t>(image.at + 8), unpacked = read<uint32_t>(image.at + 12); break;
        case 3: header = 32, total = read<uint64_t>(image.at + 8), unpacked = read<uint64_t>(image.at + 16); break;
        default:
            return make_error(ErrorKind::Unsupported, "compressed offload bundles of version {} are not known",
                              version);
    }
    if (total < header) return no_image();
    const size_t packed = image.bytes_from(header, total - header);
    STRATA_TRY(const isa::Bytes bundle, decompress(method, image.at + header, packed, unpacked));
    if (bundle.size() < kBundle.size() || !begins_with(bundle.data(), kBundle)) return no_image();
    return of_bundle({bundle.data(), bundle.size()}, arch);
}

}  // namespace

bool fits(std::string_view code, std::string_view arch) {
    const auto rest = [](std::string_view& text) {
        const std::string_view first = text.substr(0, text.find(':'));
        text.remove_prefix(std::min(text.size(), first.size() + 1));
        return first;
    };
    const std::string with = fmt::format(":{}:", arch);
    if (!is_of(rest(code), arch.substr(0, arch.find(':')))) return false;
    while (!code.empty()) {
        const std::string_view feature = rest(code);
        if (with.find(fmt::format(":{}:", feature)) == with.npos) return false;
    }
    return true;
}

Result<isa::Bytes> code_for(const void* bytes, std::optional<size_t> size, std::string_view arch) {
    const Image image{static_cast<const uint8_t*>(bytes), size};
    if (!image.has(0, kBundle.size())) return no_image();
    if (begins_with(image.at, {ELFMAG, SELFMAG})) {
        STRATA_TRY(const size_t end, elf_bytes(image));
        return isa::Bytes(image.at, image.at + end);
    }
    if (begins_with(image.at, kCompressed)) return of_compressed(image, arch);
    if (begins_with(image.at, kBundle)) return of_bundle(image, arch);
    return no_image();
}

}  // namespace strata::hip::library
