#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "strata/asm/isa/print.h"
#include "strata/asm/lint/code_p.h"
#include "strata/asm/lint/lint.h"
#include "strata/asm/object/line_table.h"

// Findings as text for people, lines for editors and JSON for programs.
namespace strata::lint {
namespace {

constexpr size_t kContext = 2;  // lines before and after

/// Remarks about places of a text.
class Places {
  public:
    Places(const isa::CodeObject& object, const isa::Segment& text)
        : object_(object), text_(text), kernel_at_(kernels()), lines_(table(object)) {}

    /// "scale.s:12:3", or "" where no line table tells.
    std::string source(uint64_t pc) const {
        const isa::SourceLine at = line(pc);
        if (at.file.empty()) return "";
        return at.column ? fmt::format("{}:{}:{}", at.file, at.line, at.column)
                         : fmt::format("{}:{}", at.file, at.line);
    }
    isa::SourceLine line(uint64_t pc) const { return lines_.find(text_.address + pc); }
    std::string instruction(uint64_t pc) const {
        Code code = code_of(pc);
        if (!code.holds(pc)) return "";
        const auto line = code.at(pc);
        return line ? isa::print((*line)->inst, object_.arch) : "";
    }
    /// The instruction with those around it, the one itself marked.
    std::string context(uint64_t pc) const {
        Code code = code_of(pc);
        std::deque<uint64_t> before;
        uint64_t at = begin_of(pc);
        while (at < pc && code.holds(at)) {
            before.push_back(at);
            if (before.size() > kContext) before.pop_front();
            at += size(code, at);
        }
        std::string text;
        for (uint64_t place : before) text += row(code, place, false);
        at = pc;
        for (size_t i = 0; i <= kContext && code.holds(at) && !is_padding(code, at); ++i) {
            text += row(code, at, at == pc);
            at += size(code, at);
        }
        return text;
    }

  private:
    static isa::LineTable table(const isa::CodeObject& object) {
        auto lines = isa::LineTable::read(object);
        return lines ? std::move(*lines) : isa::LineTable();
    }
    std::vector<const isa::KernelInfo*> kernels() const {
        std::vector<const isa::KernelInfo*> all;
        for (const isa::KernelInfo& kernel : object_.kernels) all.push_back(&kernel);
        std::ranges::sort(all, {}, [](const isa::KernelInfo* kernel) { return kernel->entry_address; });
        return all;
    }
    const isa::KernelInfo* kernel_of(uint64_t pc) const {
        const isa::KernelInfo* found = nullptr;
        for (const isa::KernelInfo* kernel : kernel_at_)
            if (kernel->entry_address <= text_.address + pc) found = kernel;
        return found;
    }
    /// The last place at or before one where an instruction surely begins: of a kernel or a function.
    uint64_t begin_of(uint64_t pc) const {
        uint64_t best = 0;
        auto consider = [&](uint64_t address) {
            if (address >= text_.address && address <= text_.address + pc)
                best = std::max(best, address - text_.address);
        };
        for (const isa::KernelInfo* kernel : kernel_at_) consider(kernel->entry_address);
        for (const isa::Symbol& symbol : object_.symbols)
            if (symbol.is_function) consider(symbol.address);
        return best;
    }
    Code code_of(uint64_t pc) const {
        const isa::KernelInfo* const kernel = kernel_of(pc);
        const isa::ArchInfo& arch = isa::info(object_.arch);
        return {object_.arch, kernel ? kernel->descriptor.wave_size(arch) : arch.wave_size, text_};
    }
    static uint64_t size(Code& code, uint64_t pc) {
        const auto line = code.at(pc);
        return line ? (*line)->inst.size : 4;
    }
    static bool is_padding(Code& code, uint64_t pc) {
        const auto line = code.at(pc);
        return line && (*line)->inst.row->mnemonic == "s_code_end";
    }
    std::string row(Code& code, uint64_t pc, bool marked) const {
        const auto line = code.at(pc);
        return fmt::format("  {} {:#08x}  {}\n", marked ? '>' : ' ', pc,
                           line ? isa::print((*line)->inst, object_.arch) : std::string("?"));
    }

    const isa::CodeObject& object_;
    const isa::Segment& text_;
    std::vector<const isa::KernelInfo*> kernel_at_;
    isa::LineTable lines_;
};

std::string witness_text(const Witness& witness) {
    std::string text = fmt::format("  seen in workgroup ({}, {}, {}), wave {}", witness.group[0], witness.group[1],
                                   witness.group[2], witness.wave);
    if (witness.lanes) text += fmt::format(", lanes {:#x}", witness.lanes);
    if (witness.address) text += fmt::format(", address {:#x}", *witness.address);
    return text + "\n";
}

/// The fields of a place: "pc", "instruction" and, where a line table tells, "file", "line", "column".
std::string place_json(const Places& places, uint64_t pc, uint64_t entry) {
    std::string text = fmt::format("\"pc\": {}, \"instruction\": {}", pc - entry, json_string(places.instruction(pc)));
    const isa::SourceLine line = places.line(pc);
    if (!line.file.empty())
        text +=
            fmt::format(", \"file\": {}, \"line\": {}, \"column\": {}", json_string(line.file), line.line, line.column);
    return text;
}

}  // namespace

std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            out += fmt::format("\\{}", c);
        else if (static_cast<unsigned char>(c) < 0x20)
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else
            out += c;
    }
    return out + "\"";
}

std::string source_of(const isa::CodeObject& object, const isa::Segment& text, uint64_t pc) {
    return Places(object, text).source(pc);
}

std::string to_text(const Finding& finding, const isa::CodeObject& object, const isa::Segment& text) {
    const Places places(object, text);
    const std::string source = places.source(finding.pc);
    std::string out = fmt::format("{}: {}{}{}{}\n", name(finding.kind), source, source.empty() ? "" : ": ",
                                  finding.what, isa::excerpt(places.line(finding.pc)));
    out += places.context(finding.pc);
    if (finding.earlier) {
        const std::string from = places.source(*finding.earlier);
        out += fmt::format("  earlier: {:#x}{}  {}\n", *finding.earlier, from.empty() ? "" : " (" + from + ")",
                           places.instruction(*finding.earlier));
    }
    if (!finding.fix.empty()) out += fmt::format("  fix: {}\n", finding.fix);
    if (finding.witness) out += witness_text(*finding.witness);
    if (finding.count > 1) out += fmt::format("  {} times\n", finding.count);
    return out;
}

std::string to_line(const Finding& finding, const isa::CodeObject& object, const isa::KernelInfo& kernel) {
    const isa::Segment* const text = object.code_at(kernel.entry_address);
    std::string where;
    if (text) where = Places(object, *text).source(finding.pc);
    if (where.empty())
        where = fmt::format("{}+{:#x}", kernel.name, finding.pc + (text ? text->address : 0) - kernel.entry_address);
    return fmt::format("{}: warning: {}{}{} [{}]", where, finding.what,
                       finding.fix.empty() ? "" : "; fix: ", finding.fix, name(finding.kind));
}

std::string to_json(const std::vector<Finding>& findings, const isa::CodeObject& object,
                    const isa::KernelInfo& kernel) {
    const isa::Segment* const text = object.code_at(kernel.entry_address);
    if (!text) return "[]";
    const Places places(object, *text);
    const uint64_t entry = kernel.entry_address - text->address;
    std::string out = "[";
    for (const Finding& finding : findings) {
        out += fmt::format("{}\n  {{\"kind\": {}, \"kernel\": {}, {}, \"what\": {}, \"fix\": {}, \"count\": {}",
                           out.size() > 1 ? "," : "", json_string(name(finding.kind)), json_string(kernel.name),
                           place_json(places, finding.pc, entry), json_string(finding.what), json_string(finding.fix),
                           finding.count);
        if (finding.earlier) out += fmt::format(", \"earlier\": {{{}}}", place_json(places, *finding.earlier, entry));
        if (const auto& witness = finding.witness) {
            out += fmt::format(", \"workgroup\": [{}, {}, {}], \"wave\": {}, \"lanes\": {}", witness->group[0],
                               witness->group[1], witness->group[2], witness->wave, witness->lanes);
            if (witness->address) out += fmt::format(", \"address\": {}", *witness->address);
        }
        out += "}";
    }
    return out + (out.size() > 1 ? "\n]" : "]");
}

}  // namespace strata::lint
