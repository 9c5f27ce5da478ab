#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "strata/asm/object/code_object.h"

namespace strata::isa {

/// Where an address of code comes from. `line` and `column` count from 1; 0 is unknown.
struct SourceLine {
    std::string file;
    uint32_t line = 0, column = 0;
    uint32_t end_column = 0;  ///< the first one after it; 0 where it is not known
    std::string text = {};    ///< of the line, where the code object has it

    bool operator==(const SourceLine&) const = default;
};

/// The line with a caret under its columns, as lines of their own; "" where the text is not known.
std::string excerpt(const SourceLine& line);

/// The line tables of a code object's .debug_line section, versions 2 to 5 (DWARF 5, chapter 6.2). Empty without one.
class LineTable {
  public:
    /// Error (Usage) says where a damaged table goes wrong.
    static Result<LineTable> read(const CodeObject& object);

    bool empty() const { return rows_.empty(); }
    /// The source line of the instruction at `address` of the object's own address space; file is empty if there is
    /// none.
    SourceLine find(uint64_t address) const;

  private:
    friend class LineProgram;
    void name_places(const struct SourcePlaces& places);
    struct Row {
        uint64_t address = 0;
        uint32_t file = 0, line = 0, column = 0;  ///< file: index into files_
        bool end = false;                         ///< first address after a sequence
        uint32_t order = 0;                       ///< in the file
        uint32_t place = 0;                       ///< in places_, from 1 on
    };
    std::vector<Row> rows_;  ///< by address; of equal addresses the last one counts
    std::vector<std::string> files_;
    std::vector<SourceLine> places_;
};

}  // namespace strata::isa
