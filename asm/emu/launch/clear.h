#pragma once
#include <mutex>
#include <vector>

#include "strata/asm/emu/program/program.h"

namespace strata::emu {

/// Vector registers in a row.
struct Rows {
    int first = 0, count = 0;
    bool operator==(const Rows&) const = default;
};

/// The vector registers of a wave that must be cleared when it starts. Registers that straight code from the entry on
/// writes in full, with all lanes on, before anything reads them need no clearing. In unrolled code those are nearly
/// all.
class RowsToClear {
  public:
    RowsToClear(const Program& program, const Op* entry) : program_(program), entry_(entry) {}
    /// The rows of a wave that starts with all lanes. Looked for when first asked; thread-safe.
    const std::vector<Rows>& of_full_wave();

  private:
    std::vector<Rows> find() const;

    const Program& program_;
    const Op* entry_;
    std::once_flag once_;
    std::vector<Rows> rows_;
};

}  // namespace strata::emu
