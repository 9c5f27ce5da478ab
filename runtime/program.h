#pragma once
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "strata/asm/object/source_places.h"
#include "strata/codegen/optimize/action.h"
#include "strata/codegen/target/target.h"
#include "strata/core/support/mutex.h"
#include "strata/executable/code.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/custom.h"
#include "strata/runtime/pending_time.h"

namespace strata::runtime {

/// The time of one launch on the device, and its provider's report.
struct Launched {
    double time_ms;  ///< 0 where it was not waited for
    providers::LaunchReport report;
    std::unique_ptr<PendingTime> time = {};  ///< with Wait::timed
};

/// True if a launch returns once it ran, with its time, or before; timed: before, and its time can be read later.
enum class Wait : uint8_t { no, timed, yes };
/// Which workgroups run of an emulated launch with settings().emu_sampled. sparse: the first, the last and one between.
enum class Sample : uint8_t { usual, sparse };

class InterpretedProgram;

/// A launch was ended since a wave ran as many instructions as settings().emu_budget allows.
class OverBudget : public Exception {
    using Exception::Exception;
};

/// A code object on a device.
class Module {
  public:
    Module(Device& device, std::span<const uint8_t> code_object);
    ~Module();
    Module(const Module&) = delete;
    Device& device() const { return device_; }
    providers::ModuleHandle* handle() const { return handle_; }

  private:
    Device& device_;
    providers::ModuleHandle* handle_;
};

/// A kernel on a device, ready to launch.
class Program {
  public:
    /// Loads the code object; Launch error when the entry is not in it.
    static std::shared_ptr<Program> load(Device& device, executable::Code code);
    /// A kernel's graph on a device that interprets it. Errors (Usage): a graph that is no kernel.
    static std::shared_ptr<Program> of_graph(Device& device, const codegen::Kernel& kernel, isa::SourcePlaces places);
    /// The same of a code object that is loaded already.
    static std::shared_ptr<Program> of_module(std::shared_ptr<Module> module, executable::Code code);

    /// Runs over device memory: of each slot the address of its buffer, or the bits of its number. Throws what the
    /// device reports, as OverBudget what its budget ended; of what was not waited for, the next call that waits throws
    /// it.
    Launched launch(std::span<const uint64_t> slots, Wait wait = Wait::yes, Sample sample = Sample::usual) const;
    /// Runs with the explicit part of the kernarg segment as it is given. `asked`: of an emulated device.
    Launched launch(const LaunchShape& shape, std::span<const uint8_t> arguments, Wait wait = Wait::yes,
                    Sample sample = Sample::usual, providers::LaunchRequest asked = {}) const;

    const Device& device() const { return device_; }
    providers::FunctionHandle* function() const { return function_; }
    /// Calls take(std::span<const uint8_t>) with the explicit part of the kernarg segment.
    template <class Take>
    auto with_arguments(std::span<const uint64_t> slots, const Take& take) const {
        if (code.places.empty())
            return take(std::span(reinterpret_cast<const uint8_t*>(slots.data()), slots.size_bytes()));
        alignas(uint64_t) std::array<uint8_t, 256> few;
        std::vector<uint8_t> many;
        const size_t bytes = executable::bytes_of(code.places);
        if (bytes > few.size()) many.resize(bytes);
        const std::span<uint8_t> packed = many.empty() ? std::span(few).first(bytes) : std::span(many);
        pack_arguments(slots, packed);
        return take(std::span<const uint8_t>(packed));
    }
    /// This thread's stream uses the program after all others have: they share one counter.
    void order() const {
        if (counter_) counter_->order(true);
    }
    size_t bytes() const;  ///< of the host that it takes, about
    bool has_wanted_text() const;
    /// True if launches of both do the same: the code is the same, whatever lines it comes from.
    bool computes_as(const Program& other) const;
    /// The same code under the places of a kernel of this graph; null: add_placed() was not called with them.
    std::shared_ptr<Program> placed(const isa::SourcePlaces& places) const;
    /// Keeps one, and gives the one that counts: another thread may have been first.
    std::shared_ptr<Program> add_placed(const isa::SourcePlaces& places, std::shared_ptr<Program> made);
    /// A variable of the module, by its symbol or as C++ writes it. Usage error that lists those there are.
    providers::DeviceRange variable(std::string_view name) const;

    executable::Code code;  ///< grid, block and dynamic LDS may be changed

  private:
    Program(Device& device, std::shared_ptr<Module> module, executable::Code code)
        : code(std::move(code)), device_(device), module_(std::move(module)) {}
    void pack_arguments(std::span<const uint64_t> slots, std::span<uint8_t> arguments) const;
    struct CountedBlocks;
    Result<void> clear_counter() const;

    Device& device_;
    std::shared_ptr<Module> module_;                         ///< null: it is interpreted
    std::shared_ptr<const InterpretedProgram> interpreted_;  ///< null: it is loaded
    providers::FunctionHandle* function_ = nullptr;
    std::shared_ptr<Buffer> counter_;  ///< of its blocks, 0 between launches; none: it has no such parameter
    mutable Mutex placed_mutex_;
    std::vector<std::pair<isa::SourcePlaces, std::shared_ptr<Program>>> placed_;
};

/// The __device__ and __constant__ variables of a code object, by their symbols.
std::vector<std::string> variables_of(const isa::CodeObject& object);

/// True if programs are to have their text: a profile names operations by that, and direct lowering makes it for it
/// alone.
bool is_text_wanted();

/// The target of a device's kernels: its arch, by the route of the settings.
codegen::Target target_of(const Device& device);

/// Compiles and loads kernels, in parallel and in order; memoised by the kernel's graph and the device.
std::vector<std::shared_ptr<Program>> programs(Device& device, std::span<const codegen::Scheduled> kernels);
/// For programs() to find: the kernel of this graph, compiled and loaded by somebody else.
void keep_program(Device& device, UOp sink, std::shared_ptr<Program> program);
/// A user's kernel, compiled and loaded once for a device. Kernels of one code object share a module, so their
/// variables too.
std::shared_ptr<Program> program(Device& device, const CustomKernel& kernel);
/// A user's graph, compiled and loaded once for all equal ones, which may come from other lines.
std::shared_ptr<Program> program_of_graph(Device& device, const CustomKernel& kernel);

}  // namespace strata::runtime
