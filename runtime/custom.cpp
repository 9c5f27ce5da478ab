#include "strata/runtime/custom.h"

#include <algorithm>

#include "strata/codegen/driver/compile.h"
#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/signature/parameters.h"
#include "strata/executable/bytes.h"
#include "strata/executable/file.h"
#include "strata/runtime/context_p.h"

namespace strata::runtime {

namespace {

Result<std::string> only_kernel(const isa::CodeObject& object) {
    if (object.kernels.size() == 1) return object.kernels[0].name;
    std::string names;
    for (const isa::KernelInfo& kernel : object.kernels)
        names += (names.empty() ? "" : ", ") + codegen::demangled(kernel.name);
    return make_error(ErrorKind::Usage, "there are {} kernels, say which by name: {}", object.kernels.size(),
                      names.empty() ? "none (is __global__ missing?)" : names);
}

}  // namespace

Result<executable::Code> compile_custom(const CustomKernel& custom, const codegen::Target& target) {
    if (const auto* kernel = std::get_if<codegen::Kernel>(&custom.body)) {
        Result<executable::Code> made = codegen::compile_kernel({*kernel, {}}, target, codegen::Text::yes);
        if (!made) return at_places_of(custom, made.error());
        return at_places_of(custom, *std::move(made));
    }
    if (const auto* code = std::get_if<executable::Code>(&custom.body)) return at_places_of(custom, *code);
    executable::Code compiled;
    if (const auto* source = std::get_if<codegen::HipSource>(&custom.body)) {
        STRATA_TRY(compiled, codegen::compile_hip(*source, target.arch));
    } else {
        STRATA_TRY(isa::CodeObject object, isa::CodeObject::parse(std::get<isa::Bytes>(custom.body)));
        compiled.object = std::make_shared<const isa::CodeObject>(std::move(object));
        compiled.entry = custom.name;
    }
    if (compiled.entry.empty()) {
        STRATA_TRY(compiled.entry, only_kernel(*compiled.object));
    }
    compiled.parameters = codegen::parameters_of(compiled.info(), compiled.text);
    compiled.grid = custom.grid;
    compiled.block = custom.block;
    compiled.dynamic_lds = custom.lds;
    return compiled;
}

Result<std::string> bytes_of_compiled(const CustomKernel& kernel, Device& device) {
    const std::shared_ptr<Program> loaded = program_of_graph(device, kernel);
    if (!loaded->code.object) return make_error(ErrorKind::Unsupported, "kernel '{}' has no machine code", kernel.name);
    return bytes_of_compiled(kernel, loaded->code, device.arch().name());
}

std::string bytes_of_compiled(const CustomKernel& kernel, const executable::Code& code, std::string_view arch) {
    executable::Executable alone{.arch = std::string(arch)};
    alone.kernels.push_back({.code = std::make_shared<const executable::Code>(code)});
    executable::Writer w;
    w.text(executable::to_bytes(alone));
    w.list(kernel.loaded->written_slots(kernel.graph.get()), [&](size_t slot) { w.number(slot); });
    w.text(code.lines_of);
    for (const std::vector<uint32_t>& lines : {code.lines, kernel.places.of_line})
        w.list(lines, [&](uint32_t line) { w.number(line); });
    return std::move(w.bytes);
}

std::shared_ptr<CustomKernel> compiled_of_bytes(std::string_view bytes, std::string_view arch,
                                                std::vector<isa::SourceLine> places) {
    executable::Reader r(bytes);
    const std::optional<executable::Executable> alone = executable::of_bytes(r.text());
    std::vector<size_t> slots;
    r.list([&] { slots.push_back(r.number()); });
    const std::string lines_of(r.text());
    std::vector<uint32_t> lines, of_line;
    r.list([&] { lines.push_back(r.word()); });
    r.list([&] { of_line.push_back(r.word()); });
    r.check(std::ranges::all_of(lines, [&](uint32_t line) { return line <= of_line.size(); }));
    if (!r.done() || !alone || alone->arch != arch || alone->kernels.size() != 1 || !alone->kernels[0].code)
        return nullptr;
    executable::Code code = *alone->kernels[0].code;
    code.cached = true, code.route = "disk cache";
    code.lines_of = lines_of, code.lines = std::move(lines);
    auto kernel = std::make_shared<CustomKernel>();
    kernel->name = code.entry, kernel->arch = alone->arch, kernel->takes_grid = true;
    kernel->body = std::move(code);
    kernel->loaded->keep_written_slots(std::move(slots));
    for (uint32_t& place : of_line)
        if (place > places.size() || (place && places[place - 1].line == 0)) place = 0;
    kernel->places = {.listing = {}, .of_line = std::move(of_line), .places = std::move(places)};
    return kernel;
}

executable::Code at_places_of(const CustomKernel& kernel, executable::Code code) {
    if (kernel.places.places.empty() || !code.object || code.object->for_nvidia) return code;
    isa::SourcePlaces places = kernel.places;
    places.listing = code.lines_of;
    if (!code.lines.empty()) {
        places.of_line.clear();
        for (const uint32_t line : code.lines) places.of_line.push_back(line ? kernel.places.of_line.at(line - 1) : 0);
    }
    code.object = std::make_shared<const isa::CodeObject>(
        isa::CodeObject::parse(isa::with_places(code.object->image, places).value()).value());
    return code;
}

Error at_places_of(const CustomKernel& kernel, Error error) {
    const auto line = static_cast<size_t>(error.line);
    if (!error.file.empty() && !error.file.ends_with(".uops")) return error;  // a line of the HIP text
    if (line == 0 || line > kernel.places.of_line.size()) return error;
    const uint32_t number = kernel.places.of_line[line - 1];
    if (number == 0) return error;
    const isa::SourceLine& at = kernel.places.places[number - 1];
    error.message = fmt::format("{}:{}: {}{}", at.file, at.line, error.message, isa::excerpt(at));
    error.file = at.file, error.line = static_cast<int>(at.line), error.column = static_cast<int>(at.column);
    return error;
}

LaunchShape shape_of(const CustomLaunch& launch, const executable::Code& code) {
    LaunchShape shape{code.grid, code.block, launch.lds.value_or(code.dynamic_lds)};
    const bool is_graph = std::holds_alternative<codegen::Kernel>(launch.kernel->body) ||
                          std::holds_alternative<executable::Code>(launch.kernel->body);
    if (is_graph && launch.kernel->takes_grid) shape.grid = launch.kernel->grid;
    if (launch.grid[0] && (!is_graph || launch.kernel->takes_grid)) shape.grid = launch.grid;
    if (is_graph) return shape;
    if (launch.block[0]) shape.block = launch.block;
    return shape;
}

CustomArg register_custom(CustomLaunch launch) {
    if (const auto* body = std::get_if<codegen::Kernel>(&launch.kernel->body))
        STRATA_CHECK(launch.kernel->graph.get() == body->sink, "kernel '{}' does not keep its graph alive",
                     launch.kernel->name);
    return context().custom.add(std::make_shared<const CustomLaunch>(std::move(launch)));
}

std::shared_ptr<const CustomLaunch> find_custom(uint64_t id) { return context().custom.find(id); }

CustomArg CustomKernels::add(std::shared_ptr<const CustomLaunch> launch) {
    std::lock_guard lock(mutex_);
    const uint64_t id = next_id_++;
    all_.emplace(id, Entry{std::move(launch)});
    return {id, std::shared_ptr<const void>(this, [id](const void*) { context().custom.forget(id); })};
}

std::shared_ptr<const CustomLaunch> CustomKernels::find(uint64_t id) {
    std::lock_guard lock(mutex_);
    auto found = all_.find(id);
    STRATA_CHECK(found != all_.end(), "user kernel {} is gone", id);
    return found->second.launch;
}

std::shared_ptr<Mutex> CustomKernels::turn(uint64_t id) {
    std::lock_guard lock(mutex_);
    auto found = all_.find(id);
    STRATA_CHECK(found != all_.end(), "user kernel {} is gone", id);
    return found->second.turn;
}

void CustomKernels::forget(uint64_t id) {
    Entry last;  // freed outside the lock
    std::lock_guard lock(mutex_);
    auto found = all_.find(id);
    last = std::move(found->second);
    all_.erase(found);
}

void CustomKernels::remember(UOp node, std::vector<Root> held) {
    if (std::ranges::none_of(held, [](const Root& view) { return bool(view.get()); })) return;
    std::lock_guard lock(mutex_);
    held_.emplace(node, std::move(held));
}

void CustomKernels::forget(UOp node) {
    std::vector<std::vector<Root>> last;  // freed outside the lock
    std::lock_guard lock(mutex_);
    const auto [first, end] = held_.equal_range(node);
    for (auto at = first; at != end; ++at) last.push_back(std::move(at->second));
    held_.erase(first, end);
}

UOp CustomKernels::view(UOp pick, const Device& device) {
    std::lock_guard lock(mutex_);
    const auto [first, end] = held_.equal_range(pick.src(0));
    for (auto at = first; at != end; ++at)
        if (UOp view = at->second[static_cast<size_t>(pick.as<IndexArg>().index)].get();
            view && device_under(view) == device.index())
            return view;
    return UOp();
}

}  // namespace strata::runtime
