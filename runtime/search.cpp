// choose_schedule: the device's side of the beam search. A candidate is compiled, run on data of its own, compared with what the
// kernel computes and timed, on emulated devices by a few of its workgroups; one that faults, hangs or is wrong has no time. A
// winner is run in full before it wins, and kept on disk.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "strata/runtime/search.h"

#include "strata/codegen/compile/compile_kernel.h"
#include "strata/codegen/compile/route.h"
#include "strata/codegen/optimize/beam.h"
#include "strata/core/support/disk_cache.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/expected_p.h"
#include "strata/runtime/program.h"

namespace strata::runtime {
namespace {

constexpr int kSearchVersion = 3;  // part of the key: older winners were judged by other rules

std::vector<UOp> global_params(UOp sink) {
    std::vector<UOp> found;
    for (UOp u : toposort(sink))
        if (u.is(Op::param) && u.as<ParamArg>().space == Space::global) found.push_back(u);
    std::sort(found.begin(), found.end(), [](UOp a, UOp b) { return a.as<ParamArg>().slot < b.as<ParamArg>().slot; });
    return found;
}

/// Numbers from -0.25 to 1, so that sums do not cancel; they repeat after an odd count, which no schedule's tiles
/// divide.
void fill_random(Buffer& buffer, uint64_t& state) {
    constexpr size_t kPeriod = 65537;
    const size_t width = static_cast<size_t>(buffer.dtype().bytes()), count = static_cast<size_t>(buffer.size());
    std::vector<uint8_t> values(std::min(count, kPeriod) * width);
    for (size_t i = 0; i < values.size() / width; ++i) {
        state = hash_mix(state, i);
        uint64_t bits = encode_scalar(buffer.dtype(), static_cast<double>(state >> 11) * 0x1.4p-53 - 0.25);
        std::memcpy(&values[i * width], &bits, width);
    }
    buffer.copy_in(values.data(), values.size());
    Device& device = buffer.device();
    for (size_t done = values.size(); done < buffer.bytes(); done += values.size())
        device.api()
            .memcpy_on_device(device.ordinal(), buffer.address() + done, buffer.address(),
                              std::min(values.size(), buffer.bytes() - done))
            .value();
}

/// A line on a terminal that says how far a long search is; erased at the end.
class Progress {
  public:
    explicit Progress(std::string what) : what_(std::move(what)), shown_(isatty(STDERR_FILENO)) {}
    ~Progress() {
        if (printed_) fmt::print(stderr, "\r\033[K");
    }
    void step(size_t done, size_t total) {
        if (!shown_ || std::chrono::steady_clock::now() - start_ < std::chrono::milliseconds(500)) return;
        fmt::print(stderr, "\rsearching {}: candidate {} of {}, {} before\033[K", what_, done + 1, total, earlier_);
        std::fflush(stderr);
        printed_ = true;
        if (done + 1 == total) earlier_ += total;
    }

  private:
    std::string what_;
    bool shown_, printed_ = false;
    size_t earlier_ = 0;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class DeviceJudge : public codegen::Judge {
  public:
    /// `slots` are a launch's: integers are read from its memory, since they may be indices; floats are drawn at random.
    DeviceJudge(Device& device, const codegen::Kernel& plain, std::span<const uint64_t> slots)
        : device_(device), progress_(plain.name), slots_(slots.begin(), slots.end()) {
        uint64_t state = 1;
        for (UOp param : global_params(plain.sink)) {
            size_t slot = static_cast<size_t>(param.as<ParamArg>().slot);
            buffers_.push_back(std::make_unique<Buffer>(device, param.dtype(), param.as<ParamArg>().size));
            Buffer& b = *buffers_.back();
            slots_.resize(std::max(slots_.size(), slot + 1));
            slots_[slot] = b.address();
            if (slot == 0) continue;
            if (!param.dtype().is_float()) {
                device.api().memcpy_on_device(device.ordinal(), b.address(), slots[slot], b.bytes()).value();
                continue;
            }
            fill_random(b, state);
        }
        expected_.emplace(*buffers_[0]);
        find_expected(plain);
    }

    std::vector<codegen::Trial> judge(std::span<const codegen::Scheduled> candidates) override {
        std::vector<Result<codegen::Compiled>> compiled = codegen::compile_kernels(candidates, target_of(device_));
        std::vector<codegen::Trial> trials;
        for (size_t i = 0; i < candidates.size(); ++i) {
            poll_interrupt();
            progress_.step(i, candidates.size());
            trials.push_back(try_one(compiled[i]));
        }
        return trials;
    }

    std::string objection(const codegen::Scheduled& winner) override {
        if (winner.kernel.sink == trusted_) return {};
        try {
            launch(*load(winner), Extent::whole);
            return expected_->difference(false);
        } catch (const Exception& e) {
            return e.what();
        }
    }

  private:
    enum class Extent : uint8_t { whole, sample };

    /// The heuristic's schedule computes in full, and fast, what the unoptimised kernel confirms at a spread of places; where it
    /// does not, the unoptimised kernel computes all.
    void find_expected(const codegen::Kernel& plain) {
        const auto unoptimised = load({plain, {}});
        const codegen::Scheduled start = codegen::heuristic(plain, target_of(device_));
        try {
            launch(*load(start), Extent::whole);
            expected_->take();
            launch(*unoptimised, Extent::sample);
            if (expected_->difference(true).empty()) trusted_ = start.kernel.sink;
        } catch (const Exception&) {  // it is judged like any other, and refused
        }
        if (trusted_) return;
        launch(*unoptimised, Extent::whole);
        expected_->take();
        trusted_ = plain.sink;
    }

    std::shared_ptr<const Program> load(const codegen::Scheduled& scheduled) {
        return programs(device_, std::span(&scheduled, 1))[0];
    }

    double launch(const Program& program, Extent extent) {
        Settings how = settings();
        how.emu_sampled = extent == Extent::sample;
        how.emu_timed = extent == Extent::sample;
        const ScopedSettings scope(std::move(how));
        return program.launch(slots_).time_ms;
    }

    codegen::Trial try_one(Result<codegen::Compiled>& compiled) {
        if (!compiled) return {{}, compiled.error().message};
        try {
            const auto program = Program::load(device_, *std::move(compiled));
            const double ms = launch(*program, Extent::sample);
            if (std::string wrong = expected_->difference(true); !wrong.empty()) return {{}, std::move(wrong)};
            return {ms, {}};
        } catch (const Exception& e) {
            return {{}, e.what()};
        }
    }

    Device& device_;
    Progress progress_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::vector<uint64_t> slots_;  ///< numbers as they were given
    std::optional<Expected> expected_;
    UOp trusted_;  ///< the schedule that computed it
};

std::string search_key(Device& device, const codegen::Target& target, const codegen::Kernel& kernel) {
    return fmt::format("schedule v{} {} {} {} beam={} actions {}\n{}", kSearchVersion, device.name(),
                       name(target.route), settings().emu_model, settings().beam, content_hash(codegen::action_rules()),
                       tree(kernel.sink));
}

}  // namespace

codegen::Scheduled choose_schedule(Device& device, const codegen::Kernel& kernel, std::span<const uint64_t> slots) {
    const codegen::Target target = target_of(device);
    if (settings().beam == 0) return codegen::heuristic(kernel, target);
    Settings plain = settings();  // candidates are timed, and are nothing that strict mode is to tell of
    plain.check = "off";
    plain.check_races = false;
    const ScopedSettings scope(std::move(plain));
    DiskCache disk = DiskCache::of_settings();
    std::string key = search_key(device, target, kernel);
    if (std::optional<std::string> kept = disk.get(CacheKind::schedules, key))
        if (auto actions = codegen::parse_actions(*kept))
            if (auto scheduled = codegen::apply_all(kernel, *actions, target)) return {*scheduled, *actions};
    DeviceJudge judge(device, kernel, slots);
    codegen::SearchResult found = codegen::beam_search(kernel, target, settings().beam, judge).value();
    if (settings().debug >= 1)
        fmt::print(stderr, "search {}: {} tried, {} rejected, {:.4f} -> {:.4f} ms: {}\n", kernel.name, found.tried,
                   found.rejected, found.start_ms, found.ms, codegen::to_string(found.best.actions));
    if (settings().debug >= 2)
        for (const std::string& why : found.rejections) fmt::print(stderr, "  rejected {}\n", why);
    disk.put(CacheKind::schedules, key, codegen::to_string(found.best.actions));
    return found.best;
}

}  // namespace strata::runtime
