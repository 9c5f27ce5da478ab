#include "strata/asm/emu/check/runs.h"

#include <algorithm>

#include "strata/asm/emu/check/access_table.h"
#include "strata/asm/emu/machine/operands.h"
#include "strata/asm/emu/program/build.h"

namespace strata::emu {
namespace {

using lint::Read;
using lint::Write;

bool is_exec(const lint::Registers& registers) { return (registers.first | 1) == isa::code::exec_hi; }

/// Rows and scalars of a set, one by one.
template <class Row, class Scalar>
void each(const lint::Registers& registers, Row row, Scalar scalar) {
    for (uint16_t i = 0; i < registers.count; ++i) {
        const auto reg = static_cast<uint16_t>(registers.first + i);
        if (reg >= lint::kVectors)
            row(static_cast<uint16_t>(reg - lint::kVectors));
        else if (reg <= lint::kMode && reg != lint::kMode && reg != isa::code::null && (reg | 1) != isa::code::exec_hi)
            scalar(reg);
    }
}

/// Notes that a scalar is read, where the run has not written it.
auto needs(RunRegisters& all) {
    return [&all](uint16_t scalar) {
        if (!all.scalars_written[scalar]) all.scalars_read.set(scalar);
    };
}

void insert(std::vector<uint16_t>& rows, uint16_t row) {
    if (!std::ranges::count(rows, row)) rows.push_back(row);
}

void insert_low(std::vector<uint16_t>& rows, uint16_t row, const std::vector<uint16_t>& done) {
    if (!std::ranges::count(done, row)) insert(rows, row);
}

/// True if the first destination is the lower half of a register that keeps the upper one.
bool writes_low(const isa::Inst& inst, const lint::Access& access) {
    const std::string_view name = inst.row->mnemonic;
    const bool high = inst.op_sel & 8 || name.find("_hi") != name.npos || name.find("mixhi") != name.npos;
    const bool plain = !inst.row_y && !inst.sdwa.present && inst.dpp.kind == isa::DppKind::none && !inst.tfe;
    return plain && !high && access.write_count && access.writes[0].partly && inst.dst[0].is_vgpr() &&
           isa::is_half(inst.dst[0].type);
}

void sum_up(RunRegisters& all) {
    for (const uint16_t row : all.read_low) all.all_read_low.set(row);
    for (const auto* rows : {&all.read, &all.read_across, &all.rewritten})
        for (const uint16_t row : *rows) all.all_read.set(row);
    for (const RunRegisters::Lanes& read : all.read_lanes) all.all_read.set(read.row);
    for (const auto* rows : {&all.written, &all.written_across})
        for (const uint16_t row : *rows) all.all_written.set(row);
    for (size_t i = 0; i < RowSet::kWords; ++i)
        if (all.all_read.word(i) | all.all_read_low.word(i) | all.all_written.word(i)) all.words = i + 1;
    all.written_in_part = !all.written_lanes.empty() || !all.written_low.empty();
}

}  // namespace

RunBuilder::RunBuilder(const Chunk& chunk, const std::vector<Checked>& instructions, const Program& program,
                       const Watched& watched)
    : in_run(chunk.ops.size(), InRun::no),
      chunk_(chunk),
      instructions_(instructions),
      vgprs_(program.vgprs()),
      wave_size_(program.wave_size()),
      accesses_private_(watched.accesses_private),
      shares_(watched.global_memory) {
    if (std::ranges::any_of(chunk.ops, [](const Op& op) { return op.run == indexed; })) return;
    find_targets();
    bool goes_on = false, exec_is_new = false;
    for (size_t at = 0; at < chunk.ops.size(); ++at) {
        if (alone(at)) {
            goes_on = false;
            continue;
        }
        const uint32_t index = chunk.ops[at].index;
        if (!goes_on || starts(at) || (exec_is_new && !is_scalar(at))) {
            exec_is_new = false;
            runs.push_back({.first = index,
                            .barrier = instructions[index].barrier != Barrier::no,
                            .is_private = is_private(at),
                            .widened = instructions[index].widened});
            in_run[at] = InRun::start;
        } else {
            in_run[at] = is_local(at) ? InRun::asked : InRun::inside;
        }
        Run& run = runs.back();
        const bool fresh = in_run[at] == InRun::start || index != run.last;
        for (uint32_t next = in_run[at] == InRun::start ? index : run.last + 1; fresh && next <= index; ++next)
            if (chunk.insts[next].row) add(chunk.insts[next], instructions[next]);
        run.last = index;
        run.at = static_cast<uint32_t>(at);
        goes_on = !ends(at);
        exec_is_new |= writes_exec(at) && !gives_lanes_back(at);
    }
    for (Run& run : runs) sum_up(run.registers);
}

void RunBuilder::find_targets() {
    targets_.resize(chunk_.ops.size());
    for (size_t at = 0; at < chunk_.ops.size(); ++at) {
        const Op& op = chunk_.ops[at];
        const isa::Inst& inst = chunk_.insts[op.index];
        if (!inst.row || op.layout != Layout::scalar) continue;
        const Flow flow = flow_of(inst);
        if (flow == Flow::next || flow == Flow::stop) continue;
        const auto target = static_cast<size_t>(static_cast<int64_t>(at) + op.scalar().distance);
        if (target < targets_.size()) targets_[target] = true;
    }
}

/// Instructions that a run must not hold: glue, invalid ones, those that name registers by M0 or beyond the wave's.
bool RunBuilder::alone(size_t at) const {
    const Op& op = chunk_.ops[at];
    const isa::Inst& inst = chunk_.insts[op.index];
    if (op.layout == Layout::glue || !inst.row || chunk_.refused.contains(op.index)) return true;
    if (instructions_[op.index].to_local) return true;  // which later waits end
    const lint::Access& access = instructions_[op.index].access;
    const auto beyond = [&](const auto& part) {
        return is_vector(part.registers) && part.registers.first + part.registers.count - lint::kVectors > vgprs_;
    };
    return access.indexed || std::ranges::any_of(access.all_reads(), beyond) ||
           std::ranges::any_of(access.all_writes(), beyond);
}

/// Where control may come from elsewhere, and where waves meet others or memory of their own.
bool RunBuilder::starts(size_t at) const {
    const Op& op = chunk_.ops[at];
    if (targets_[at] || instructions_[op.index].barrier != Barrier::no) return true;
    if (shares_ && instructions_[op.index].hand_over == HandOver::listens) return true;  // it may run again and again
    if (op.layout == Layout::scalar_memory) return shares_ || instructions_[op.index].widened;
    if (op.layout != Layout::memory) return false;
    const Space space = op.memory().space;
    return space == Space::flat || ((accesses_private_ || shares_) && space != Space::gds && !is_local(at));
}

bool RunBuilder::is_local(size_t at) const {
    const Op& op = chunk_.ops[at];
    return op.layout == Layout::memory && op.memory().space == Space::local;
}

bool RunBuilder::is_private(size_t at) const {
    const Op& op = chunk_.ops[at];
    return accesses_private_ && op.layout == Layout::memory && op.memory().space == Space::scratch;
}

bool RunBuilder::ends(size_t at) const {
    const uint32_t index = chunk_.ops[at].index;
    const isa::Inst& inst = chunk_.insts[index];
    if (at + 1 < chunk_.ops.size() && chunk_.ops[at + 1].index == index) return false;  // more of its ops follow
    return flow_of(inst) != Flow::next || inst.row->flags & isa::kBranch || is_private(at);
}

bool RunBuilder::writes_exec(size_t at) const {
    return std::ranges::any_of(instructions_[chunk_.ops[at].index].access.all_writes(),
                               [](const Write& write) { return is_exec(write.registers); });
}

/// s_or or s_mov of EXEC from a scalar, where a run starts: lanes that a branch left go on.
bool RunBuilder::gives_lanes_back(size_t at) {
    const isa::Inst& inst = chunk_.insts[chunk_.ops[at].index];
    const std::string_view name = inst.row->mnemonic, bits = wave_size_ == 64 ? "_b64" : "_b32";
    const bool keeps = name.starts_with("s_or_b") && inst.src[0].code == isa::code::exec_lo;
    const isa::Operand& from = inst.src[keeps ? 1 : 0];
    if (in_run[at] != InRun::start || !(keeps || name.starts_with("s_mov_b")) || !name.ends_with(bits)) return false;
    if (inst.dst[0].code != isa::code::exec_lo || !from.is_sgpr()) return false;
    runs.back().lanes_back = from.code;
    runs.back().keeps_lanes = keeps;
    return true;
}

/// It asks for no lanes.
bool RunBuilder::is_scalar(size_t at) const {
    const isa::Format format = chunk_.insts[chunk_.ops[at].index].row->format;
    return isa::kFormats[static_cast<size_t>(format)].unit == isa::FormatUnit::scalar;
}

/// An instruction that moves one lane, which it names, touches none of the others.
bool RunBuilder::add_lane(const isa::Inst& inst) {
    const std::string_view name = inst.row->mnemonic;
    const bool reads = name.starts_with("v_readlane"), writes = name.starts_with("v_writelane");
    if ((!reads && !writes) || inst.src[1].is_sgpr() || !(reads ? inst.src[0] : inst.dst[0]).is_vector()) return false;
    RunRegisters& all = runs.back().registers;
    const uint64_t lane = 1ull << (constant_value(inst.src[1], inst.literal) & (static_cast<uint64_t>(wave_size_) - 1));
    const auto row = static_cast<uint16_t>((reads ? inst.src[0] : inst.dst[0]).row());
    const auto is_same = [&](const RunRegisters::Lanes& other) { return other.row == row && other.lanes == lane; };
    if (writes) {
        if (!std::ranges::any_of(all.written_lanes, is_same)) all.written_lanes.push_back({row, lane});
        if (inst.src[0].is_sgpr()) each({inst.src[0].code, 1}, [](uint16_t) {}, needs(all));
        return true;
    }
    const bool own = std::ranges::count(all.written, row),
               known = std::ranges::count(all.written_across, row) || std::ranges::any_of(all.written_lanes, is_same);
    if (!known && !std::ranges::any_of(all.read_lanes, is_same)) all.read_lanes.push_back({row, lane, own});
    each({inst.dst[0].code, 1}, [](uint16_t) {}, [&](uint16_t scalar) { all.scalars_written.set(scalar); });
    return true;
}

void RunBuilder::add(const isa::Inst& inst, const Checked& checked) {
    const lint::Access& access = checked.access;
    runs.back().stores |= checked.stores;
    runs.back().wants_lane |= checked.wants_lane;
    if (add_lane(inst)) return;
    RunRegisters& all = runs.back().registers;
    const bool low = writes_low(inst, access);
    for (const Read& read : access.all_reads()) {
        if (runs.back().is_private && read.use == lint::Use::stored) continue;
        if (low && read.source < 0 && read.use == lint::Use::kept) continue;
        const bool across = read.every_lane || (inst.dpp.kind != isa::DppKind::none && read.source == 0);
        each(
            read.registers,
            [&](uint16_t row) {
                if (std::ranges::count(all.written_across, row)) return;
                const bool own = std::ranges::count(all.written, row);
                if (across)
                    insert(own ? all.rewritten : all.read_across, row);
                else if (!own && read.registers.halves == lint::Registers::kLow)
                    insert_low(all.read_low, row, all.written_low);
                else if (!own)
                    insert(all.read, row);
            },
            needs(all));
    }
    for (const Write& write : access.all_writes())
        each(
            write.registers,
            [&](uint16_t row) {
                if (low && &write == access.writes.data())
                    insert_low(all.written_low, row, all.written);
                else
                    insert(write.every_lane ? all.written_across : all.written, row);
            },
            [&](uint16_t scalar) { all.scalars_written.set(scalar); });
}

}  // namespace strata::emu
