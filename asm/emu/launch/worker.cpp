#include "strata/asm/emu/launch/worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "strata/asm/emu/check/group_checks.h"
#include "strata/asm/emu/launch/faults.h"
#include "strata/asm/emu/launch/scratch.h"
#include "strata/asm/emu/machine/device_memory.h"
#include "strata/asm/emu/program/program.h"
#include "strata/asm/emu/services/services.h"
#include "strata/core/support/guarded.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/interrupt.h"

namespace strata::emu {
namespace {

constexpr size_t kRotation = 32;             // waves that take turns on a thread, if memory allows
constexpr size_t kRotationBytes = 1u << 20;  // their registers should stay in the host's L2
constexpr uint64_t kQuantum = 1u << 16;      // instructions before a wave that never waits makes room
constexpr uint64_t kTurnCost = 64;           // about what a turn costs beside its instructions, in instructions
constexpr uint64_t kLooks = 16;              // at a budget, at least, until it is used up
constexpr uint64_t kPatience = 1u << 24;     // instructions without a finished workgroup before another is admitted

struct FreeDeleter {
    void operator()(void* p) const { std::free(p); }
};

size_t scratch_bytes(const Plan& plan) { return (size_t{plan.scratch} + 3) / 4 * 4 * static_cast<size_t>(plan.lanes); }

/// The host has refused an access to memory of its own, in the straight run that the wave is in.
void fail_on_host(Wave* wave, uint64_t address) {
    (void)fail(wave, wave->run_start,
               fmt::format("an instruction from here on uses memory of the host at {:#x}, which is not there any more "
                           "or cannot be written: {}",
                           address, wave->group->launch->memory->describe(address, 1)));
}

/// Runs the handlers of a wave's turn. Of the host's own memory pages may be gone: that is a fault of the wave.
void run_turn(Wave* wave) {
    const auto run = [](void* context) {
        auto* const own = static_cast<Wave*>(context);
        for (const Op* op = own->pc; op;) op = op->run(own, op);
    };
    const auto owns = [](const void* context, uint64_t address) {
        const Allocation* const at = static_cast<const Wave*>(context)->group->launch->memory->find(address, 1);
        return at && at->mapped;
    };
    if (const std::optional<uint64_t> gone = run_guarded(run, owns, wave)) fail_on_host(wave, *gone);
}

}  // namespace

struct Worker::Resident {
    Workgroup group;
    uint64_t number = 0;
    std::unique_ptr<char, FreeDeleter> memory;
    std::vector<Wave*> waves;   ///< in the order they run
    std::vector<Wave*> places;  ///< by wave in the workgroup
    uint8_t* lds = nullptr;
    Scratch scratch;
    std::vector<Observer*> observers;
    std::unique_ptr<GroupChecks> checks;
    InstrumentedCode* instrumented = nullptr;  ///< what its waves run, if anyone looks at them
    Wave::Hit hits[Wave::kHits];               ///< allocations that the last workgroup met: a good guess for the next

    explicit Resident(Plan& plan) : scratch(scratch_bytes(plan), plan.waves) {
        size_t wave = plan.wave_bytes();
        size_t lds_bytes = (plan.lds + 63u) / 64 * 64;
        size_t bytes = plan.waves * wave + lds_bytes + 64;
        memory.reset(static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
        if (!memory) throw std::bad_alloc();
        char* at = memory.get();
        for (uint32_t i = 0; i < plan.waves; ++i, at += wave) places.push_back(reinterpret_cast<Wave*>(at));
        lds = reinterpret_cast<uint8_t*>(at);
        group.launch = &plan.launch;
        group.waves = plan.waves;
    }

    /// Who looks at the workgroup of this number, and what code it therefore runs.
    void observe(const Plan& plan, uint64_t number) {
        observers = plan.observers;
        if (plan.checks) {
            if (!checks) checks = std::make_unique<GroupChecks>(*plan.checks);
            checks->begin(group);
            observers.push_back(checks.get());
        }
        if (auto it = plan.of_group.find(number); it != plan.of_group.end()) observers.push_back(it->second);
        group.observers = observers;
        instrumented = observers.empty()                      ? nullptr
                       : plan.checks && observers.size() == 1 ? plan.checked
                                                              : plan.instrumented;
        group.code = plan.launch.program;
        if (instrumented) group.code = instrumented;
        group.in_turns = std::ranges::any_of(observers, &Observer::orders_waves);
    }
};

Worker::Worker(Plan& plan, std::atomic<uint64_t>& next, uint64_t share, bool polls)
    : plan_(plan), next_(next), share_(share), polls_(polls) {}
Worker::~Worker() = default;

/// No more than its share: what one worker holds no other can run.
size_t Worker::resident_groups() const {
    size_t bytes = plan_.waves * plan_.wave_bytes() + plan_.lds;
    size_t by_waves = (kRotation + plan_.waves - 1) / plan_.waves;
    return std::clamp<size_t>(kRotationBytes / std::max<size_t>(bytes, 1), 1, std::min<size_t>(by_waves, share_));
}

void Worker::start_wave(Resident& resident, uint32_t index) {
    Wave* wave = new (resident.places[index]) Wave();
    std::ranges::copy(resident.hits, wave->hits);
    wave->lanes = plan_.lanes;
    wave->vgprs = plan_.vgprs;
    const size_t row_bytes = static_cast<size_t>(plan_.lanes) * 4;
    const bool all_lanes = plan_.exec[index] == ~0ull >> (64 - plan_.lanes);
    if (all_lanes && resident.group.observers.empty())
        for (const Rows& rows : plan_.cleared) memset(wave->row(rows.first), 0, rows.count * row_bytes);
    else
        memset(wave->row(0), 0, plan_.vgprs * row_bytes);
    if (plan_.vgprs > 0) memcpy(wave->row(0), plan_.v0.data() + index * static_cast<size_t>(plan_.lanes), row_bytes);
    std::ranges::copy(plan_.scalars, wave->s);
    const std::array<uint32_t, 3>& id = resident.group.id;
    for (size_t dim = 0; dim < 3; ++dim)
        if (plan_.id_codes[dim] >= 0) wave->s[plan_.id_codes[dim]] = id[dim];
    if (plan_.ids_in_ttmp) {
        wave->s[isa::code::ttmp0 + 9] = id[0];
        wave->s[isa::code::ttmp0 + 7] = id[1] | id[2] << 16;
        wave->s[isa::code::ttmp0 + 8] = (index & 31) << 25;
    }
    wave->s[isa::code::exec_lo] = static_cast<uint32_t>(plan_.exec[index]);
    if (plan_.lanes == 64) wave->s[isa::code::exec_hi] = static_cast<uint32_t>(plan_.exec[index] >> 32);
    wave->mode = plan_.mode;
    wave->lds = resident.lds;
    wave->lds_size = plan_.lds;
    wave->scratch_size = plan_.scratch;
    wave->scratch = resident.scratch.cleared(index);
    wave->group = &resident.group;
    wave->wave_in_group = index;
    wave->fault = &fault_text_;
    for (Observer* observer : resident.group.observers) observer->started(*wave);
    wave->pc = resident.instrumented ? resident.instrumented->copy_of(plan_.entry) : plan_.entry;
}

/// Gives a resident the next workgroup; false when none is left.
bool Worker::start(Resident& resident) {
    uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
    if (number >= plan_.end) return false;
    number = plan_.group_in_order(number);
    resident.number = number;
    Workgroup& group = resident.group;
    group.id = {static_cast<uint32_t>(number % plan_.grid[0]),
                static_cast<uint32_t>(number / plan_.grid[0] % plan_.grid[1]),
                static_cast<uint32_t>(number / plan_.grid[0] / plan_.grid[1])};
    group.ended = group.arrived = group.signals = group.completed = 0;
    resident.observe(plan_, number);
    memset(resident.lds, 0xff, plan_.lds);  // unwritten local memory reads as NaN and -1
    for (uint32_t i = 0; i < plan_.waves; ++i) start_wave(resident, i);
    resident.waves = resident.places;
    if (plan_.seed && !group.in_turns) {  // modelled time does not depend on the seed
        uint64_t state = hash_mix(plan_.seed, number);
        for (size_t i = resident.waves.size(); i > 1; --i) {
            state = hash_mix(state, i);
            std::swap(resident.waves[i - 1], resident.waves[state % i]);
        }
    }
    outcome.waves += plan_.waves;
    return true;
}

bool Worker::admit() {
    auto resident = std::make_unique<Resident>(plan_);
    if (!start(*resident)) return false;
    running_.push_back(resident.get());
    residents_.push_back(std::move(resident));
    return true;
}

void Worker::release_barrier(Resident& resident) {
    Workgroup& group = resident.group;
    if (group.arrived == 0 || group.arrived + group.ended < group.waves) return;
    group.arrived = 0;
    for (Wave* wave : resident.waves)
        if (wave->stop == Stop::barrier) wave->stop = Stop::none;
}

void Worker::release_split_barrier(Resident& resident) {
    const Workgroup& group = resident.group;
    for (Wave* wave : resident.waves) {
        if (wave->stop != Stop::split_barrier || wave->barriers_passed == group.completed) continue;
        wave->barriers_passed = group.completed;
        wave->stop = Stop::none;
    }
}

void Worker::end_wave(Resident& resident, const Wave& wave) {
    Workgroup& group = resident.group;
    ++group.ended;
    if (wave.barriers_signalled == group.completed + 1) --group.signals;  // it counts as a wave that ended
    check_split_barrier(group);
    for (Observer* observer : group.observers) observer->ended(wave);
}

/// Ends the launch: fault_text_ says what the wave did.
void Worker::fail(const Wave& wave, ErrorKind kind) {
    const Resident* at = nullptr;
    for (const Resident* resident : running_)
        if (&resident->group == wave.group) at = resident;
    error_group = at ? at->number : 0;
    error = Error{kind, fault_message(wave)};
    plan_.launch.stop.store(true, std::memory_order_relaxed);
}

void Worker::fault(const Wave& wave) {
    if (plan_.services)
        if (std::string words = plan_.services->last_words(wave); !words.empty() && wave.stop == Stop::fault)
            fault_text_ = std::move(words);
    if (wave.stop != Stop::budget) return fail(wave, ErrorKind::MemoryFault);
    fault_text_ = strata::emu::over_budget(wave.executed);
    over_budget = true;
    fail(wave, ErrorKind::Launch);
}

/// Serves the request of the wave to its host; false for an unknown service.
bool Worker::serve(Wave& wave) {
    if (!plan_.services->called()) return true;
    if (wave.stop == Stop::sleep) wave.stop = Stop::wait;  // what it sleeps for is there
    const Result<void> served = plan_.services->serve(wave);
    if (served) return true;
    fault_text_ = served.error().message;
    wave.stop = Stop::fault;
    fault(wave);
    return false;
}

/// No wave of the workgroup can go on, and nobody else will wake it.
void Worker::stuck(const Resident& resident, std::string_view why) {
    auto waiting = std::ranges::find(resident.waves, Stop::global_wait, &Wave::stop);
    if (waiting == resident.waves.end())
        waiting = std::ranges::find_if(resident.waves, [](const Wave* wave) { return wave->stop != Stop::end; });
    fault_text_ = why;
    fail(**waiting, ErrorKind::Launch);
}

/// Asked every so often of this thread's work, whatever waves it is of. Throws Interrupted.
bool Worker::may_go_on(const Wave& wave) {
    since_check_ = 0;
    if (polls_) poll_interrupt();
    const uint64_t all = outcome.instructions + outcome.waves * Plan::kWaveCost, ran = all - reported_;
    reported_ = all;
    if (plan_.executed.fetch_add(ran, std::memory_order_relaxed) + ran > plan_.max_of_launch) {
        fault_text_ = over_launch_budget(plan_.max_of_launch);
        fail(wave, ErrorKind::Launch);
    }
    return !plan_.launch.stop.load(std::memory_order_relaxed);
}

/// Runs a wave until it stops for whatever reason; false when the launch is over: a fault, a budget, another worker's.
bool Worker::step(Wave* wave) {
    wave->budget = std::min(wave->executed + (wave->group->in_turns ? kQuantum : quantum_), plan_.max_instructions);
    wave->stop = Stop::none;
    wave->run_start = wave->pc;
    const uint64_t before = wave->turn_start = wave->executed;
    run_turn(wave);
    if (plan_.services) plan_.services->had_turn(*wave);
    const uint64_t ran = wave->executed - before;
    since_progress_ += ran;
    outcome.instructions += ran;
    since_check_ += ran + kTurnCost;
    if (wave->stop == Stop::global_wait && wave->executed >= plan_.max_instructions) wave->stop = Stop::budget;
    if (wave->stop == Stop::fault || (wave->stop == Stop::budget && wave->executed >= plan_.max_instructions)) {
        fault(*wave);
        return false;
    }
    if (plan_.services && !serve(*wave)) return false;
    return since_check_ < check_every_ || may_go_on(*wave);
}

/// One turn of every wave of running_[i]; true if that workgroup is done and none was left to take its place.
bool Worker::turn(Resident& resident) {
    bool ran = false;
    for (Wave* wave : resident.waves) {
        if (wave->stop == Stop::barrier || wave->stop == Stop::split_barrier || wave->stop == Stop::end) continue;
        ran = true;
        const uint32_t completed = resident.group.completed;
        if (!step(wave)) return false;
        asleep_ |= wave->stop == Stop::sleep;
        idle_ &= wave->stop == Stop::sleep || wave->stop == Stop::global_wait;
        if (wave->stop == Stop::end)
            end_wave(resident, *wave);
        else if (wave->stop == Stop::barrier)
            ++resident.group.arrived;
        if (wave->stop == Stop::barrier || wave->stop == Stop::end) release_barrier(resident);
        if (completed != resident.group.completed) release_split_barrier(resident);
    }
    if (!ran) stuck(resident, "every wave of the workgroup waits at a barrier that none of them signals");
    if (resident.group.ended < resident.group.waves) return false;
    since_progress_ = 0;
    std::ranges::copy(resident.places[0]->hits, resident.hits);
    return !start(resident);
}

void Worker::rotate() {
    for (size_t count = resident_groups(); count > 0 && admit();) --count;
    while (!running_.empty()) {
        idle_ = true;
        asleep_ = false;
        for (size_t i = 0; i < running_.size();) {
            bool gone = turn(*running_[i]);
            if (error || plan_.launch.stop.load(std::memory_order_relaxed)) return;
            if (gone)
                running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
            else
                ++i;
        }
        if (plan_.launch.stop.load(std::memory_order_relaxed)) return;
        if ((!idle_ && since_progress_ <= kPatience) || running_.empty()) continue;
        since_progress_ = 0;
        if (!admit_as_many() && idle_ && !asleep_ && plan_.launch.alone) {
            stuck(*running_[0], "every wave that is left waits for others at a barrier or semaphore of the grid");
            return;
        }
    }
}

/// Waves may be waiting for workgroups that have not started: lets in as many as there are. False: there are no more.
bool Worker::admit_as_many() {
    size_t count = 0;
    for (const size_t most = running_.size(); count < most && residents_.size() < kMostResidents && admit();) ++count;
    return count > 0;
}

void Worker::run() {
    check_every_ = std::clamp<uint64_t>(plan_.max_of_launch / kLooks, 1, kQuantum);
    quantum_ = plan_.seed ? 64 + hash_mix(plan_.seed, 1) % 4096 : kQuantum;
    try {
        rotate();
    } catch (const std::bad_alloc&) {
        error =
            make_error(ErrorKind::Device, "the host has no memory for the waves of kernel '{}'", plan_.launch.kernel);
        plan_.launch.stop.store(true, std::memory_order_relaxed);
    } catch (...) {
        thrown = std::current_exception();
        plan_.launch.stop.store(true, std::memory_order_relaxed);
    }
}

}  // namespace strata::emu
