#include "strata/asm/object/line_table.h"

#include <algorithm>
#include <tuple>

#include "strata/asm/object/byte_reader_p.h"
#include "strata/asm/object/elf_view_p.h"
#include "strata/asm/object/source_places_p.h"
#include "strata/core/support/utf8.h"

namespace strata::isa {
namespace {

using elf::ByteSpan;
using elf::damaged;
using elf::ElfView;

// DWARF 5, chapter 7.22 and table 7.27.
enum StandardOpcode : uint8_t {
    kExtended,
    kCopy,
    kAdvancePc,
    kAdvanceLine,
    kSetFile,
    kSetColumn,
    kNegateStatement,
    kSetBasicBlock,
    kConstAddPc,
    kFixedAdvancePc,
};
enum ExtendedOpcode : uint8_t { kEndSequence = 1, kSetAddress = 2 };
enum ContentType : uint8_t { kPath = 1, kDirectoryIndex = 2 };
enum Form : uint8_t {
    kBlock = 0x09,
    kData1 = 0x0b,
    kData2 = 0x05,
    kData4 = 0x06,
    kData8 = 0x07,
    kData16 = 0x1e,
    kUdata = 0x0f,
    kString = 0x08,
    kStrp = 0x0e,
    kLineStrp = 0x1f,
};

constexpr size_t kMostRows = 1 << 24;  // a hostile table could ask for one a byte

/// The sections a line table needs.
struct Sections {
    ByteSpan line, line_strings, strings, places;
};

Result<Sections> find_sections(const ElfView& view) {
    Sections found;
    for (const Elf64_Shdr& section : view.sections()) {
        Result<std::string_view> name = view.section_name(section);
        if (!name) continue;
        ByteSpan* const place = *name == ".debug_line"       ? &found.line
                                : *name == ".debug_line_str" ? &found.line_strings
                                : *name == ".debug_str"      ? &found.strings
                                : *name == kPlacesSection    ? &found.places
                                                             : nullptr;
        if (!place) continue;
        if (section.sh_flags & SHF_COMPRESSED) return damaged("{} is compressed; compile without -gz", *name);
        STRATA_TRY(*place, view.contents(section));
    }
    return found;
}

std::string_view string_at(ByteSpan strings, uint64_t offset) {
    if (offset >= strings.size()) return {};
    return ByteReader(strings.subspan(offset)).string();
}

struct EntryFormat {
    uint64_t content, form;
};

/// One entry of a version 5 directory or file list: its path and directory.
struct Entry {
    std::string_view path;
    uint64_t directory = 0;
};

}  // namespace

/// One unit of .debug_line: reads its header, runs its program.
class LineProgram {
  public:
    LineProgram(const Sections& sections, ByteSpan unit, bool wide, LineTable& table)
        : sections_(sections), in_(unit), wide_(wide), table_(table) {}

    Result<void> run() {
        STRATA_TRY_VOID(header());
        while (!in_.done()) {
            step();
            if (table_.rows_.size() > kMostRows) return damaged("the line table has more than {} rows", kMostRows);
        }
        if (in_.failed()) return damaged("the line table ends inside an instruction");
        return {};
    }

  private:
    Result<void> header() {
        const auto version = in_.fixed<uint16_t>();
        if (version < 2 || version > 5) return damaged("line table version {} is not 2 to 5", version);
        if (version >= 5) in_.take(2);  // address and segment selector size
        const uint64_t header_length = offset_sized();
        const size_t start = in_.position();
        instruction_length_ = in_.fixed<uint8_t>();
        if (version >= 4) in_.take(1);  // operations of a VLIW instruction
        in_.take(1);                    // default of is_stmt
        line_base_ = in_.fixed<int8_t>();
        line_range_ = in_.fixed<uint8_t>();
        opcode_base_ = in_.fixed<uint8_t>();
        if (in_.failed() || line_range_ == 0 || opcode_base_ == 0) return damaged("the line table's header is broken");
        lengths_ = in_.take(opcode_base_ - 1u);
        version >= 5 ? files_v5() : files_v2();
        const uint64_t used = in_.position() - start;
        if (in_.failed() || used > header_length) return damaged("the line table's file list is broken");
        in_.take(header_length - used);
        return {};
    }

    void files_v2() {
        std::vector<std::string_view> directories{""};
        for (std::string_view name = in_.string(); !name.empty(); name = in_.string()) directories.push_back(name);
        files_.push_back(add_file("", ""));  // file numbers count from 1
        for (std::string_view name = in_.string(); !name.empty(); name = in_.string()) {
            const uint64_t directory = in_.uleb();
            in_.uleb(), in_.uleb();  // time, size
            files_.push_back(add_file(directory < directories.size() ? directories[directory] : "", name));
        }
    }

    void files_v5() {
        std::vector<Entry> directories = entries(), names = entries();
        for (const Entry& name : names)
            files_.push_back(
                add_file(name.directory < directories.size() ? directories[name.directory].path : "", name.path));
    }

    std::vector<Entry> entries() {
        std::vector<EntryFormat> formats(in_.fixed<uint8_t>());
        for (EntryFormat& format : formats) format.content = in_.uleb(), format.form = in_.uleb();
        std::vector<Entry> list;
        for (uint64_t count = in_.uleb(); count > 0 && !in_.failed() && !formats.empty(); --count) {
            Entry& entry = list.emplace_back();
            for (const EntryFormat& format : formats) value(format, entry);
        }
        return list;
    }

    void value(const EntryFormat& format, Entry& entry) {
        std::string_view text;
        uint64_t number = 0;
        switch (format.form) {
            case kString: text = in_.string(); break;
            case kLineStrp: text = string_at(sections_.line_strings, offset_sized()); break;
            case kStrp: text = string_at(sections_.strings, offset_sized()); break;
            case kData1: number = in_.fixed<uint8_t>(); break;
            case kData2: number = in_.fixed<uint16_t>(); break;
            case kData4: number = in_.fixed<uint32_t>(); break;
            case kData8: number = in_.fixed<uint64_t>(); break;
            case kData16: in_.take(16); break;
            case kUdata: number = in_.uleb(); break;
            case kBlock: in_.take(in_.uleb()); break;
            default: in_.take(in_.remaining() + 1);  // a form of unknown size: nothing after it can be read
        }
        if (format.content == kPath) entry.path = text;
        if (format.content == kDirectoryIndex) entry.directory = number;
    }

    uint32_t add_file(std::string_view directory, std::string_view name) {
        const bool inside = !directory.empty() && directory != "." && !name.starts_with('/');
        const std::string path = inside ? std::string(directory) + "/" + std::string(name) : std::string(name);
        table_.files_.push_back(as_utf8(path));  // what is said of the code names it
        return static_cast<uint32_t>(table_.files_.size() - 1);
    }

    void step() {
        const auto opcode = in_.fixed<uint8_t>();
        if (opcode >= opcode_base_) {
            const unsigned adjusted = opcode - opcode_base_;
            address_ += uint64_t{adjusted / line_range_} * instruction_length_;
            line_ += static_cast<uint32_t>(line_base_ + static_cast<int>(adjusted % line_range_));
            emit(false);
            return;
        }
        switch (opcode) {
            case kExtended: extended(); break;
            case kCopy: emit(false); break;
            case kAdvancePc: address_ += in_.uleb() * instruction_length_; break;
            case kAdvanceLine: line_ += static_cast<uint32_t>(in_.sleb()); break;
            case kSetFile: file_ = in_.uleb(); break;
            case kSetColumn: column_ = static_cast<uint32_t>(in_.uleb()); break;
            case kConstAddPc: address_ += uint64_t{(255u - opcode_base_) / line_range_} * instruction_length_; break;
            case kFixedAdvancePc: address_ += in_.fixed<uint16_t>(); break;
            default:
                for (uint8_t i = 0; i < lengths_[opcode - 1u]; ++i) in_.uleb();
        }
    }

    void extended() {
        ByteReader body(in_.take(in_.uleb()));
        const auto opcode = body.fixed<uint8_t>();
        if (opcode == kEndSequence) {
            emit(true);
            address_ = 0, file_ = line_ = 1, column_ = 0;
        } else if (opcode == kSetAddress) {
            address_ = body.unsigned_of(body.remaining());
        }
    }

    void emit(bool end) {
        const uint32_t file = file_ < files_.size() ? files_[file_] : files_.empty() ? 0 : files_[0];
        table_.rows_.push_back({address_, file, line_, column_, end, static_cast<uint32_t>(table_.rows_.size())});
    }
    uint64_t offset_sized() { return wide_ ? in_.fixed<uint64_t>() : in_.fixed<uint32_t>(); }

    const Sections& sections_;
    ByteReader in_;
    bool wide_;  ///< the 64-bit DWARF format
    LineTable& table_;
    std::vector<uint32_t> files_;  ///< the unit's file numbers -> the table's
    uint8_t instruction_length_ = 1, line_range_ = 1, opcode_base_ = 1;
    int line_base_ = 0;
    ByteSpan lengths_;
    // the state machine's registers
    uint64_t address_ = 0, file_ = 1;
    uint32_t line_ = 1, column_ = 0;
};

std::string excerpt(const SourceLine& line) {
    if (line.text.empty()) return "";
    std::string out = "\n    " + line.text;
    if (!line.column || line.column > line.text.size()) return out;
    // Tabs before the caret stay tabs, so that it stands under its column.
    std::string before = line.text.substr(0, line.column - 1);
    for (char& c : before)
        if (c != '\t') c = ' ';
    const auto most = static_cast<uint32_t>(line.text.size()) + 1;
    const uint32_t end = std::min(std::max(line.end_column, line.column + 1), most);
    return out + "\n    " + before + std::string(end - line.column, '^');
}

Result<LineTable> LineTable::read(const CodeObject& object) {
    STRATA_TRY(ElfView view, ElfView::open(object.image, ET_DYN));
    STRATA_TRY(Sections sections, find_sections(view));
    LineTable table;
    for (ByteReader in(sections.line); !in.done();) {
        uint64_t length = in.fixed<uint32_t>();
        const bool wide = length == 0xffffffff;
        if (wide) length = in.fixed<uint64_t>();
        ByteSpan unit = in.take(length);
        if (in.failed()) return damaged("a line table of {} bytes lies outside .debug_line", length);
        STRATA_TRY_VOID(LineProgram(sections, unit, wide, table).run());
    }
    if (!sections.places.empty()) {
        STRATA_TRY(const SourcePlaces places, read_places(sections.places));
        table.name_places(places);
    }
    // An end comes before what starts at the same address.
    std::ranges::sort(table.rows_, {}, [](const Row& row) { return std::tuple(row.address, !row.end, row.order); });
    return table;
}

/// Replaces rows of the listing by their places. A row without a place takes the place of the row before it.
void LineTable::name_places(const SourcePlaces& places) {
    places_ = places.places;
    std::vector<bool> is_listing;
    for (const std::string& file : files_) is_listing.push_back(file.ends_with(places.listing));
    std::erase_if(rows_, [&](Row& row) {
        if (row.end || row.file >= files_.size() || !is_listing[row.file]) return false;
        row.place = row.line && row.line <= places.of_line.size() ? places.of_line[row.line - 1] : 0;
        return row.place == 0;
    });
}

SourceLine LineTable::find(uint64_t address) const {
    auto after = std::upper_bound(rows_.begin(), rows_.end(), address,
                                  [](uint64_t wanted, const Row& row) { return wanted < row.address; });
    if (after == rows_.begin()) return {};
    const Row& row = *--after;
    if (!row.end && row.place) return places_[row.place - 1];
    if (row.end || row.file >= files_.size() || row.line == 0) return {};
    return {files_[row.file], row.line, row.column};
}

}  // namespace strata::isa
