// choose_schedule: the device's side of the beam search. A candidate is compiled, run on data of its own, compared with
// the unoptimised kernel and timed; a candidate that faults, hangs or is wrong has no time. Winners are kept on disk.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "strata/runtime/search.h"

#include "strata/codegen/compile/compile_kernel.h"
#include "strata/codegen/compile/route.h"
#include "strata/codegen/optimize/beam.h"
#include "strata/core/support/disk_cache.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/interrupt.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/program.h"

namespace strata::runtime {
namespace {

constexpr int kSearchVersion = 2;  // part of the key: older winners were judged by other rules

std::vector<UOp> global_params(UOp sink) {
    std::vector<UOp> found;
    for (UOp u : toposort(sink))
        if (u.is(Op::param) && u.as<ParamArg>().space == Space::global) found.push_back(u);
    std::sort(found.begin(), found.end(), [](UOp a, UOp b) { return a.as<ParamArg>().slot < b.as<ParamArg>().slot; });
    return found;
}

/// Largest difference that a reordered sum may make, relative to the largest value of the result.
double tolerance(DType type) {
    if (!type.is_float()) return 0;
    return 16 * std::sqrt(1024.0) * std::ldexp(1.0, -type.mantissa_bits() - 1);
}

/// Numbers from -0.25 to 1, so that sums do not cancel; they repeat after an odd count, which no schedule's tiles
/// divide.
void fill_random(Buffer& buffer, uint64_t& state) {
    constexpr size_t kPeriod = 65537;
    size_t width = static_cast<size_t>(buffer.dtype().bytes()), count = static_cast<size_t>(buffer.size());
    std::vector<uint8_t> values(buffer.bytes());
    for (size_t i = 0; i < std::min(count, kPeriod); ++i) {
        state = hash_mix(state, i);
        uint64_t bits = encode_scalar(buffer.dtype(), static_cast<double>(state >> 11) * 0x1.4p-53 - 0.25);
        std::memcpy(&values[i * width], &bits, width);
    }
    for (size_t done = kPeriod; done < count; done += kPeriod)
        std::memcpy(&values[done * width], values.data(), std::min(kPeriod, count - done) * width);
    buffer.copy_in(values.data(), values.size());
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
        const codegen::Scheduled unoptimised{plain, {}};
        expected_ = run(*programs(device, std::span(&unoptimised, 1))[0], nullptr);
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

  private:
    codegen::Trial try_one(Result<codegen::Compiled>& compiled) {
        if (!compiled) return {{}, compiled.error().message};
        try {
            auto program = Program::load(device_, *std::move(compiled));
            double ms = 0;
            std::vector<double> got = run(*program, &ms);
            double most = 0, worst = 0;
            bool agree = true;
            for (size_t i = 0; i < got.size(); ++i) {
                if (std::isfinite(expected_[i])) most = std::max(most, std::fabs(expected_[i]));
                if (std::isfinite(expected_[i]) && std::isfinite(got[i]))
                    worst = std::max(worst, std::fabs(got[i] - expected_[i]));
                else
                    agree &= got[i] == expected_[i] || (std::isnan(got[i]) && std::isnan(expected_[i]));
            }
            if (!agree || worst > most * tolerance(buffers_[0]->dtype()))
                return {{}, fmt::format("wrong result: off by {:g} where values reach {:g}", worst, most)};
            return {ms, {}};
        } catch (const Exception& e) {
            return {{}, e.what()};
        }
    }

    std::vector<double> run(const Program& program, double* ms) {
        Buffer& out = *buffers_[0];
        device_.api().memset(device_.ordinal(), out.address(), 0xa5, out.bytes()).value();
        double time_ms = program.launch(slots_).time_ms;
        if (ms) *ms = time_ms;
        std::vector<uint8_t> bytes(out.bytes());
        out.copy_out(bytes.data(), bytes.size());
        std::vector<double> values(static_cast<size_t>(out.size()));
        size_t width = static_cast<size_t>(out.dtype().bytes());
        for (size_t i = 0; i < values.size(); ++i) {
            uint64_t bits = 0;
            std::memcpy(&bits, &bytes[i * width], width);
            values[i] = decode_scalar(out.dtype(), bits);
        }
        return values;
    }

    Device& device_;
    Progress progress_;
    std::vector<std::unique_ptr<Buffer>> buffers_;
    std::vector<uint64_t> slots_;  ///< numbers as they were given
    std::vector<double> expected_;
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
    plain.emu_timed = true;
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
