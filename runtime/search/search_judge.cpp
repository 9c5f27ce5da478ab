// DeviceJudge: a candidate is compiled, run on data of its own, compared with the kernel's values and timed. Emulated
// devices time a few of its workgroups. A candidate that faults, hangs or is wrong has no time.
#include "strata/runtime/search/search_judge_p.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "strata/codegen/kernel/last_block.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/parallel.h"
#include "strata/core/support/settings.h"

namespace strata::runtime {
namespace {

std::vector<UOp> global_params(UOp sink) {
    std::vector<UOp> found;
    for (UOp u : toposort(sink))
        if (u.is(Op::param) && u.as<ParamArg>().space == Space::global) found.push_back(u);
    std::sort(found.begin(), found.end(), [](UOp a, UOp b) { return a.as<ParamArg>().slot < b.as<ParamArg>().slot; });
    return found;
}

bool is_written(UOp sink, UOp param) {
    return std::ranges::any_of(toposort(sink),
                               [&](UOp u) { return u.is(Op::store) && skip_after(u.src(0).src(0)) == param; });
}

/// Numbers from -0.25 to 1, so that sums do not cancel; they repeat after odd counts, which no schedule's tiles divide.
void fill_random(Buffer& buffer, uint64_t& state) {
    constexpr size_t kPeriod = 1021, kPage = 4096, kPages = 31;
    const size_t width = static_cast<size_t>(buffer.dtype().bytes()), count = static_cast<size_t>(buffer.size());
    std::vector<uint8_t> values(std::min(count, kPeriod) * width);
    for (size_t i = 0; i < values.size() / width; ++i) {
        state = hash_mix(state, i);
        uint64_t bits = encode_scalar(buffer.dtype(), static_cast<double>(state >> 11) * 0x1.4p-53 - 0.25);
        std::memcpy(&values[i * width], &bits, width);
    }
    const size_t period = values.size();
    values.resize(std::min(buffer.bytes(), kPages * kPage));
    for (size_t done = period; done < values.size(); done += period)
        std::memcpy(&values[done], values.data(), std::min(period, values.size() - done));
    if (!values.empty()) buffer.repeat(values);
}

/// Two of one key run the same machine code in the same way.
std::string code_key(const executable::Code& code) {
    const auto object = code.code_object();
    std::string key = content_hash({reinterpret_cast<const char*>(object.data()), object.size()});
    for (const auto& shape : {code.grid, code.block})
        for (uint32_t n : shape) key += fmt::format(" {}", n);
    return key += fmt::format(" {}", code.dynamic_lds);
}

}  // namespace

SearchProgress::SearchProgress(std::string what) : what_(std::move(what)), shown_(isatty(STDERR_FILENO)) {}
SearchProgress::~SearchProgress() {
    if (printed_) fmt::print(stderr, "\r\033[K");
}

void SearchProgress::step(double best_ms) {
    ++done_;
    const auto now = Clock::now();
    const std::chrono::duration<double> took = now - start_;
    if (!shown_ || took.count() < 0.5 || now - last_ < std::chrono::milliseconds(50)) return;
    fmt::print(stderr, "\rsearching {}: {} candidates, {:.0f} a second{}\033[K", what_, done_, done_ / took.count(),
               best_ms > 0 ? fmt::format(", best {:.4f} ms", best_ms) : "");
    std::fflush(stderr);
    last_ = now;
    printed_ = true;
}

DeviceJudge::DeviceJudge(Device& device, const codegen::Kernel& plain, const codegen::Scheduled& start,
                         std::span<const uint64_t> slots, CandidateCompiler& compiler)
    : device_(device), compiler_(compiler), progress_(plain.name), slots_(slots.begin(), slots.end()) {
    uint64_t state = 1;
    for (UOp param : global_params(plain.sink)) {
        const auto slot = static_cast<size_t>(param.as<ParamArg>().slot);
        slots_.resize(std::max(slots_.size(), slot + 1));
        if (is_written(plain.sink, param)) {
            const UOp finish = codegen::finish_of(plain.sink);
            outputs_.push_back({slot, param.dtype(), param.as<ParamArg>().size, finish && is_written(finish, param)});
            continue;
        }
        Buffer& b = *buffers_.emplace_back(std::make_unique<Buffer>(device, param.dtype(), param.as<ParamArg>().size));
        if (param.dtype().is_float())
            fill_random(b, state);
        else
            device.api().memcpy_on_device(device.ordinal(), b.address(), slots[slot], b.bytes()).value();
        slots_[slot] = b.address();
    }
    find_expected(plain, start);
}

std::vector<codegen::Trial> DeviceJudge::judge(std::span<const codegen::Scheduled> candidates) {
    std::vector<codegen::Trial> trials(candidates.size());
    std::vector<codegen::Scheduled> missing;
    std::vector<size_t> places;
    const auto try_at = [&](size_t place, const auto& trial_of) {
        poll_interrupt();
        progress_.step(best_ms_);
        trials[place] = trial_of();
        const std::optional<double> ms = trials[place].ms;
        if (ms && (best_ms_ == 0 || *ms < best_ms_)) best_ms_ = *ms;
    };
    for (size_t i = 0; i < candidates.size(); ++i)
        if (const auto found = loaded_.find(candidates[i].kernel.sink); found != loaded_.end())
            try_at(i, [&] { return once(found->second->code, [&] { return found->second; }); });
        else
            missing.push_back(candidates[i]), places.push_back(i);
    compile(missing, [&](size_t i, Result<executable::Code> compiled, size_t in_flight) {
        Settings how = settings();
        // Where all other cores compile for as long as this runs, who runs workgroups beside waits for one, and this
        // thread for him.
        const size_t others = core_count() - 1;
        if (in_flight >= 2 * others) how.emu_threads = 1;
        const ScopedSettings scope(std::move(how));
        try_at(places[i], [&] { return try_one(candidates[places[i]].kernel.sink, std::move(compiled)); });
    });
    return trials;
}

/// On a card, where the time between two events is measured, all before the first is tried: a busy host is late with
/// launches.
void DeviceJudge::compile(std::span<const codegen::Scheduled> candidates,
                          const std::function<void(size_t, Result<executable::Code>, size_t)>& use) {
    if (device_.time_is_modelled()) return compiler_.each(candidates, use);
    std::vector<Result<executable::Code>> all;
    compiler_.each(candidates, [&](size_t, Result<executable::Code> one, size_t) { all.push_back(std::move(one)); });
    for (size_t i = 0; i < all.size(); ++i) use(i, std::move(all[i]), 0);
}

std::string DeviceJudge::objection(const codegen::Scheduled& best) {
    if (best.kernel.sink == trusted_) return {};
    try {
        if (known_ == Extent::part) expect(Extent::whole);
        if (best.kernel.sink == fastest_.first) keep_program(device_, fastest_.first, fastest_.second);
        launch(*load(best), Extent::whole, 0, slots_);
        return *difference(false);
    } catch (const Exception& e) {
        return e.what();
    }
}

/// The heuristic's schedule computes fast what the unoptimised kernel confirms at a spread of places; where it does
/// not, the unoptimised kernel computes all. Of an emulated device a part is computed until more is needed. Few
/// workgroups of the unoptimised kernel run, some of which are much work. Its time is theirs unless it is near the
/// heuristic's; then it is timed again.
void DeviceJudge::find_expected(const codegen::Kernel& plain, const codegen::Scheduled& start) {
    constexpr double kClearlySlower = 1.5;
    const std::array both{codegen::Scheduled{plain, {}}, start};
    try {
        (void)programs(device_, both);
    } catch (const Exception&) {  // what of them compiles is found, or refused, one by one
    }
    const Loaded unoptimised = loaded_[plain.sink] = load(both[0]);
    try {
        right_ = load(start);
        const double start_ms = expect(device_.time_is_modelled() ? Extent::part : Extent::whole);
        double ms = 0;
        if (check(*unoptimised, 0, ms, Sample::sparse).empty()) {
            trusted_ = start.kernel.sink;
            loaded_[trusted_] = right_;
            if (!device_.time_is_modelled()) return;
            if (ms > kClearlySlower * start_ms) by_code_[code_key(unoptimised->code)] = {ms, {}};
            if (known_ == Extent::part) by_code_[code_key(right_->code)] = {start_ms, {}};
            return;
        }
    } catch (const Exception&) {  // it is judged like any other, and refused
    }
    right_ = unoptimised;
    expect(Extent::whole);
    trusted_ = plain.sink;
}

double DeviceJudge::expect(Extent extent) {
    std::vector<uint64_t> slots = slots_;
    for (Output& output : outputs_) {
        output.reference.reset();
        output.buffer = std::make_unique<Buffer>(device_, output.type, output.size);
        output.reference = std::make_unique<ReferenceOutput>(*output.buffer, extent);
        slots_[output.slot] = output.buffer->address();
        slots[output.slot] = output.reference->right().address();
    }
    known_ = extent;
    const double ms = launch(*right_, extent, 0, slots);
    for (const Output& output : outputs_) output.reference->take();
    return ms;
}

std::optional<std::string> DeviceJudge::difference(bool partly) {
    std::string wrong;
    bool known = true;
    for (const Output& output : outputs_) {
        std::optional<std::string> of_one = output.reference->difference(partly);
        if (partly && output.at_last) continue;
        known &= of_one.has_value();
        if (of_one && wrong.empty()) wrong = *std::move(of_one);
    }
    return known || !wrong.empty() ? std::optional(std::move(wrong)) : std::nullopt;
}

std::string DeviceJudge::check(const Program& program, uint64_t wave_budget, double& ms, Sample sample) {
    ms = launch(program, Extent::part, wave_budget, slots_, sample);
    if (std::optional<std::string> wrong = difference(true)) return *std::move(wrong);
    expect(Extent::whole);
    ms = launch(program, Extent::part, wave_budget, slots_, sample);
    return *difference(true);
}

DeviceJudge::Loaded DeviceJudge::load(const codegen::Scheduled& scheduled) {
    return programs(device_, std::span(&scheduled, 1))[0];
}

double DeviceJudge::launch(const Program& program, Extent extent, uint64_t wave_budget, std::span<const uint64_t> slots,
                           Sample sample) {
    Settings how = settings();
    how.emu_sampled = extent == Extent::part;
    how.emu_timed = extent == Extent::part;
    if (wave_budget && (how.emu_budget == 0 || wave_budget < how.emu_budget)) how.emu_budget = wave_budget;
    const ScopedSettings scope(std::move(how));
    return program.launch(slots, Wait::yes, sample).time_ms;
}

/// Instructions that a wave of a candidate may run. One that runs more takes longer than the best so far, since an
/// instruction takes a cycle at least.
uint64_t DeviceJudge::wave_budget() const {
    constexpr double kMostCyclesPerMs = 4e6;
    if (best_ms_ == 0 || !device_.time_is_modelled()) return 0;
    return static_cast<uint64_t>(best_ms_ * kMostCyclesPerMs) + 1;
}

/// The median of a few launches after one that warms up, none of which finds its data in caches. One that is slow at
/// once is not run again.
double DeviceJudge::measured(const Program& program) {
    constexpr double kHopeless = 3;
    std::array<double, 5> times{};
    for (double& ms : times) {
        flush_caches();
        ms = launch(program, Extent::whole, 0, slots_);
        if (best_ms_ > 0 && times[0] > kHopeless * best_ms_) return times[0];
    }
    std::ranges::nth_element(times, times.begin() + times.size() / 2);
    return times[times.size() / 2];
}

void DeviceJudge::flush_caches() {
    constexpr int64_t kMoreThanCaches = 256 << 20;
    if (!flush_) flush_ = std::make_unique<Buffer>(device_, dtypes::uint8, kMoreThanCaches);
    device_.api().memset(device_.ordinal(), flush_->address(), 0, flush_->bytes()).value();
}

codegen::Trial DeviceJudge::try_one(UOp sink, Result<executable::Code> compiled) {
    if (!compiled) return {{}, compiled.error().message};
    std::shared_ptr<Program> program;
    codegen::Trial trial = once(*compiled, [&] { return program = Program::load(device_, *std::move(compiled)); });
    if (program && trial.ms && (best_ms_ == 0 || *trial.ms < best_ms_)) fastest_ = {sink, std::move(program)};
    return trial;
}

codegen::Trial DeviceJudge::once(const executable::Code& code, const std::function<Loaded()>& load) {
    const auto [at, first] = by_code_.try_emplace(code_key(code));
    if (first) at->second = run(load);
    return at->second;
}

codegen::Trial DeviceJudge::run(const std::function<Loaded()>& load) {
    const uint64_t most = wave_budget();
    try {
        const Loaded program = load();
        double ms = 0;
        if (std::string wrong = check(*program, most, ms); !wrong.empty()) return {{}, std::move(wrong)};
        if (!device_.time_is_modelled()) ms = measured(*program);
        return {ms, {}};
    } catch (const OverBudget& e) {
        (void)difference(true);  // what it wrote before it was stopped is gone
        return {{}, e.what(), most && (settings().emu_budget == 0 || most < settings().emu_budget)};
    } catch (const Exception& e) {
        (void)difference(true);
        return {{}, e.what()};
    }
}

}  // namespace strata::runtime
