#include "strata/runtime/program.h"

#include <cstring>
#include <mutex>
#include <unordered_map>
#include <unordered_set>

#include "strata/codegen/compile/compile.h"
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/render/render.h"

namespace strata::runtime {
namespace {

size_t explicit_arguments(const isa::KernelInfo& kernel) {
    size_t n = 0;
    for (const isa::KernelArg& arg : kernel.args) n += !arg.value_kind.starts_with("hidden_");
    return n;
}

Error wrong_arguments(const isa::KernelInfo& kernel, size_t buffers) {
    return make_error(
        ErrorKind::Launch,
        "kernel '{}' takes {} parameters but {} buffers were given; pass one tensor a parameter, the output first",
        kernel.name, explicit_arguments(kernel), buffers);
}

/// Programs by kernel graph and device. Sinks are rooted: their addresses stay theirs.
struct ProgramKey {
    UOp sink;
    uint16_t device;
    bool operator==(const ProgramKey&) const = default;
};
struct ProgramKeyHash {
    size_t operator()(const ProgramKey& k) const { return UOpHash{}(k.sink) * 31 + k.device; }
};
struct Entry {
    Root sink;
    std::shared_ptr<Program> program;
};
std::mutex memo_mutex;
std::unordered_map<ProgramKey, Entry, ProgramKeyHash>& memo() {
    static auto* all = new std::unordered_map<ProgramKey, Entry, ProgramKeyHash>;
    return *all;
}

std::shared_ptr<Program> remembered(const ProgramKey& key) {
    std::lock_guard lock(memo_mutex);
    auto found = memo().find(key);
    return found == memo().end() ? nullptr : found->second.program;
}

}  // namespace

std::shared_ptr<Program> Program::load(Device& device, isa::Bytes code_object, const std::string& name,
                                       size_t buffers) {
    isa::CodeObject object = isa::CodeObject::parse(std::move(code_object)).value();
    const isa::KernelInfo* kernel = object.find(name);
    if (!kernel) {
        std::string known;
        for (const isa::KernelInfo& k : object.kernels) known += (known.empty() ? "" : ", ") + k.name;
        user_error(ErrorKind::Launch, "the code object has no kernel '{}'; it has: {}", name,
                   known.empty() ? "none" : known);
    }
    if (!kernel->args.empty() || buffers == 0)
        if (explicit_arguments(*kernel) != buffers) throw Exception(wrong_arguments(*kernel, buffers));
    std::shared_ptr<Program> program(new Program(device, std::move(object)));
    program->name = name;
    program->module_ = device.api().module_load(device.ordinal(), program->object_.image).value();
    program->function_ = device.api().module_function(program->module_, name).value();
    return program;
}

std::shared_ptr<Program> Program::load(Device& device, isa::Bytes code_object, const Rendered& rendered) {
    std::shared_ptr<Program> program =
        load(device, std::move(code_object), rendered.source.kernel, rendered.slots.size());
    program->grid = rendered.grid;
    program->block = rendered.block;
    program->slots = rendered.slots;
    return program;
}

Program::~Program() {
    if (module_) (void)device_.api().module_unload(module_);
}

Launched Program::launch(std::span<const hip::DevicePtr> buffers) const {
    std::vector<hip::DevicePtr> pointers(buffers.begin(), buffers.end());
    if (!slots.empty()) {
        pointers.clear();
        for (int slot : slots) {
            if (static_cast<size_t>(slot) >= buffers.size())
                user_error(ErrorKind::Launch, "kernel '{}' uses buffer {} but {} buffers were given", name, slot,
                           buffers.size());
            pointers.push_back(buffers[static_cast<size_t>(slot)]);
        }
    }
    std::vector<uint8_t> arguments(pointers.size() * sizeof(hip::DevicePtr));
    std::memcpy(arguments.data(), pointers.data(), arguments.size());
    hip::LaunchReport report;
    Result<double> time_ms = device_.timed([&](hip::StreamHandle* stream) {
        return device_.api().module_launch_kernel(function_, grid, block, lds, stream, arguments, report);
    });
    return {time_ms.value(), std::move(report)};
}

Result<Rendered> render(const codegen::Kernel& kernel, const codegen::Target& target) {
    STRATA_TRY(codegen::LinearProgram program, codegen::linearize(kernel, target));
    STRATA_TRY(codegen::HipSource source, codegen::render_hip(program, target));
    std::vector<int> slots;
    for (UOp param : program.params) slots.push_back(param.as<ParamArg>().slot);
    return Rendered{std::move(source), program.grid, program.block, std::move(slots)};
}

std::vector<std::shared_ptr<Program>> programs(Device& device, std::span<const codegen::Kernel> kernels) {
    std::vector<std::shared_ptr<Program>> out(kernels.size());
    std::vector<size_t> missing;
    std::vector<Rendered> rendered;
    std::unordered_set<UOp, UOpHash> asked;
    for (size_t i = 0; i < kernels.size(); i++) {
        if (remembered({kernels[i].sink, device.index()}) || !asked.insert(kernels[i].sink).second) continue;
        missing.push_back(i);
        rendered.push_back(render(kernels[i], codegen::target_of(device.arch())).value());
    }
    std::vector<codegen::HipSource> sources;
    for (const Rendered& r : rendered) sources.push_back(r.source);
    std::vector<Result<codegen::Compiled>> compiled = codegen::compile_all(sources, device.arch());
    for (size_t k = 0; k < missing.size(); k++) {
        codegen::Compiled& made = compiled[k].value();
        std::shared_ptr<Program> program = Program::load(device, std::move(made.code_object), rendered[k]);
        program->compile_ms = made.compile_ms;
        program->source = sources[k].text;
        program->flops = count_flops(kernels[missing[k]].sink);
        std::lock_guard lock(memo_mutex);
        UOp sink = kernels[missing[k]].sink;
        memo()[{sink, device.index()}] = Entry{Root(sink), program};
    }
    for (size_t i = 0; i < kernels.size(); i++) out[i] = remembered({kernels[i].sink, device.index()});
    return out;
}

std::shared_ptr<Program> program(Device& device, const CustomKernel& custom, size_t buffers) {
    if (const auto* kernel = std::get_if<codegen::Kernel>(&custom.body))
        return programs(device, std::span(kernel, 1))[0];
    isa::Bytes image;
    double compile_ms = 0;
    std::string source, entry = custom.name;
    if (const auto* hip = std::get_if<codegen::HipSource>(&custom.body)) {
        codegen::Compiled made = codegen::compile_hip(*hip, device.arch()).value();
        image = std::move(made.code_object);
        compile_ms = made.compile_ms;
        source = hip->text;
        entry = made.entry;
    } else {
        if (!custom.arch.empty() && custom.arch != isa::info(device.arch()).name)
            user_error(ErrorKind::Launch, "kernel '{}' was assembled for {} but the device {} is {}", custom.name,
                       custom.arch, device.name(), isa::info(device.arch()).name);
        image = std::get<isa::Bytes>(custom.body);
    }
    std::shared_ptr<Program> made = Program::load(device, std::move(image), entry, buffers);
    made->grid = custom.grid;
    made->block = custom.block;
    made->lds = custom.lds;
    made->compile_ms = compile_ms;
    made->source = source;
    return made;
}

uint64_t count_flops(UOp sink) {
    std::vector<UOp> order = toposort(sink);
    UOpMap<std::vector<UOp>> open;  // ranges a node is computed for
    double total = 0;
    for (UOp u : order) {
        std::vector<UOp> mine;
        if (u.is(Op::range)) mine.push_back(u);
        for (UOp s : u.src())
            for (UOp r : open[s])
                if (std::find(mine.begin(), mine.end(), r) == mine.end()) mine.push_back(r);
        double times = 1;
        for (UOp r : mine) times *= static_cast<double>(r.as<RangeArg>().size);
        if (u.dtype().is_float() && info(u.op()).elementwise() && !u.is(Op::cast) && !u.is(Op::bitcast) &&
            !u.is(Op::where))
            total += times * (u.is(Op::fma) ? 2 : 1);
        if (u.is(Op::reduce)) {
            if (u.dtype().is_float()) total += times;
            std::erase_if(mine,
                          [&](UOp r) { return std::find(u.src().begin() + 1, u.src().end(), r) != u.src().end(); });
        }
        open[u] = std::move(mine);
    }
    return static_cast<uint64_t>(total);
}

}  // namespace strata::runtime
