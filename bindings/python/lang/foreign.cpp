// Texts that the compiler does not look into, and hints to it.
#include "lang/lang_p.h"
#include "strata/codegen/target/schedule_classes.h"
#include "strata/codegen/tile/arithmetic.h"
#include "strata/core/support/settings.h"
#include "strata/core/uop/kernel.h"

namespace strata::python {
namespace {

constexpr int kMostResults = 16;

void check_bits(const char* what, DType type) {
    if (!type.is_bool() && (type.bits() == 32 || type.bits() == 64)) return;
    user_error(ErrorKind::DType, "[{}] computes with numbers of 32 and 64 bits, not {}: cast them first", what,
               type.name());
}

/// Results of one type; of several types one width, as bits.
DType type_of_results(const char* what, const std::vector<DType>& types) {
    if (types.empty() || types.size() > kMostResults)
        user_error(ErrorKind::Usage, "[{}] has 1 to {} outputs, not {}", what, kMostResults, types.size());
    bool same = true;
    for (const DType type : types) {
        check_bits(what, type);
        same &= type == types[0];
        if (type.bits() != types[0].bits())
            user_error(ErrorKind::DType, "[{}] outputs of {} and {}: all have one width, so write two texts", what,
                       types[0].name(), type.name());
    }
    return same ? types[0] : types[0].bits() == 64 ? dtypes::uint64 : dtypes::uint32;
}

py::tuple foreign(const std::string& text, const std::string& name, const std::vector<DType>& outputs,
                  const py::sequence& inputs) {
    GraphScope keeps;
    const char* const what = name.empty() ? "inline_asm" : "extern";
    lang::Trace::current(name.empty() ? "lang.inline_asm" : "a function of lang.extern");
    const DType type = type_of_results(what, outputs);
    std::vector<UOp> numbers;
    for (const py::handle given : inputs) {
        numbers.push_back(lang::machine_value(to_value(given, what)));
        check_bits(what, numbers.back().dtype());
    }
    const UOp made = uop::foreign(type.vector(static_cast<int>(outputs.size())), {name, text}, numbers);
    py::tuple results(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
        const UOp one = outputs.size() == 1 ? made : uop::lane(made, static_cast<int>(i));
        results[i] = from_value(outputs[i] == type ? one : bitcast(one, outputs[i]));
    }
    return results;
}

}  // namespace

bool& divides_fast() {
    thread_local bool fast = false;
    return fast;
}

void bind_lang_foreign(py::module_& m) {
    m.def("foreign", &foreign, py::arg("text"), py::arg("name"), py::arg("outputs"), py::arg("inputs"));
    m.def(
        "cast_number", [](As<"Value | Scalar"> x, DType type) -> As<"Value"> {
            GraphScope keeps;
            return from_value(to_value(x, type, "extern"));
        });
    m.def("set_priority", [](int level) {
        GraphScope keeps;
        lang::Trace::current("lang.set_priority").priority(level);
    });
    m.def("schedule", [](const std::vector<std::string>& kinds, int size, int group) {
        GraphScope keeps;
        int mask = 0;
        for (const std::string& kind : kinds) {
            const auto row = std::ranges::find(codegen::kScheduleClasses, kind, &codegen::ScheduleClass::name);
            if (row == std::end(codegen::kScheduleClasses)) {
                std::string known;
                for (const codegen::ScheduleClass& each : codegen::kScheduleClasses)
                    known += (known.empty() ? "" : ", ") + std::string(each.name);
                user_error(ErrorKind::Usage, "[{}] '{}' is no kind of instruction; there are {}",
                           size ? "sched_group_barrier" : "sched_barrier", kind, known);
            }
            mask |= row->bit;
        }
        lang::Trace::current("lang.sched_barrier").schedule({mask, size, group});
    });
    m.def(
        "divide_fast", [](bool fast) { return std::exchange(divides_fast(), fast); },
        "Whether / is by the chip's reciprocal in kernels that this thread traces from now on; what was before.");
    m.def("compile_only", [] { return settings().compile_only; });
    m.def("run_only", [] { return settings().run_only; });
}

}  // namespace strata::python
