#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/asm/object/code_object.h"

namespace strata::isa {

/// Assembles LLVM-syntax text with its directives (.amdhsa_kernel, .amdgpu_metadata, ...) to a loadable code object, by
/// libLLVM in a process of its own. No text ends or holds up this process. A text that crashes LLVM or keeps it for 10
/// s is an error like others. An error carries `file_name`, line and column of the user's text.
/// The code gets a line table in which the text is `file_name`, unless it has .file or .loc directives of its own.
/// Where LLVM is missing the error (Device) names the Debian package.
Result<Bytes> assemble(std::string_view text, Arch arch, std::string_view file_name = "<asm>");

/// Assembles bare instructions (no directives) to words as LLVM does.
Result<std::vector<uint32_t>> assemble_instructions(std::string_view text, Arch arch, int wave_size = 0);

struct DisassembledLine {
    uint64_t offset = 0;  ///< bytes from the start of the code
    int size = 0;
    std::string text;  ///< LLVM syntax; undecodable bytes appear as ".long 0x..."
};
/// By Strata's own tables, which need no LLVM.
Result<std::vector<DisassembledLine>> disassemble_instructions(std::span<const uint8_t> code, Arch arch,
                                                               int wave_size = 0);

/// The whole code object as text: a heading per kernel with its resources, then its instructions with offsets.
Result<std::string> disassemble(std::span<const uint8_t> code_object);

/// True if libLLVM 19 can be loaded on this machine.
bool llvm_available();

}  // namespace strata::isa
