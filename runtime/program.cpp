#include "strata/runtime/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/driver/route.h"
#include "strata/codegen/signature/parameters.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/interpreted_program_p.h"
#include "strata/runtime/kernel_call.h"

namespace strata::runtime {
namespace {

bool lacks_text(const executable::Code& code) { return code.text.empty() && code.assembly.empty(); }

/// Memory that is no tensor's.
std::shared_ptr<Buffer> counter_of(Device& device) {
    const providers::DevicePtr address = device.api().malloc(device.ordinal(), sizeof(int32_t)).value();
    std::shared_ptr<void> owner(reinterpret_cast<void*>(address),
                                [&device, address](void*) { (void)device.api().free(device.ordinal(), address); });
    return std::make_shared<Buffer>(device, dtypes::int32, 1, address, std::move(owner));
}

bool is_variable(const isa::Symbol& symbol) {
    if (symbol.is_function || symbol.size == 0 || symbol.name.ends_with(".kd")) return false;
    return !symbol.name.starts_with("__hip_") && !symbol.name.starts_with(codegen::kOwnSymbols);
}

}  // namespace

Module::Module(Device& device, std::span<const uint8_t> code_object)
    : device_(device), handle_(device.api().module_load(device.ordinal(), code_object).value()) {}
Module::~Module() { (void)device_.api().module_unload(handle_); }

std::shared_ptr<Program> Program::load(Device& device, executable::Code code) {
    (void)code.info();                                                   // its entry is there
    auto module = std::make_shared<Module>(device, code.code_object());  // before the code is moved
    return of_module(std::move(module), std::move(code));
}

std::shared_ptr<Program> Program::of_module(std::shared_ptr<Module> module, executable::Code code) {
    (void)code.info();
    std::shared_ptr<Program> program(new Program(module->device(), module, std::move(code)));
    const Module& loaded = *program->module_;
    program->function_ = loaded.device().api().module_function(loaded.handle(), program->code.entry).value();
    if (std::ranges::any_of(program->code.places, &executable::ParameterPlace::counter)) {
        program->counter_ = counter_of(loaded.device());
        program->clear_counter().value();
    }
    return program;
}

std::shared_ptr<Program> Program::of_graph(Device& device, const codegen::Kernel& kernel, isa::SourcePlaces places) {
    auto interpreted = std::make_shared<const InterpretedProgram>(device, kernel, std::move(places));
    std::shared_ptr<Program> program(new Program(device, nullptr, interpreted->code()));
    program->interpreted_ = std::move(interpreted);
    return program;
}

/// Clears the counter where not all blocks came, for which the next launch would wait.
struct Program::CountedBlocks {
    explicit CountedBlocks(const Program& program) : program(program) {}
    ~CountedBlocks() {
        if (!all) (void)program.clear_counter();
    }
    CountedBlocks(const CountedBlocks&) = delete;
    const Program& program;
    bool all = false;
};

Result<void> Program::clear_counter() const {
    if (!counter_) return {};
    Device& device = module_->device();
    return device.api().memset(device.ordinal(), counter_->address(), 0, counter_->bytes());
}

Launched Program::launch(std::span<const uint64_t> slots, Wait wait, Sample sample) const {
    order();
    return with_arguments(slots, [&](std::span<const uint8_t> arguments) {
        return launch({code.grid, code.block, code.dynamic_lds}, arguments, wait, sample, {.in_place = true});
    });
}

void Program::pack_arguments(std::span<const uint64_t> slots, std::span<uint8_t> arguments) const {
    std::ranges::fill(arguments, uint8_t{0});
    for (const executable::ParameterPlace& place : code.places) {
        const auto slot = static_cast<size_t>(place.slot);
        if (place.counter) {
            const uint64_t address = counter_->address();
            std::memcpy(&arguments[place.offset], &address, place.bytes);
            continue;
        }
        if (slot >= slots.size())
            user_error(ErrorKind::Launch, "kernel '{}' uses argument {} but {} were given", code.entry, slot,
                       slots.size());
        std::memcpy(&arguments[place.offset], &slots[slot], place.bytes);
    }
}

Launched Program::launch(const LaunchShape& shape, std::span<const uint8_t> arguments, Wait wait, Sample sample,
                         providers::LaunchRequest request) const {
    request.last_waits |= counter_ != nullptr;
    request.sparse = sample == Sample::sparse;
    providers::LaunchReport report;
    if (interpreted_) return interpreted_->run(shape, arguments, code.places), Launched{0, {}};
    Device& device = module_->device();
    const auto enqueue = [&](providers::StreamHandle* stream) {
        return device.api().module_launch_kernel(function_, shape.grid, shape.block, shape.dynamic_lds, stream,
                                                 arguments, request, report);
    };
    if (wait == Wait::no) {
        device.started(std::ref(enqueue)).value();
        return {0, std::move(report)};
    }
    if (wait == Wait::timed) {
        std::unique_ptr<PendingTime> time = device.started_timed(std::ref(enqueue)).value();
        return {0, std::move(report), std::move(time)};
    }
    CountedBlocks counted(*this);
    Result<double> time_ms = device.timed(std::ref(enqueue));
    counted.all = time_ms && !settings().emu_sampled;
    if (!time_ms && report.over_budget) throw OverBudget(time_ms.error());
    return {time_ms.value(), std::move(report)};
}

std::vector<std::string> variables_of(const isa::CodeObject& object) {
    std::vector<std::string> names;
    for (const isa::Symbol& symbol : object.symbols)
        if (is_variable(symbol)) names.push_back(symbol.name);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

providers::DeviceRange Program::variable(std::string_view name) const {
    std::string known;
    for (const std::string& symbol : variables_of(*code.object)) {
        std::string spelt = codegen::demangled(symbol);
        if (name == symbol || name == spelt)
            return module_->device().api().module_global(module_->handle(), symbol).value();
        known += (known.empty() ? "" : ", ") + spelt;
    }
    user_error(ErrorKind::Usage, "the module of kernel '{}' has no variable '{}'; it has: {}", code.entry, name,
               known.empty() ? "none (a variable that no kernel uses is dropped)" : known);
}

codegen::Target target_of(const Device& device) {
    return codegen::target_of(device.arch(), codegen::route_in_force(device.arch()));
}

std::vector<std::shared_ptr<Program>> programs(Device& device, std::span<const codegen::Scheduled> kernels) {
    std::vector<codegen::Scheduled> missing;
    std::vector<std::shared_ptr<Program>> without_text;  // by missing one
    UOpMap<std::shared_ptr<Program>> by_sink;
    Programs& known = context().programs;
    for (const codegen::Scheduled& k : kernels)
        if (auto [at, first] = by_sink.try_emplace(k.kernel.sink); first) {
            at->second = known.find(k.kernel.sink, device);
            if (!at->second || !at->second->has_wanted_text()) missing.push_back(k), without_text.push_back(at->second);
        }
    std::vector<Result<executable::Code>> compiled =
        codegen::compile_kernels(missing, target_of(device), is_text_wanted() ? codegen::Text::yes : codegen::Text::no);
    for (size_t i = 0; i < missing.size(); ++i) {
        executable::Code& code = compiled[i].value();
        UOp sink = missing[i].kernel.sink;
        by_sink[sink] = known.add(sink, device, Program::load(device, std::move(code)), without_text[i]);
    }
    std::vector<std::shared_ptr<Program>> out;
    for (const codegen::Scheduled& k : kernels) out.push_back(by_sink.at(k.kernel.sink));
    return out;
}

void keep_program(Device& device, UOp sink, std::shared_ptr<Program> program) {
    context().programs.add(sink, device, std::move(program), nullptr);
}

std::shared_ptr<Program> program_of_graph(Device& device, const CustomKernel& custom) {
    const auto& kernel = std::get<codegen::Kernel>(custom.body);
    if (auto known = context().programs.find(kernel.sink, device); known && known->has_wanted_text()) return known;
    const codegen::Scheduled as_written{kernel, {}};
    try {
        return programs(device, std::span(&as_written, 1))[0];
    } catch (const Exception& e) {
        if (e.error().line == 0) throw;
        throw Exception(at_places_of(custom, e.error()));
    }
}

namespace {

/// The shared code, loaded again with the kernel's own lines for faults and profiles. Kernels of equal graphs from the
/// same lines have one program: a capture compares programs.
std::shared_ptr<Program> program_at_places(Device& device, const CustomKernel& custom) {
    const std::shared_ptr<Program> shared = program_of_graph(device, custom);
    if (std::shared_ptr<Program> made = shared->placed(custom.places)) return made;
    executable::Code code = at_places_of(custom, shared->code);
    std::shared_ptr<Module> module = context().modules.load(device, code.code_object());
    return shared->add_placed(custom.places, Program::of_module(std::move(module), std::move(code)));
}

std::shared_ptr<Program> interpreted_program(Device& device, const CustomKernel& custom) {
    const auto* kernel = std::get_if<codegen::Kernel>(&custom.body);
    if (!kernel)
        user_error(ErrorKind::Unsupported,
                   "the device {} interprets graphs, and kernel '{}' is {}: run it on emu or on a card", device.name(),
                   custom.name,
                   std::holds_alternative<codegen::HipSource>(custom.body) ? "HIP source" : "machine code");
    Programs& known = context().programs;
    std::shared_ptr<Program> shared = known.find(kernel->sink, device);
    if (!shared) shared = known.add(kernel->sink, device, Program::of_graph(device, *kernel, {}), nullptr);
    if (custom.places.places.empty()) return shared;
    if (std::shared_ptr<Program> made = shared->placed(custom.places)) return made;
    return shared->add_placed(custom.places, Program::of_graph(device, *kernel, custom.places));
}

}  // namespace

std::shared_ptr<Program> program(Device& device, const CustomKernel& custom) {
    custom.loaded->is_on(device);
    if (device.interprets()) return interpreted_program(device, custom);
    if (std::holds_alternative<codegen::Kernel>(custom.body)) {
        const bool has_places = !custom.places.places.empty() && device.arch().is_amd();
        return has_places ? program_at_places(device, custom) : program_of_graph(device, custom);
    }
    if (auto known = custom.loaded->find(device)) return known;
    if (!custom.arch.empty() && custom.arch != device.arch().name())
        user_error(ErrorKind::Launch, "kernel '{}' was assembled for {} but the device {} is {}", custom.name,
                   custom.arch, device.name(), device.arch().name());
    executable::Code compiled = compile_custom(custom, target_of(device)).value();
    std::shared_ptr<Module> module = context().modules.load(device, compiled.code_object());
    return custom.loaded->add(device, Program::of_module(std::move(module), std::move(compiled)));
}

bool Program::computes_as(const Program& other) const {
    const executable::Code &a = code, &b = other.code;
    if (interpreted_ || other.interpreted_)
        return interpreted_ && other.interpreted_ && interpreted_->same(*other.interpreted_);
    return &device() == &other.device() && a.entry == b.entry && a.grid == b.grid && a.block == b.block &&
           a.dynamic_lds == b.dynamic_lds && a.places == b.places && a.object && b.object &&
           isa::same_but_for_places(*a.object, *b.object);
}

std::shared_ptr<Program> Program::placed(const isa::SourcePlaces& places) const {
    std::lock_guard lock(placed_mutex_);
    const auto found = std::ranges::find(placed_, places, [](const auto& pair) -> const auto& { return pair.first; });
    return found == placed_.end() ? nullptr : found->second;
}

std::shared_ptr<Program> Program::add_placed(const isa::SourcePlaces& places, std::shared_ptr<Program> made) {
    if (auto other = placed(places)) return other;
    std::lock_guard lock(placed_mutex_);
    return placed_.emplace_back(places, std::move(made)).second;
}

LoadedKernel::LoadedKernel() : idle_calls_(std::make_shared<IdleCalls>()) {}

std::shared_ptr<Program> LoadedKernel::find(const Device& device) {
    std::lock_guard lock(mutex_);
    for (const auto& program : programs_)
        if (&program->device() == &device) return program;
    return nullptr;
}

std::shared_ptr<Program> LoadedKernel::add(const Device& device, std::shared_ptr<Program> program) {
    if (auto other = find(device)) return other;  // of another thread
    std::lock_guard lock(mutex_);
    return programs_.emplace_back(std::move(program));
}

void LoadedKernel::is_on(const Device& device) {
    std::lock_guard lock(mutex_);
    if (std::ranges::find(devices_, &device) == devices_.end()) devices_.push_back(&device);
}

std::vector<const Device*> LoadedKernel::devices() {
    std::lock_guard lock(mutex_);
    return devices_;
}

void LoadedKernel::keep_written_slots(std::vector<size_t> slots) {
    std::lock_guard lock(mutex_);
    written_slots_ = std::move(slots);
}

const std::vector<size_t>& LoadedKernel::written_slots(UOp sink) {
    std::lock_guard lock(mutex_);
    if (written_slots_) return *written_slots_;
    std::set<size_t> slots;
    for (UOp u : toposort(sink)) {
        if (!writes_memory(u)) continue;
        UOp memory = u.src(0);
        while (!memory.is(Op::param)) memory = memory.src(0);
        if (memory.as<ParamArg>().space == Space::global) slots.insert(static_cast<size_t>(memory.as<ParamArg>().slot));
    }
    return written_slots_.emplace(slots.begin(), slots.end());
}

std::shared_ptr<Module> Modules::load(Device& device, std::span<const uint8_t> code_object) {
    std::string key = fmt::format("{} ", device.index());
    key += content_hash({reinterpret_cast<const char*>(code_object.data()), code_object.size()});
    StoppableLock lock(mutex_);  // loading waits for launches
    auto found = std::ranges::find(recent_, key, &Entry::key);
    if (found == recent_.end()) {
        std::shared_ptr<Module> module = std::make_shared<Module>(device, code_object);
        recent_.push_front({std::move(key), std::move(module)});
        if (recent_.size() > kMost) recent_.pop_back();
    } else {
        recent_.splice(recent_.begin(), recent_, found);
    }
    return recent_.front().module;
}

bool is_text_wanted() { return settings().profiler != nullptr; }
bool Program::has_wanted_text() const { return !is_text_wanted() || !lacks_text(code); }

size_t Program::bytes() const {
    // Beside the code object there are its segments and decoded instructions, here and in the emulator.
    constexpr size_t kFixed = 16 << 10, kPerByte = 8;
    return kFixed + (interpreted_ ? 0 : kPerByte * code.code_object().size()) + code.text.size();
}

std::shared_ptr<Program> Programs::find(UOp sink, const Device& device) {
    std::lock_guard lock(mutex_);
    const Entry* found = all_.find({sink, device.index(), codegen::route_in_force(device.arch())});
    return found ? found->program : nullptr;
}

std::shared_ptr<Program> Programs::add(UOp sink, const Device& device, std::shared_ptr<Program> program,
                                       const std::shared_ptr<Program>& before) {
    std::vector<Entry> gone;  // freed outside the lock
    std::lock_guard lock(mutex_);
    const Key key{sink, device.index(), codegen::route_in_force(device.arch())};
    const Entry* found = all_.find(key);
    if (found && found->program != before && (!lacks_text(found->program->code) || lacks_text(program->code)))
        return found->program;
    gone = all_.put(key, {Root(sink), program}, program->bytes(), settings().programs_mb << 20);
    return program;
}

void Programs::count_into(Stats& stats) {
    std::lock_guard lock(mutex_);
    stats.programs = all_.size(), stats.program_bytes = all_.bytes(), stats.evicted_programs = all_.evictions();
}

}  // namespace strata::runtime
