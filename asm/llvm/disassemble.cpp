#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "strata/asm/isa/inst.h"
#include "strata/asm/isa/print.h"
#include "strata/asm/llvm/assemble.h"
#include "strata/asm/llvm/service/llvm_api.h"

namespace strata::isa {
namespace {

std::string raw_bytes(std::span<const uint8_t> bytes) {
    if (bytes.size() < 4) {
        std::string text = ".byte ";
        for (size_t i = 0; i < bytes.size(); ++i) text += fmt::format("{}{:#04x}", i ? ", " : "", bytes[i]);
        return text;
    }
    uint32_t word;
    std::memcpy(&word, bytes.data(), sizeof(word));
    return fmt::format(".long {:#010x}", word);
}

/// The byte offset that a branch goes to: simm16 counts words from the next instruction (RDNA3 ISA, "Branching").
bool branch_target(const DisassembledLine& line, uint64_t& target) {
    if (!line.text.starts_with("s_branch ") && !line.text.starts_with("s_cbranch_")) return false;
    const size_t at = line.text.rfind(' ');
    uint16_t distance = 0;
    const char* end = line.text.data() + line.text.size();
    if (at == line.text.npos || std::from_chars(line.text.data() + at + 1, end, distance).ptr != end) return false;
    target = line.offset + 4 + static_cast<uint64_t>(static_cast<int64_t>(static_cast<int16_t>(distance)) * 4);
    return true;
}

std::string heading(const KernelInfo& kernel) {
    std::string text =
        fmt::format("kernel {}: {} vgprs, {} sgprs, {} bytes of lds, {} bytes of scratch a lane, wave{}\n", kernel.name,
                    kernel.vgprs, kernel.sgprs, kernel.lds, kernel.scratch, kernel.wave_size);
    for (const KernelArg& arg : kernel.args)
        text += fmt::format("  arg +{:<4} {:>4} bytes  {}{}{}\n", arg.offset, arg.size, arg.value_kind,
                            arg.name.empty() ? "" : " ", arg.name);
    return text;
}

/// A stretch of code with a name: a kernel, or a function it calls.
struct Stretch {
    uint64_t address = 0, size = 0;
    const KernelInfo* kernel = nullptr;
    std::string name;
};

std::span<const uint8_t> bytes_at(const CodeObject& object, uint64_t address, uint64_t size) {
    const Segment* const segment = object.code_at(address);
    if (!segment) return {};
    const uint64_t at = address - segment->address;
    return segment->bytes.subspan(at, std::min<uint64_t>(size, segment->bytes.size() - at));
}

/// Functions and kernels in order of address; a kernel without a sized symbol reaches to the next stretch.
std::vector<Stretch> find_stretches(const CodeObject& object) {
    std::vector<Stretch> stretches;
    for (const KernelInfo& kernel : object.kernels)
        stretches.push_back({kernel.entry_address, 0, &kernel, kernel.name});
    for (const Symbol& symbol : object.symbols) {
        if (bytes_at(object, symbol.address, 1).empty()) continue;
        auto same = std::ranges::find(stretches, symbol.address, &Stretch::address);
        if (same != stretches.end())
            same->size = std::max(same->size, symbol.size);
        else if (symbol.is_function)
            stretches.push_back({symbol.address, symbol.size, nullptr, symbol.name});
    }
    std::ranges::sort(stretches, {}, &Stretch::address);
    for (size_t i = 0; i < stretches.size(); ++i) {
        const uint64_t end = i + 1 < stretches.size() ? stretches[i + 1].address : UINT64_MAX;
        const uint64_t limit = end - stretches[i].address;
        if (stretches[i].size == 0 || stretches[i].size > limit) stretches[i].size = limit;
    }
    return stretches;
}

std::string listing(const std::vector<DisassembledLine>& lines) {
    std::vector<uint64_t> targets;
    for (const DisassembledLine& line : lines)
        if (uint64_t target; branch_target(line, target)) targets.push_back(target);
    std::ranges::sort(targets);
    targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
    auto is_start = [&](uint64_t offset) {
        return std::ranges::binary_search(lines, offset, {}, &DisassembledLine::offset);
    };
    std::erase_if(targets, [&](uint64_t target) { return !is_start(target); });

    std::string text;
    for (const DisassembledLine& line : lines) {
        auto label = std::ranges::lower_bound(targets, line.offset);
        if (label != targets.end() && *label == line.offset) text += fmt::format("L{}:\n", label - targets.begin());
        text += fmt::format("  {:06x}  {}", line.offset, line.text);
        if (uint64_t target; branch_target(line, target)) {
            label = std::ranges::lower_bound(targets, target);
            if (label != targets.end() && *label == target) text += fmt::format("  ; L{}", label - targets.begin());
        }
        text += '\n';
    }
    return text;
}

/// Padding after the last instruction of a kernel: s_code_end of RDNA, s_nop of CDNA.
void drop_padding(std::vector<DisassembledLine>& lines) {
    while (lines.size() > 1 && (lines.back().text == "s_code_end" || lines.back().text == "s_nop 0" ||
                                lines.back().text == ".long 0x00000000"))
        lines.pop_back();
}

/// The instruction at the start of the code as text, and its size; 0 when there is none.
size_t decode_one(std::span<const uint8_t> code, Arch arch, int wave_size, std::string& text) {
    std::array<uint32_t, 3> words{};  // the longest instruction
    const size_t count = std::min<size_t>(words.size(), code.size() / sizeof(uint32_t));
    if (!count) return 0;
    std::memcpy(words.data(), code.data(), count * sizeof(uint32_t));
    const Result<Inst> inst = decode(arch, std::span(words.data(), count), wave_size);
    if (!inst) return 0;
    text = print(*inst, arch);
    return inst->size;
}

}  // namespace

Result<std::vector<DisassembledLine>> disassemble_instructions(std::span<const uint8_t> code, Arch arch,
                                                               int wave_size) {
    STRATA_TRY_VOID(check_wave_size(arch, wave_size));
    std::vector<DisassembledLine> lines;
    for (size_t at = 0; at < code.size();) {
        DisassembledLine line{at};
        size_t size = decode_one(code.subspan(at), arch, wave_size, line.text);
        if (!size) {
            size = std::min<size_t>(4, code.size() - at);
            line.text = raw_bytes(code.subspan(at, size));
        }
        line.size = static_cast<int>(size);
        lines.push_back(std::move(line));
        at += size;
    }
    return lines;
}

Result<std::string> disassemble(std::span<const uint8_t> code_object) {
    STRATA_TRY(CodeObject object, CodeObject::parse(Bytes(code_object.begin(), code_object.end())));
    std::string text = fmt::format("{}, metadata version {}\n", info(object.arch).name, object.abi_version);
    int wave_size = object.kernels.empty() ? 0 : static_cast<int>(object.kernels.front().wave_size);
    for (const Stretch& stretch : find_stretches(object)) {
        if (stretch.kernel) wave_size = static_cast<int>(stretch.kernel->wave_size);
        text += '\n';
        text += stretch.kernel ? heading(*stretch.kernel) : fmt::format("function {}\n", stretch.name);
        STRATA_TRY(std::vector<DisassembledLine> lines,
                   disassemble_instructions(bytes_at(object, stretch.address, stretch.size), object.arch, wave_size));
        drop_padding(lines);
        text += listing(lines);
    }
    return text;
}

}  // namespace strata::isa
