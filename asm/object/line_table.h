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
};

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
    struct Row {
        uint64_t address = 0;
        uint32_t file = 0, line = 0, column = 0;  ///< file: index into files_
        bool end = false;                         ///< first address after a sequence
        uint32_t order = 0;                       ///< in the file
    };
    std::vector<Row> rows_;  ///< by address; of equal addresses the last one counts
    std::vector<std::string> files_;
};

}  // namespace strata::isa
