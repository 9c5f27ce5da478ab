#pragma once
#include <bitset>

#include "strata/asm/lint/access.h"
#include "strata/asm/lint/finding.h"
#include "strata/asm/object/code_object.h"

// The registers of a kernel, and which of them have values when it starts.
namespace strata::lint {

/// Registers that some path has written; after them, whether one has overwritten v0, in which work-items start.
using Written = std::bitset<769>;
constexpr size_t kItemsGone = 768;

/// A kernel's descriptor against the registers that its code names.
class Entry {
  public:
    Entry(const isa::ArchInfo& arch, const isa::KernelInfo& kernel, int wave_size);
    Written written() const { return written_; }
    /// Registers beyond the allocation.
    void check_ranges(const Step& step, Findings& found) const;
    /// Reads of what nothing wrote.
    void check_written(const Step& step, const Written& written, Findings& found) const;
    static void add(const Step& step, Written& written);

  private:
    void start(const isa::KernelDescriptor& descriptor);
    void check_range(const Step& step, const Registers& registers, Findings& found) const;
    void check_work_item(const Step& step, const Written& written, Findings& found) const;
    void report_unwritten(const Step& step, const Registers& registers, Findings& found) const;
    std::string_view missing_id(uint32_t scalar) const;

    const isa::ArchInfo& arch_;
    uint32_t vectors_ = 0, accumulators_ = 0, scalars_ = 0;  ///< how many of each are allocated
    uint32_t first_id_ = 0, next_ = 0;                       ///< scalars: the first id, the first that is not given
    std::array<bool, 3> groups_{};
    int item_dims_ = 0;
    Written written_;
};

}  // namespace strata::lint
