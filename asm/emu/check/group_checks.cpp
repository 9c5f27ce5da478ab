#include "strata/asm/emu/check/group_checks.h"

#include <fmt/format.h>

#include <bit>
#include <span>
#include <utility>

#include "strata/asm/emu/check/scalar_loads.h"
#include "strata/asm/emu/program/build.h"

namespace strata::emu {
namespace {

/// EXEC of the run's instructions.
uint64_t exec_in(const Run& run, const Wave& wave) {
    const uint64_t exec = wave.exec();
    if (run.lanes_back == Run::kNoScalar) return exec;
    const uint64_t high = wave.lanes == 64 ? wave.s[run.lanes_back + 1] : 0;
    return (run.keeps_lanes ? exec : 0) | wave.s[run.lanes_back] | high << 32;
}

lint::Finding ended_without(size_t wave) {
    lint::Finding finding{.kind = lint::Kind::divergent_barrier};
    finding.what = fmt::format("wave {} ended without coming to this barrier", wave);
    finding.fix = "all waves of a workgroup come to each of its barriers; leave after the last one";
    return finding;
}

}  // namespace

GroupChecks::GroupChecks(LaunchChecks& launch)
    : launch_(launch),
      paths_(launch.paths_of_this_thread()),
      races_(launch.races()),
      pointers_(launch.pointers()),
      given_(Registers::known_at_start(launch.setup().given)),
      local_(launch.setup().lds, launch.setup().waves) {
    waves_.resize(launch.setup().waves);
}

GroupChecks::~GroupChecks() { launch_.add(found_, wanted_); }

void GroupChecks::begin(const Workgroup& group) {
    if (races_) number_ = races_->begin(group.id);
    local_.start();
    barriers_.clear();
    some_ended_ = false;
}

void GroupChecks::see(const Wave& wave) {
    seen_ = &wave;
    witness_ = {wave.group->id, wave.wave_in_group};
    found_.witness(&witness_);
}

void GroupChecks::started(const Wave& wave) {
    seen_ = nullptr;
    OfWave& state = waves_[wave.wave_in_group];
    state.chunk = nullptr;
    state.ended = false;
    state.lanes = wave.exec();
    state.missed = state.released = 0;
    state.path = {};
    state.registers.start(wave, given_);
    state.scratch.start(launch_.setup().scratch, wave.lanes);
}

void GroupChecks::look_at(const Chunk& chunk) {
    if (table_chunk_ == &chunk) return;
    table_ = &launch_.setup().accesses.of(chunk);
    table_chunk_ = &chunk;
}

/// Runs are passed at once under three conditions. The rules of waits and distances find nothing, registers are known,
/// and the memory touched needs no check. Else the wave goes through it instruction by instruction.
bool GroupChecks::before_run(Wave& wave, const Site& site) {
    OfWave& state = waves_[wave.wave_in_group];
    const Chunk& chunk = *site.chunk;
    look_at(chunk);
    if (local_.has_copies()) {  // each wait and each operation that it counts
        state.is_ahead = false;
        return false;
    }
    const Run& run = table_->runs[table_->run_at[site.at]];
    const bool follows = state.chunk == &chunk && site.at == state.at + 1;
    state.is_ahead = paths_.pass(state.path, chunk, *table_, run, follows ? state.index + 1 : run.first);
    const uint64_t exec = exec_in(run, wave);
    const Op& op = site.op();
    if (!state.is_ahead || wave.mode & kGprIndex || !state.registers.knows(run, exec)) return false;
    if (run.wants_lane && !exec) return false;
    if (run.wants_lane && (run.id >= had_lanes_.size() || !had_lanes_[run.id])) see_lanes(run, chunk);
    if (op.layout == Layout::memory && !run.is_private && !pass_memory(state, wave, op)) return false;
    if (pointers_ && stale(wave, chunk, run.first, op)) return false;
    if (run.widened && bytes_inside(wave, op, run.widened) < run.widened) return false;
    state.registers.pass(run, exec);
    if (run.stores && state.missed & exec && state.missed & exec & lanes_elsewhere(wave, &op))
        come_back(state, wave, exec);
    if (races_ || pointers_)
        for (uint32_t i = follows ? state.index + 1 : run.first; i <= run.last; ++i)
            share(state, wave, chunk, i, i == run.first ? &op : nullptr);
    if (run.barrier || run.is_private) {
        const Checked& checked = table_->instructions[run.first];
        const lint::Step step{chunk.pcs[run.first], &chunk.insts[run.first], &checked.access};
        if (run.barrier) barrier(state, wave, &op, step, checked);
        if (run.is_private) {
            if (seen_ != &wave) see(wave);
            state.scratch.step({wave, step, &op, found_}, state.registers);
        }
    }
    state.chunk = &chunk;
    state.at = run.at;
    state.index = run.last;
    if (launch_.setup().raises && !found_.empty()) fail(&wave, &op, "strict mode");
    return true;
}

bool GroupChecks::within_run(Wave& wave, const Site& site) {
    if (!launch_.setup().lds || local_.pass(wave, site.op())) return true;
    OfWave& state = waves_[wave.wave_in_group];  // it comes to this op by itself
    state.at = site.at - 1;
    state.index = site.op().index - 1;
    return false;
}

bool GroupChecks::pass_memory(OfWave& state, Wave& wave, const Op& op) {
    const Space space = op.memory().space;
    const LaunchChecks::Setup& setup = launch_.setup();
    if (space == Space::local) return !setup.lds || local_.pass(wave, op);
    const bool maybe_local = setup.lds && space == Space::flat;
    if (space == Space::gds || (!maybe_local && !setup.scratch)) return true;
    const LaneAddresses lanes(wave, op);
    if (maybe_local)
        for (uint64_t left = lanes.active; left; left &= left - 1)
            if (lanes.addresses[std::countr_zero(left)] >> 32 == kSharedAperture) return false;
    return !setup.scratch || state.scratch.pass(wave, op, lanes);
}

Wants GroupChecks::before(Wave& wave, const Site& site) {
    OfWave& state = waves_[wave.wave_in_group];
    const Chunk& chunk = *site.chunk;
    const Op& op = site.op();
    look_at(chunk);
    const bool follows = state.chunk == &chunk && site.at == state.at + 1;
    const InRun place = table_->in_run[site.at];
    state.is_ahead = state.is_ahead && (place == InRun::start || (place != InRun::no && follows));
    // Hints between this op and the one before it have none of their own.
    if (follows)
        for (uint32_t hint = state.index + 1; hint < op.index + (op.run == go_on_elsewhere); ++hint)
            step(state, wave, chunk, hint, nullptr);
    // Register indexing runs its instruction in code of its own, and does not come to the op after it.
    const bool is_indexed = op.run == indexed && wave.mode & kGprIndex;
    const bool was_indexed = state.was_indexed && follows;
    if (is_indexed || (table_->is_last[site.at] && !was_indexed))
        step(state, wave, chunk, op.index, is_indexed ? nullptr : &op);
    state.was_indexed = is_indexed;
    state.chunk = &chunk;
    state.at = site.at;
    state.index = op.index;
    if (launch_.setup().raises && !found_.empty()) fail(&wave, &op, "strict mode");
    return Wants::every;
}

void GroupChecks::ended(const Wave& wave) {
    some_ended_ = waves_[wave.wave_in_group].ended = true;
    const uint32_t signalled = local_.progress(wave).signalled;
    if (signalled >= barriers_.size() || found_.again(lint::Kind::divergent_barrier, barriers_[signalled])) return;
    see(wave);
    lint::Finding finding = ended_without(wave.wave_in_group);
    finding.pc = barriers_[signalled];
    finding.witness = witness_;
    found_.add(std::move(finding));
}

void GroupChecks::step(OfWave& state, Wave& wave, const Chunk& chunk, uint32_t index, const Op* op) {
    const isa::Inst& inst = chunk.insts[index];
    if (!inst.row) return;
    const Checked& checked = table_->instructions[index];
    const lint::Step step{chunk.pcs[index], &inst, &checked.access};
    if (seen_ != &wave) see(wave);
    if (!state.is_ahead) paths_.step(state.path, step, checked, found_);
    const uint64_t back = state.missed & wave.exec();
    if (checked.stores && back && back & lanes_elsewhere(wave, op)) come_back(state, wave, back);
    const Moment moment{wave, step, op, found_, checked.transfer, checked.transfer_y, checked.is_move};
    if (checked.wants_lane) want_lane(moment);
    if (races_ || pointers_) share(state, wave, chunk, index, op);
    state.registers.step(moment);
    if (pointers_ && op)
        if (const uint64_t lanes = stale(wave, chunk, index, *op)) state.registers.lose_stale(moment, lanes);
    if (op && checked.widened)
        if (const uint32_t inside = bytes_inside(wave, *op, checked.widened); inside < checked.widened)
            state.registers.lose_beyond(moment, inside);
    if (local_.has_copies()) local_.step_copies(moment);
    if (op && op->layout == Layout::memory) {
        if (launch_.setup().lds && checked.to_local) local_.begin_copy(moment);
        const Space space = op->memory().space;
        if (launch_.setup().lds && (space == Space::local || space == Space::flat))
            local_.step(moment, state.registers);
        if (launch_.setup().scratch && space != Space::local && space != Space::gds)
            state.scratch.step(moment, state.registers);
    }
    if (checked.barrier != Barrier::no) barrier(state, wave, op, step, checked);
}

/// An instruction that moves something of each active lane does nothing without any. That is right where some waves
/// have lanes for it and others have none. v_readfirstlane takes lane 0 then.
void GroupChecks::want_lane(const Moment& moment) {
    if (moment.exec()) {
        wanted_.with.insert(moment.step.pc);
        return;
    }
    const bool memory = moment.row().flags & isa::kMemory;
    const Moment at{moment.wave, moment.step, moment.op, memory ? wanted_.without : found_};
    at.report(lint::Kind::no_active_lane, 0, [&] {
        lint::Finding finding;
        finding.what = memory ? fmt::format("{} moves nothing: no wave has an active lane here", moment.row().mnemonic)
                              : "no lane is active: what lane 0 holds is taken, whatever that is";
        finding.fix = memory ? "EXEC as it was before" : "s_cbranch_execz around this, or EXEC as it was before";
        return finding;
    });
}

void GroupChecks::see_lanes(const Run& run, const Chunk& chunk) {
    if (run.id >= had_lanes_.size()) had_lanes_.resize(run.id + 64);
    had_lanes_[run.id] = true;
    for (uint32_t i = run.first; i <= run.last; ++i)
        if (table_->instructions[i].wants_lane) wanted_.with.insert(chunk.pcs[i]);
}

uint64_t GroupChecks::stale(Wave& wave, const Chunk& chunk, uint32_t index, const Op& op) {
    if (op.layout != Layout::memory && op.layout != Layout::scalar_memory) return 0;
    const lint::Step step{chunk.pcs[index], &chunk.insts[index], &table_->instructions[index].access};
    return pointers_->stale({wave, step, &op, found_});
}

/// Reports the instruction to the checks between workgroups and between pointers.
void GroupChecks::share(OfWave& state, Wave& wave, const Chunk& chunk, uint32_t index, const Op* op) {
    const isa::Inst& inst = chunk.insts[index];
    if (!inst.row) return;
    const Checked& checked = table_->instructions[index];
    const lint::Step step{chunk.pcs[index], &inst, &checked.access};
    if (op && (op->layout == Layout::memory || op->layout == Layout::scalar_memory)) {
        if (seen_ != &wave) see(wave);
        if (pointers_) pointers_->access({wave, step, op, found_});
        if (races_) races_->access({wave, step, op, found_}, number_, checked.atomic, state.released == step.pc);
    }
    if (!races_ || checked.hand_over == HandOver::none) return;
    races_->hand_over(number_, checked.hand_over);
    if (checked.hand_over == HandOver::releases) state.released = step.pc + inst.size;
}

/// Lanes that did not take the branch to a barrier go on after it. Whether the wave comes to the barrier depends on
/// which lanes it has. Barriers are of waves in hardware, so that a wave with any lane in the branch is at the barrier.
void GroupChecks::come_back(OfWave& state, const Wave& wave, uint64_t exec) {
    if (seen_ != &wave) see(wave);
    const uint64_t lanes = std::exchange(state.missed, 0) & exec;
    if (found_.again(lint::Kind::divergent_barrier, state.barrier)) return;
    lint::Finding finding{.kind = lint::Kind::divergent_barrier, .pc = state.barrier};
    finding.what =
        "some lanes of the wave come here and others go around: a wave without any of the former does not wait";
    finding.fix = "the barrier outside of what lanes do differently";
    finding.earlier = state.branch;
    finding.witness = witness_;
    finding.witness->lanes = lanes;
    found_.add(std::move(finding));
}

/// The waves of a workgroup come to the same barriers, or to none.
void GroupChecks::barrier(OfWave& state, Wave& wave, const Op* op, const lint::Step& step, const Checked& checked) {
    const uint64_t exec = wave.exec();
    if (state.missed & exec) come_back(state, wave, exec);
    if (checked.branch && state.lanes & ~exec) {
        state.missed = state.lanes & ~exec;
        state.barrier = static_cast<uint32_t>(step.pc);
        state.branch = checked.branch - 1;
    }
    Progress& progress = local_.progress(wave);
    if (checked.barrier == Barrier::waits) progress.passed = progress.signalled;
    if (checked.barrier == Barrier::waits || checked.barrier == Barrier::other) return;
    const uint32_t number = local_.signal(wave);
    if (checked.barrier == Barrier::both) progress.passed = progress.signalled;
    if (number >= barriers_.size()) barriers_.resize(number + 1, step.pc);
    if (some_ended_ || barriers_[number] != step.pc) compare_barriers(wave, op, step, number);
}

void GroupChecks::compare_barriers(Wave& wave, const Op* op, const lint::Step& step, uint32_t number) {
    const Moment moment{wave, step, op, found_};
    if (seen_ != &wave) see(wave);
    for (const OfWave& other : waves_)
        if (other.ended && local_.progress_of(static_cast<size_t>(&other - waves_.data())).signalled <= number)
            moment.report(lint::Kind::divergent_barrier, 0,
                          [&] { return ended_without(static_cast<size_t>(&other - waves_.data())); });
    if (barriers_[number] == step.pc) return;
    moment.report(lint::Kind::divergent_barrier, 0, [&] {
        lint::Finding finding;
        finding.what = fmt::format("the wave waits here while another waits at another barrier");
        finding.fix = "a barrier outside of what waves do differently";
        finding.earlier = barriers_[number];
        return finding;
    });
}

}  // namespace strata::emu
