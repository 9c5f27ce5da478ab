#include "strata/plan/status.h"

namespace strata::plan {
namespace {

struct StatusRow {
    std::string_view text;
    ErrorKind kind;
    std::string_view meaning;
};
constexpr StatusRow kRows[] = {
#define STATUS(name, text, kind, meaning) {#text, ErrorKind::kind, meaning},
#include "strata/plan/status.def"
#undef STATUS
};
const StatusRow& row(Status status) { return kRows[static_cast<size_t>(status)]; }

Status status_of(ErrorKind kind) {
    switch (kind) {
        case ErrorKind::Usage: return Status::argument;
        case ErrorKind::Shape:
        case ErrorKind::Launch: return Status::invalid;
        case ErrorKind::DType:
        case ErrorKind::Unsupported: return Status::unsupported;
        case ErrorKind::Compile:
        case ErrorKind::Assembly: return Status::compile;
        case ErrorKind::MemoryFault:
        case ErrorKind::Check: return Status::fault;
        case ErrorKind::Device: return Status::device;
        case ErrorKind::Internal: break;
    }
    return Status::internal;
}

}  // namespace

std::string_view name(Status status) { return row(status).text; }
std::string_view meaning(Status status) { return row(status).meaning; }

PlanError::PlanError(Status status, std::string operand, Amounts amounts, std::string message)
    : Exception(Error{row(status).kind, std::move(message)}),
      status_(status),
      operand_(std::move(operand)),
      amounts_(amounts) {}

PlanError::PlanError(const Exception& cause) : Exception(cause), status_(status_of(cause.kind())) {}

}  // namespace strata::plan
