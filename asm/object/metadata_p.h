#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/asm/object/code_object.h"

namespace strata::isa {

/// The contents of one metadata note (AMDGPUUsage, "Code Object Metadata"); the kernels' descriptors are left empty.
struct Metadata {
    std::vector<KernelInfo> kernels;
    std::vector<std::string> printf_formats;
};
Result<Metadata> read_metadata(std::span<const uint8_t> msgpack);

/// The metadata of kernels as msgpack; `version` is 4, 5 or 6.
Bytes write_metadata(const ArchInfo& arch, std::span<const KernelSpec> kernels, int version);

/// One ELF note: what is found in PT_NOTE segments and SHT_NOTE sections.
struct Note {
    std::string_view owner;
    uint32_t type = 0;
    std::span<const uint8_t> description;
    bool is_metadata() const;
};
Result<std::vector<Note>> read_notes(std::span<const uint8_t> bytes);
/// A metadata note around `description`, padded to four bytes.
Bytes write_metadata_note(std::span<const uint8_t> description);

}  // namespace strata::isa
