// error: what a call reports, for the thread that made it.
#include <array>

#include "guard_p.h"
#include "strata/core/dtype/dtype.h"

namespace strata::c {
namespace {

struct LastError {
    std::string message, operand;
    strata_error error{sizeof(strata_error), 0, "", "", 0, 0};
};
LastError& last() {
    thread_local LastError error;
    return error;
}

/// The interface's number of each row.
constexpr int32_t kNumbers[] = {
#define STATUS(name, text, ...) STRATA_##text,
#include "strata/plan/status.def"
#undef STATUS
};
constexpr bool are_in_order() {
    for (int32_t i = 0; i < plan::kStatuses; ++i)
        if (kNumbers[i] != i) return false;
    return true;
}
static_assert(are_in_order());

/// In the order of the interface's numbers, from 1 on.
constexpr std::array kTypes = {
    dtypes::boolean, dtypes::int8,    dtypes::uint8,   dtypes::int16,       dtypes::uint16,     dtypes::int32,
    dtypes::uint32,  dtypes::int64,   dtypes::uint64,  dtypes::float16,     dtypes::bfloat16,   dtypes::float32,
    dtypes::float64, dtypes::fp8e4m3, dtypes::fp8e5m2, dtypes::fp8e4m3fnuz, dtypes::fp8e5m2fnuz};
static_assert(kTypes.size() == STRATA_FP8E5M2FNUZ);

}  // namespace

strata_status failed(const State* state, const PlanError& error) noexcept {
    LastError& to = last();
    const auto status = static_cast<strata_status>(error.status());
    try {
        to.message = error.what(), to.operand = error.operand();
        to.error = {sizeof(strata_error), status, to.message.c_str(), to.operand.c_str(), error.needed(), error.got()};
    } catch (...) {
        return failed(nullptr, Status::memory, "the host has no memory left");
    }
    if (state && state->log) state->log(state->user, Level::error, to.error.message);
    return status;
}

strata_status failed(const State* state, Status status, const char* message) noexcept {
    LastError& to = last();
    try {
        to.message = message;
        message = to.message.c_str();
    } catch (...) {  // the text is that of another exception, which ends
        message = "the host has no memory left";
    }
    to.error = {sizeof(strata_error), static_cast<strata_status>(status), message, "", 0, 0};
    if (state && state->log) state->log(state->user, Level::error, message);
    return to.error.status;
}

int32_t number_of(DType type) { return static_cast<int32_t>(std::ranges::find(kTypes, type) - kTypes.begin()) + 1; }

DType type_of(int32_t number, const char* operand) {
    if (number < 1 || number > static_cast<int32_t>(kTypes.size()))
        plan_error(Status::argument, operand, {kTypes.size(), static_cast<uint64_t>(number)},
                   "'{}' has the type {}, which there is not", operand, number);
    return kTypes[static_cast<size_t>(number) - 1];
}

std::vector<plan::TensorView> views_of(const strata_tensor* operands, uint32_t count) {
    if (count > 0) (void)needed(operands, "operands");
    std::vector<plan::TensorView> views;
    for (const strata_tensor& operand : std::span(operands, count)) {
        if (operand.rank < 0 || operand.rank > 8)
            plan_error(Status::argument, "operands", {8, static_cast<uint64_t>(operand.rank)},
                       "an operand has a rank of {}", operand.rank);
        const auto rank = static_cast<size_t>(operand.rank);
        views.push_back({operand.data,
                         operand.bytes,
                         type_of(operand.dtype, "operands"),
                         {operand.shape, rank},
                         {operand.strides, rank}});
    }
    return views;
}

extern "C" {

const strata_error* strata_last_error(void) { return &last().error; }

const char* strata_status_name(int32_t status) {
    if (status < 0 || status >= plan::kStatuses) return "?";
    return plan::name(static_cast<Status>(status)).data();  // of a literal, which ends with 0
}

uint32_t strata_abi_version(void) { return STRATA_ABI; }

const char* strata_version(void) { return STRATA_LIBRARY_VERSION; }
}

}  // namespace strata::c
