#include "strata/asm/emu/launch/clear.h"

#include <algorithm>

#include "strata/asm/emu/program/build.h"
#include "strata/asm/lint/access.h"

namespace strata::emu {
namespace {

constexpr lint::Registers kExec{isa::code::exec_lo, 2};

enum class Row : uint8_t { untouched, written, read };

class Walk {
  public:
    explicit Walk(int rows) : rows_(static_cast<size_t>(rows), Row::untouched) {}

    /// True if all lanes are on after it.
    bool pass(const lint::Access& access) {
        for (const lint::Read& read : access.all_reads()) touch(read.registers, Row::read);
        bool all_on = true;
        for (const lint::Write& write : access.all_writes()) {
            if (!write.partly) touch(write.registers, Row::written);
            all_on &= !write.registers.overlaps(kExec);
        }
        return all_on;
    }

    std::vector<Rows> not_written() const {
        std::vector<Rows> found;
        for (int row = 0; row < static_cast<int>(rows_.size()); ++row) {
            if (rows_[static_cast<size_t>(row)] == Row::written) continue;
            if (!found.empty() && found.back().first + found.back().count == row)
                ++found.back().count;
            else
                found.push_back({row, 1});
        }
        return found;
    }

  private:
    void touch(const lint::Registers& registers, Row how) {
        if (!is_vector(registers)) return;
        const size_t first = registers.first - size_t{lint::kVectors};
        for (size_t row = first; row < std::min(first + registers.count, rows_.size()); ++row)
            if (rows_[row] == Row::untouched) rows_[row] = how;
    }

    std::vector<Row> rows_;
};

}  // namespace

const std::vector<Rows>& RowsToClear::of_full_wave() {
    std::call_once(once_, [&] { rows_ = find(); });
    return rows_;
}

std::vector<Rows> RowsToClear::find() const {
    Walk walk(program_.vgprs());
    const Chunk* const chunk = program_.chunk(entry_);
    if (!program_.indexes_registers())
        for (uint32_t i = entry_->index, next = chunk->pcs[i]; i < chunk->insts.size() && chunk->pcs[i] == next; ++i) {
            const isa::Inst& inst = chunk->insts[i];
            if (!inst.row || chunk->refused.contains(i) || flow_of(inst) != Flow::next) break;
            next += inst.size;
            const lint::Access access = lint::access_of(program_.arch(), inst, program_.wave_size());
            if (access.indexed || !walk.pass(access)) break;
        }
    return walk.not_written();
}

}  // namespace strata::emu
