#include "strata/asm/lint/queues.h"

namespace strata::lint {
namespace {

using isa::Format;

/// Each counter sees one of the two ways that a FLAT operation on RDNA may go.
Queue queue_of(isa::Arch arch, const isa::Inst& inst, uint16_t counter) {
    constexpr uint16_t local = isa::counter::lgkmcnt | isa::counter::dscnt;
    const bool cdna = isa::is_cdna(isa::info(arch).family);
    switch (inst.row->format) {
        case Format::SMEM: return Queue::scalar;
        case Format::DS: return inst.gds ? Queue::global_share : Queue::local;
        case Format::FLAT: return cdna ? Queue::flat : counter & local ? Queue::local : Queue::vector;
        case Format::SCRATCH: return !cdna && inst.row->flags & isa::kStore ? Queue::private_store : Queue::vector;
        case Format::MIMG: return Queue::image;
        case Format::EXP:
        case Format::LDSDIR: return Queue::export_;
        case Format::SOP1:
        case Format::SOPP: return Queue::message;
        default: return Queue::vector;
    }
}

}  // namespace

std::array<Counted, 2> counted(isa::Arch arch, const isa::Inst& inst, uint16_t counters) {
    std::array<Counted, 2> counts{};
    size_t next = 0;
    for (; counters && next < counts.size(); counters &= static_cast<uint16_t>(counters - 1)) {
        const auto lowest = static_cast<uint16_t>(counters & -counters);
        counts[next++] = {lowest, queue_of(arch, inst, lowest)};
    }
    return counts;
}

}  // namespace strata::lint
