#include <algorithm>

#include "strata/asm/object/write_p.h"

// Line tables of written code: the plainest program, without special opcodes (DWARF 5, chapter 6.2).
namespace strata::isa {
namespace {

enum StandardOpcode : uint8_t { kExtended, kCopy, kAdvancePc, kAdvanceLine, kSetFile, kSetColumn };
enum ExtendedOpcode : uint8_t { kEndSequence = 1, kSetAddress = 2 };
enum ContentType : uint8_t { kPath = 1, kDirectoryIndex = 2 };
enum Form : uint8_t { kString = 0x08, kUdata = 0x0f };

class LineWriter {
  public:
    /// The number of a file in the unit.
    uint32_t file(const std::string& name) {
        const auto found = std::ranges::find(files_, name);
        if (found == files_.end()) files_.push_back(name);
        return static_cast<uint32_t>(std::ranges::distance(files_.begin(), std::ranges::find(files_, name)));
    }

    /// Appends a sequence; returns where in the program the eight bytes of its start address lie.
    size_t sequence(const CodeLines& lines, uint32_t words) {
        program_.insert(program_.end(), {kExtended, 1 + sizeof(uint64_t), kSetAddress});
        const size_t address_at = program_.size();
        program_.resize(program_.size() + sizeof(uint64_t));
        CodeLines::Row now{0, 1, 1, 0};  // the state machine's registers
        for (const CodeLines::Row& row : lines.rows) {
            advance(now.word, row.word);
            if (const uint32_t number = file(lines.files[row.file]); number != now.file)
                number_operand(kSetFile, now.file = number);
            if (row.column != now.column) number_operand(kSetColumn, row.column);
            if (row.line != now.line) {
                program_.push_back(kAdvanceLine);
                sleb(int64_t{row.line} - now.line);
            }
            now.line = row.line, now.column = row.column;
            program_.push_back(kCopy);
        }
        advance(now.word, words);
        program_.insert(program_.end(), {kExtended, 1, kEndSequence});
        return address_at;
    }

    /// The unit; `program_at` receives where the program starts in it.
    Bytes unit(size_t& program_at) const {
        Bytes tail = {4, 1, 1};  // bytes of the shortest instruction, operations in one, default of is_stmt
        // Line base and range of special opcodes; the first of these; operands of each standard opcode.
        tail.insert(tail.end(), {0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1});
        tail.insert(tail.end(), {1, kPath, kString, 1, 0});  // one directory, the current one
        tail.insert(tail.end(), {2, kPath, kString, kDirectoryIndex, kUdata});
        put_uleb(tail, files_.size());
        for (const std::string& name : files_) {
            tail.insert(tail.end(), name.begin(), name.end());
            tail.insert(tail.end(), {0, 0});  // end of the string, directory
        }
        constexpr uint32_t kBeforeTail = 2 + 1 + 1 + 4;  // version, sizes of an address and a segment, header length
        Bytes bytes;
        bytes.reserve(sizeof(uint32_t) + kBeforeTail + tail.size() + program_.size());
        word(bytes, static_cast<uint32_t>(kBeforeTail + tail.size() + program_.size()));
        bytes.insert(bytes.end(), {5, 0, sizeof(uint64_t), 0});
        word(bytes, static_cast<uint32_t>(tail.size()));
        bytes.insert(bytes.end(), tail.begin(), tail.end());
        program_at = bytes.size();
        bytes.insert(bytes.end(), program_.begin(), program_.end());
        return bytes;
    }

  private:
    static void word(Bytes& to, uint32_t value) {
        for (int i = 0; i < 4; ++i) to.push_back(static_cast<uint8_t>(value >> 8 * i));
    }
    static void put_uleb(Bytes& to, uint64_t value) {
        for (; value >= 0x80; value >>= 7) to.push_back(static_cast<uint8_t>(value | 0x80));
        to.push_back(static_cast<uint8_t>(value));
    }
    void sleb(int64_t value) {
        for (; value < -64 || value > 63; value >>= 7) program_.push_back(static_cast<uint8_t>(value | 0x80));
        program_.push_back(static_cast<uint8_t>(value & 0x7f));
    }
    void number_operand(StandardOpcode opcode, uint64_t number) {
        program_.push_back(opcode);
        put_uleb(program_, number);
    }
    void advance(uint32_t& from, uint32_t to) {
        if (to != from) number_operand(kAdvancePc, to - from);  // counted in shortest instructions: words
        from = to;
    }

    std::vector<std::string> files_;
    Bytes program_;
};

}  // namespace

void add_line_table(LinkInput& input, std::span<const PlacedLines> codes) {
    LineWriter writer;
    std::vector<InputRelocation> starts;
    const auto section = static_cast<int>(input.sections.size());
    for (const PlacedLines& code : codes) {
        if (code.lines->rows.empty()) continue;
        starts.push_back({section, writer.sequence(*code.lines, code.words), elf::kRelocAbs64, code.symbol, 0});
    }
    if (starts.empty()) return;
    size_t program_at = 0;
    Bytes bytes = writer.unit(program_at);
    for (InputRelocation& start : starts) start.offset += program_at;
    input.relocations.insert(input.relocations.end(), starts.begin(), starts.end());
    input.sections.push_back({".debug_line", SHT_PROGBITS, 0, 1, std::move(bytes)});
}

}  // namespace strata::isa
