#include <fmt/format.h>

#include <algorithm>

#include "strata/asm/lint/entry_p.h"

namespace strata::lint {
namespace {

namespace code = isa::code;

constexpr std::string_view kAxes[] = {"x", "y", "z"};

/// Scalars of a wave on CDNA, from the granulated count (AMDGPUUsage, "compute_pgm_rsrc1"); RDNA's have all.
uint32_t allocated_scalars(const isa::ArchInfo& arch, const isa::KernelDescriptor& descriptor) {
    if (!isa::is_cdna(arch.family)) return code::vcc_lo;
    return ((descriptor.rsrc1 >> 6 & 15) / 2 + 1) * 16;
}

/// Uses that make something of a value; others hand it on, or take any.
bool makes_use(Use use) { return use == Use::value || use == Use::address || use == Use::control; }

}  // namespace

Entry::Entry(const isa::ArchInfo& arch, const isa::KernelInfo& kernel, int wave_size)
    : arch_(arch), scalars_(allocated_scalars(arch, kernel.descriptor)) {
    const isa::KernelDescriptor& descriptor = kernel.descriptor;
    const auto all = static_cast<uint32_t>(descriptor.vgprs(arch));
    vectors_ = all;
    if (isa::is_cdna(arch.family)) {
        vectors_ = std::min(all, static_cast<uint32_t>(descriptor.accum_offset()));
        accumulators_ = all - vectors_;
    }
    start(descriptor);
    for (uint32_t i = 0; i < static_cast<uint32_t>(wave_size) / 32; ++i) written_.set(code::exec_lo + i);
    written_.set(kMode);
}

/// AMDGPUUsage, "Initial Kernel Execution State".
void Entry::start(const isa::KernelDescriptor& descriptor) {
    const bool cdna = isa::is_cdna(arch_.family), in_traps = arch_.family == isa::Family::rdna4;
    uint32_t next = static_cast<uint32_t>(descriptor.user_sgprs());
    if (cdna) next = std::max(next, static_cast<uint32_t>(descriptor.kernarg_preload & 127));
    first_id_ = next;
    for (int dim = 0; dim < 3; ++dim) {
        groups_[static_cast<size_t>(dim)] = descriptor.workgroup_id(dim);
        next += !in_traps && descriptor.workgroup_id(dim);
    }
    next += descriptor.workgroup_info();
    // The wave's place in scratch, where it is no register of its own. clang reads it wherever it has the scratch's
    // base.
    next += !in_traps && (descriptor.rsrc2 & 1 || descriptor.flat_scratch_init());
    next_ = next;
    for (uint32_t i = 0; i < next; ++i) written_.set(i);
    for (uint32_t i = code::ttmp0; i < code::ttmp0 + 16; ++i) written_.set(i);
    for (uint32_t i = 102; i < code::vcc_lo; ++i) written_.set(i, cdna || written_[i]);  // FLAT_SCRATCH, XNACK_MASK
    item_dims_ = descriptor.workitem_id_dims();
    written_.set(kVectors);
}

void Entry::add(const Step& step, Written& written) {
    for (const Write& write : step.access->all_writes()) {
        const size_t end = std::min<size_t>(size_t{write.registers.first} + write.registers.count, kItemsGone);
        for (size_t i = write.registers.first; i < end; ++i) written.set(i);
        if (write.registers.first == kVectors) written.set(kItemsGone);
    }
}

void Entry::check_range(const Step& step, const Registers& registers, Findings& found) const {
    const uint32_t first = registers.first, end = first + registers.count;
    uint32_t limit = UINT32_MAX;
    std::string_view what = "vector registers";
    if (first >= code::agpr0) {
        limit = code::agpr0 + accumulators_;
        what = "accumulation registers";
    } else if (first >= kVectors) {
        limit = kVectors + vectors_;
    } else if (end <= arch_.sgprs + 0u) {
        limit = scalars_;
        what = "scalar registers";
    }
    if (end <= limit || found.again(Kind::register_range, step.pc)) return;
    const uint32_t count = first >= code::agpr0 ? accumulators_ : first >= kVectors ? vectors_ : scalars_;
    found.add({.kind = Kind::register_range,
               .pc = step.pc,
               .what = fmt::format("{} is beyond the {} {} of the kernel's descriptor", name(registers), count, what),
               .fix = "raise .amdhsa_next_free_vgpr, .amdhsa_next_free_sgpr or .amdhsa_accum_offset"});
}

/// "z" when a scalar is where an id would be that the descriptor does not ask for.
std::string_view Entry::missing_id(uint32_t scalar) const {
    if (arch_.family == isa::Family::rdna4 || scalar < next_) return "";
    uint32_t at = next_;
    for (size_t dim = 0; dim < groups_.size(); ++dim)
        if (!groups_[dim] && at++ == scalar) return kAxes[dim];
    return "";
}

/// v0 packs the work-item's ids, ten bits each.
void Entry::check_work_item(const Step& step, const Written& written, Findings& found) const {
    const isa::Inst& inst = *step.inst;
    if (written[kItemsGone] || inst.row->mnemonic != "v_bfe_u32" || inst.src[0].code != kVectors) return;
    const uint32_t at = inst.src[1].code;
    const int dim = at == code::inline_zero + 10 ? 1 : at == code::inline_zero + 20 ? 2 : 0;
    if (dim <= item_dims_) return;
    found.add(
        {.kind = Kind::missing_id,
         .pc = step.pc,
         .what = fmt::format("the work-item id {} is read, which the kernel's descriptor does not ask for", kAxes[dim]),
         .fix = fmt::format(".amdhsa_system_vgpr_workitem_id {}", dim)});
}

void Entry::check_ranges(const Step& step, Findings& found) const {
    for (const Read& read : step.access->all_reads()) check_range(step, read.registers, found);
    for (const Write& write : step.access->all_writes()) check_range(step, write.registers, found);
}

void Entry::check_written(const Step& step, const Written& written, Findings& found) const {
    if (step.access->indexed) return;
    check_work_item(step, written, found);
    for (const Read& read : step.access->all_reads()) {
        const Registers& registers = read.registers;
        bool unwritten = makes_use(read.use) && registers.first != kMode;
        const size_t end = std::min<size_t>(size_t{registers.first} + registers.count, kItemsGone);
        for (size_t i = registers.first; i < end; ++i) unwritten = unwritten && !written[i];
        if (unwritten) report_unwritten(step, registers, found);
    }
}

/// Compilers leave halves of wide operands undefined that do not matter, never all of one.
void Entry::report_unwritten(const Step& step, const Registers& registers, Findings& found) const {
    const std::string_view id = registers.first < code::vcc_lo ? missing_id(registers.first) : "";
    const Kind kind = id.empty() ? Kind::uninitialised : Kind::missing_id;
    if (found.again(kind, step.pc)) return;
    if (id.empty())
        found.add({.kind = kind,
                   .pc = step.pc,
                   .what = fmt::format("{} is read, and no instruction before writes it", name(registers)),
                   .fix = fmt::format("write {} first", name(registers))});
    else
        found.add({.kind = kind,
                   .pc = step.pc,
                   .what = fmt::format("{} is read, where the workgroup id {} would be, which the kernel's descriptor "
                                       "does not ask for",
                                       name(registers), id),
                   .fix = fmt::format(".amdhsa_system_sgpr_workgroup_id_{} 1", id)});
}

}  // namespace strata::lint
