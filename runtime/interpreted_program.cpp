// interpreted_program: users' kernels on the device interp.
#include "strata/runtime/interpreted_program_p.h"

#include <algorithm>
#include <cstring>

#include "strata/core/uop/kernel.h"
#include "strata/core/uop/verify.h"
#include "strata/core/uop/walk.h"
#include "strata/providers/interpreted.h"

namespace strata::runtime {
namespace {

bool is_parameter(UOp u) {
    return u.is(Op::define_var) || (u.is(Op::param) && u.as<ParamArg>().space == Space::global);
}
int slot_of(UOp u) { return u.is(Op::param) ? u.as<ParamArg>().slot : u.as<VariableArg>().slot; }

ConstArg number_of(DType type, uint64_t bits) {
    if (type.is_float()) return {0, decode_scalar(type, bits)};
    return {wrap_to(type, static_cast<int64_t>(bits)), 0};
}

}  // namespace

InterpretedProgram::InterpretedProgram(const Device& device, const codegen::Kernel& kernel, isa::SourcePlaces places)
    : name_(kernel.name),
      device_(device.ordinal()),
      wave_size_(device.properties().warp_size),
      graph_(kernel.sink),
      places_(std::move(places)) {
    GraphScope scope;
    if (const Result<void> valid = verify_kernel(kernel.sink); !valid)
        user_error(ErrorKind::Usage, "kernel '{}': {}", name_, valid.error().message);
    list_ = codegen::list_kernel(kernel.sink).value();
    listed_ = Root(list_.sink);
    list_.launch.wave_size = wave_size_;
}

executable::Code InterpretedProgram::code() const {
    executable::Code code;
    code.entry = name_, code.route = "interpreter";
    code.without_object = make_error(ErrorKind::Unsupported, "the device interp has no machine code of '{}'", name_);
    code.grid = list_.launch.grid, code.block = list_.launch.block;
    std::vector<UOp> parameters;
    std::ranges::copy_if(list_.ops, std::back_inserter(parameters), is_parameter);
    std::ranges::sort(parameters, {}, slot_of);
    for (UOp u : parameters) {
        executable::ParameterPlace place{.slot = slot_of(u), .bytes = sizeof(uint64_t)};
        if (u.is(Op::define_var)) place.number = u.dtype();
        place.offset = static_cast<uint32_t>(code.places.size() * sizeof(uint64_t));
        code.places.push_back(place);
    }
    return code;
}

void InterpretedProgram::run(const LaunchShape& shape, std::span<const uint8_t> arguments,
                             std::span<const executable::ParameterPlace> places) const {
    std::vector<codegen::InterpretedArgument> given;
    for (const executable::ParameterPlace& place : places) {
        const auto slot = static_cast<size_t>(place.slot);
        if (given.size() <= slot) given.resize(slot + 1, {dtypes::int32});
        uint64_t bits = 0;
        std::memcpy(&bits, arguments.data() + place.offset, place.bytes);
        if (place.number) {
            given[slot] = {*place.number, {}, number_of(*place.number, bits)};
            continue;
        }
        given[slot].bytes = providers::interpreted_memory(device_, bits);
    }
    codegen::InterpretedLaunch launch = list_.launch;
    launch.grid = shape.grid;
    GraphScope scope;
    const std::optional<codegen::Finding> wrong = codegen::interpret(list_.ops, launch, given);
    if (!wrong) return;
    Error error{wrong->kind, fmt::format("kernel '{}': {}\n  in {}", name_, wrong->what, to_string(wrong->node))};
    const std::vector<UOp> nodes = toposort(graph_.get());
    const auto found = std::ranges::find(nodes, wrong->node);
    if (found != nodes.end()) error.line = static_cast<int>(found - nodes.begin()) + 1;
    CustomKernel placed;
    placed.places = places_;
    throw Exception(at_places_of(placed, std::move(error)));
}

}  // namespace strata::runtime
