#include "strata/runtime/launch_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "strata/core/support/settings.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/kernel_call.h"
#include "strata/runtime/replay.h"
#include "strata/runtime/run_program_p.h"

namespace strata::runtime {

LaunchPlan::LaunchPlan(std::span<const PlannedStep> steps, std::span<const UOp> inputs, std::span<const UOp> roots,
                       Loaded& programs)
    : inputs_(inputs.size()) {
    UOpMap<uint32_t> positions;
    const auto position = [&](UOp buffer) {
        const auto [at, first] = positions.try_emplace(buffer, static_cast<uint32_t>(positions.size()));
        if (first && at->second >= inputs_)
            memory_.push_back({.dtype = buffer.dtype(), .size = buffer.as<BufferArg>().size});
        return at->second;
    };
    for (UOp input : inputs) position(input);
    std::unordered_map<const Program*, uint32_t> kernels;
    for (const PlannedStep& step : steps) {
        Step& made = steps_.emplace_back(Step{.kernel = kCopy, .memory = {}, .numbers = step.numbers, .freed = {}});
        if (step.program) {
            const auto [at, first] = kernels.try_emplace(step.program.get(), static_cast<uint32_t>(kernels_.size()));
            if (first) {
                kernels_.push_back({step.program_key, step.program});
                programs.push_back(step.program);
            }
            made.kernel = at->second;
        } else if (step.call >= 0) {
            made.kernel = kCall, made.call = static_cast<uint32_t>(step.call);
        }
        for (UOp buffer : step.buffers) {
            made.memory.push_back(position(buffer));
            made.bytes += static_cast<uint64_t>(buffer.as<BufferArg>().size * buffer.dtype().bytes());
        }
        for (UOp held : step.held) made.held.push_back(held ? view_of(held, position(buffer_under(held))) : View());
    }
    for (UOp root : roots) roots_.push_back(view_of(root, position(buffer_under(root))));
    const std::vector<size_t> last_use = last_uses();
    find_heirs(steps, last_use);
    place_scratch(last_use);
    if (settings().verify) verify(steps);
}

LaunchPlan::View LaunchPlan::view_of(UOp u, uint32_t memory) {
    View view{.memory = memory};
    for (; info(u.op()).is(kMovement); u = u.src(0)) view.movements.push_back({u.op(), u.arg()});
    STRATA_CHECK(u.is(Op::buffer), "a result is no view of memory: {}", to_string(u));
    std::ranges::reverse(view.movements);
    if (memory >= inputs_) memory_[memory - inputs_].result = true;
    return view;
}

std::vector<size_t> LaunchPlan::last_uses() const {
    std::vector<size_t> last_use(memory_.size());
    for (size_t s = 0; s < steps_.size(); ++s)
        for (uint32_t at : steps_[s].memory)
            if (at >= inputs_) last_use[at - inputs_] = s;
    return last_use;
}

void LaunchPlan::find_heirs(std::span<const PlannedStep> steps, std::span<const size_t> last_use) {
    std::vector<bool> taken(memory_.size());
    for (size_t s = 0; s < steps_.size(); ++s) {
        for (const executable::InPlace& pair : steps[s].in_place) {
            const uint32_t to = steps_[s].memory[static_cast<size_t>(pair.output)],
                           from = steps_[s].memory[static_cast<size_t>(pair.input)];
            if (to < inputs_ || from < inputs_ || taken[to - inputs_]) continue;
            Memory& dying = memory_[from - inputs_];
            if (dying.result || dying.heir != kNoPlace || last_use[from - inputs_] != s) continue;
            dying.heir = to - static_cast<uint32_t>(inputs_);
            taken[dying.heir] = true;
        }
    }
}

uint32_t LaunchPlan::last_heir(uint32_t at) const {
    while (memory_[at].heir != kNoPlace) at = memory_[at].heir;
    return at;
}

std::vector<LaunchPlan::Life> LaunchPlan::lives() const {
    const std::vector<size_t> last_use = last_uses();
    std::vector<Life> lives(memory_.size());
    for (size_t i = 0; i < memory_.size(); ++i)
        lives[i] = {memory_[i].bytes(), steps_.size(), memory_[i].result ? steps_.size() : last_use[i],
                    memory_[i].heir == kNoPlace ? -1 : static_cast<int>(memory_[i].heir)};
    for (size_t s = steps_.size(); s-- > 0;)
        for (uint32_t at : steps_[s].memory)
            if (at >= inputs_) lives[at - inputs_].first = s;
    return lives;
}

std::vector<size_t> LaunchPlan::bytes_at() const {
    std::vector<size_t> bytes(steps_.size() + 2);
    for (const Life& life : lives()) {
        if (life.first == steps_.size()) continue;  // nothing fills it: it has no elements
        bytes[life.first] += life.bytes;
        bytes[life.heir < 0 ? life.last + 1 : life.last] -=
            life.bytes;  // what is filled over it has its bytes from then on
    }
    std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
    bytes.resize(steps_.size());
    return bytes;
}

/// Memory that a step fills takes the place of memory of the same size that earlier steps were the last to use, where
/// keeping that until then makes no peak higher.
void LaunchPlan::place_scratch(std::span<const size_t> last_use) {
    constexpr size_t kLongest = 256;  // steps that a place waits for what is filled in it next
    std::vector<size_t> held = bytes_at();
    const size_t peak = held.empty() ? 0 : *std::ranges::max_element(held);
    std::map<size_t, std::vector<uint32_t>> vacant;  // by bytes, the last one vacated last
    std::vector<size_t> place_free_at;
    const auto place_for = [&](size_t bytes, size_t step) {
        std::vector<uint32_t>& fits = vacant[bytes];
        if (!fits.empty()) {
            const auto from = held.begin() + static_cast<ptrdiff_t>(place_free_at[fits.back()]) + 1,
                       to = held.begin() + static_cast<ptrdiff_t>(step);
            const bool may_wait = to - from <= static_cast<ptrdiff_t>(kLongest) &&
                                  std::all_of(from, to, [&](size_t now) { return now + bytes <= peak; });
            if (may_wait) {
                std::for_each(from, to, [&](size_t& now) { now += bytes; });
                const uint32_t place = fits.back();
                fits.pop_back();
                return place;
            }
        }
        place_free_at.push_back(0);
        return places_++;
    };
    for (size_t s = 0; s < steps_.size(); ++s) {
        for (uint32_t at : steps_[s].memory) {
            if (at < inputs_ || memory_[at - inputs_].result || memory_[at - inputs_].place != kNoPlace) continue;
            const uint32_t last = last_heir(at - static_cast<uint32_t>(inputs_));
            if (memory_[last].result) continue;
            Memory& memory = memory_[at - inputs_];
            if (memory.place = memory_[last].place; memory.place != kNoPlace) continue;
            memory_[last].place = memory.place = place_for(memory.bytes(), s);
            place_free_at[memory.place] = last_use[last];
        }
        for (uint32_t at : steps_[s].memory) {
            if (at < inputs_ || memory_[at - inputs_].place == kNoPlace || last_use[at - inputs_] != s ||
                memory_[at - inputs_].heir != kNoPlace)
                continue;
            vacant[memory_[at - inputs_].bytes()].push_back(memory_[at - inputs_].place);
        }
    }
    for (uint32_t place = 0; place < places_; ++place) steps_[place_free_at[place]].freed.push_back(place);
}

void LaunchPlan::verify(std::span<const PlannedStep> steps) const {
    using Room = std::pair<bool, uint32_t>;  // scratch, and its number; else a position
    const auto room_of = [&](uint32_t at) {
        if (at < inputs_) return Room(false, at);
        const uint32_t last = last_heir(at - static_cast<uint32_t>(inputs_)), place = memory_[last].place;
        return place == kNoPlace ? Room(false, last + static_cast<uint32_t>(inputs_)) : Room(true, place);
    };
    std::map<Room, uint32_t> held;  // the value, by position
    std::vector<bool> filled(inputs_ + memory_.size());
    for (uint32_t at = 0; at < inputs_; ++at) held[room_of(at)] = at, filled[at] = true;
    for (size_t s = 0; s < steps_.size(); ++s) {
        const std::vector<uint32_t>& memory = steps_[s].memory;
        std::vector<size_t> outputs;
        for (size_t slot = 0; slot < memory.size(); ++slot) {
            if (!filled[memory[slot]])
                outputs.push_back(slot);
            else
                STRATA_CHECK(held.at(room_of(memory[slot])) == memory[slot],
                             "step {} reads memory {}, in which is {} by now", s, memory[slot],
                             held.at(room_of(memory[slot])));
        }
        for (size_t output : outputs) {
            // What it overwrites; of what that had overwritten in turn, its own step was asked.
            const auto before = held.find(room_of(memory[output]));
            const auto slot = before == held.end() ? memory.end() : std::ranges::find(memory, before->second);
            const bool may =
                slot == memory.end() || std::ranges::any_of(steps[s].in_place, [&](executable::InPlace pair) {
                    return pair.output == static_cast<int>(output) && pair.input == slot - memory.begin();
                });
            STRATA_CHECK(may, "step {} fills slot {} in the memory of slot {}", s, output, slot - memory.begin());
            held[room_of(memory[output])] = memory[output];
            filled[memory[output]] = true;
        }
    }
    for (const View& root : roots_) {
        const auto now = held.find(room_of(root.memory));  // nothing fills a result of no elements
        STRATA_CHECK(now == held.end() || now->second == root.memory, "result {} is overwritten", root.memory);
    }
}

size_t LaunchPlan::bytes() const {
    size_t bytes = sizeof *this + kernels_.size() * sizeof(Kernel) + memory_.size() * sizeof(Memory) +
                   roots_.size() * sizeof(View);
    for (const Step& step : steps_)
        bytes += sizeof step + step.memory.size() * 4 + step.numbers.size() * sizeof(LaunchNumber);
    return bytes;
}

std::optional<LaunchPlan::Loaded> LaunchPlan::programs(const Device& device) const {
    Loaded loaded;
    for (const Kernel& kernel : kernels_) {
        loaded.push_back(context().programs.find(kernel.key, device));
        if (!loaded.back() || loaded.back() != kernel.program.lock()) return std::nullopt;
    }
    return loaded;
}

void PlannedCall::run(std::span<const std::shared_ptr<Buffer>> memory, std::vector<Root> held) const {
    run_call(*kernel, memory);
    if (!kernel->tells_writes()) context().results.forget_all();
    context().custom.remember(node, std::move(held));
}

/// One run of a plan: what its memory is.
class PlanRun {
  public:
    PlanRun(const LaunchPlan& plan, Device& device, const LaunchPlan::Loaded& programs, std::span<const UOp> inputs,
            std::span<const PlannedCall> calls)
        : plan_(plan),
          programs_(programs),
          calls_(calls),
          device_(device),
          shares_(settings().check == "off" && !settings().check_races),
          nodes_(inputs.begin(), inputs.end()),
          scratch_(plan.places_) {
        for (UOp input : inputs) memory_.push_back(find_buffer(input));
        nodes_.resize(inputs.size() + plan.memory_.size());
        memory_.resize(nodes_.size());
        for (size_t i = 0; i < plan.memory_.size(); ++i) {
            const LaunchPlan::Memory& made = plan.memory_[i];
            const size_t at = inputs.size() + i;
            if (!made.result) continue;
            nodes_[at] = new_buffer(device, made.dtype, made.size);
            kept_.emplace_back(nodes_[at]);
            memory_[at] = find_buffer(nodes_[at]);
        }
    }

    void run(const LaunchPlan::Step& step, std::span<const uint64_t> numbers) {
        if (step.kernel == LaunchPlan::kCopy) {
            copy_memory(memory(step.memory[1]), memory(step.memory[0]));
        } else if (step.kernel == LaunchPlan::kCall) {
            call(step);
        } else {
            std::vector<uint64_t> slots;
            slots.reserve(step.memory.size() + step.numbers.size());
            for (uint32_t at : step.memory) {
                slots.push_back(memory(at).address());
                memory(at).order(at >= plan_.inputs_);
            }
            for (const LaunchNumber& number : step.numbers)
                slots.push_back(number.place < 0 ? number.bits : numbers[static_cast<size_t>(number.place)]);
            const Program& program = *programs_[step.kernel];
            if (Recorder* recorder = Recorder::active()) record(*recorder, step, slots);
            run_program(program, {program.code.grid, program.code.block}, step.bytes,
                        [&] { return program.launch(slots, wait_for(device_)); });
        }
        for (uint32_t place : step.freed) scratch_[place].reset();
    }

    void call(const LaunchPlan::Step& step) {
        std::vector<Root> held;
        for (const LaunchPlan::View& kept : step.held)
            held.push_back(kept.memory == LaunchPlan::kNoPlace ? Root() : view(kept));
        calls_[step.call].run(buffers(step), std::move(held));
    }

    Root view(const LaunchPlan::View& view) const {
        UOp u = nodes_[view.memory];
        for (const LaunchPlan::Movement& m : view.movements) u = make(m.op, u.dtype(), {u}, m.arg);
        return Root(u);
    }

  private:
    std::vector<std::shared_ptr<Buffer>> buffers(const LaunchPlan::Step& step) {
        std::vector<std::shared_ptr<Buffer>> used;
        for (uint32_t at : step.memory) used.push_back(memory(at).shared_from_this());
        return used;
    }

    void record(Recorder& recorder, const LaunchPlan::Step& step, std::span<const uint64_t> slots) {
        const std::vector<std::shared_ptr<Buffer>> used = buffers(step);
        recorder.launched(programs_[step.kernel], used, slots.subspan(used.size()));
    }

    /// Strict mode sees each value in memory of its own, or over the input that it is written over.
    Buffer& memory(uint32_t at) {
        std::shared_ptr<Buffer>& known = memory_[at];
        if (known && (at < plan_.inputs_ || plan_.memory_[at - plan_.inputs_].result)) return *known;
        const LaunchPlan::Memory& made = plan_.memory_[at - plan_.inputs_];
        std::shared_ptr<Buffer>& last =
            memory_[plan_.inputs_ + plan_.last_heir(at - static_cast<uint32_t>(plan_.inputs_))];
        if (made.place == LaunchPlan::kNoPlace) return *last;
        std::shared_ptr<Buffer>& held = shares_ ? scratch_[made.place] : last;
        if (!held) held = std::make_shared<Buffer>(device_, made.dtype, made.size);
        return *held;
    }

    const LaunchPlan& plan_;
    const LaunchPlan::Loaded& programs_;
    std::span<const PlannedCall> calls_;
    Device& device_;
    bool shares_;
    std::vector<UOp> nodes_;  ///< by position; none of scratch memory
    std::vector<std::shared_ptr<Buffer>> memory_, scratch_;
    std::vector<Root> kept_;
};

std::vector<Root> LaunchPlan::run(Device& device, const Loaded& programs, std::span<const UOp> inputs,
                                  std::span<const uint64_t> numbers, std::span<const PlannedCall> calls) const {
    PlanRun run(*this, device, programs, inputs, calls);
    for (const Step& step : steps_) run.run(step, numbers);
    std::vector<Root> views;
    for (const View& root : roots_) views.push_back(run.view(root));
    return views;
}

}  // namespace strata::runtime
