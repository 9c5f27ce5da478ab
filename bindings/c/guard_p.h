#pragma once
#include <algorithm>
#include <cstring>
#include <new>
#include <span>

#include "handles_p.h"
#include "strata/core/support/interrupt.h"
#include "strata/plan/status.h"

namespace strata::c {

using plan::Amounts, plan::PlanError, plan::plan_error, plan::Status;

/// Keeps an error for strata_last_error, and gives its status. Neither throws.
strata_status failed(const State* state, const PlanError& error) noexcept;
strata_status failed(const State* state, Status status, const char* message) noexcept;

/// body() with the settings of a context; exceptions become statuses.
template <class Body>
strata_status guarded(const State* state, Body&& body) noexcept {
    try {
        const ScopedSettings scope(state ? state->settings : std::shared_ptr<const Settings>());
        body();
        return STRATA_OK;
    } catch (const PlanError& e) {
        return failed(state, e);
    } catch (const Exception& e) {
        return failed(state, PlanError(e));
    } catch (const Interrupted&) {
        return failed(state, Status::interrupted, "the work was stopped");
    } catch (const std::bad_alloc&) {
        return failed(state, Status::memory, "the host has no memory left");
    } catch (const std::exception& e) {
        return failed(state, Status::internal, e.what());
    } catch (...) {
        return failed(state, Status::internal, "an exception of unknown type");
    }
}

/// Error (ARGUMENT) for a null pointer.
template <class T>
T& needed(T* pointer, const char* name) {
    if (!pointer) plan_error(Status::argument, name, {1, 0}, "'{}' is null", name);
    return *pointer;
}

/// A struct that begins with its size, as this library knows it: the caller's may be of another version. Error
/// (ARGUMENT) where members are not 0 that are not known here.
template <class T>
T struct_of(const T* given, const char* name) {
    const uint32_t size = needed(given, name).size;
    T out{};
    if (size < sizeof(uint32_t) * 2)
        plan_error(Status::argument, name, {sizeof(T), size}, "'{}' does not say its size: set .size to its sizeof",
                   name);
    const auto* bytes = reinterpret_cast<const unsigned char*>(given);
    if (size > sizeof(T) && std::any_of(bytes + sizeof(T), bytes + size, [](unsigned char b) { return b != 0; }))
        plan_error(Status::argument, name, {sizeof(T), size}, "'{}' has members that this library does not know", name);
    std::memcpy(&out, given, std::min<size_t>(size, sizeof(T)));
    out.size = size;
    return out;
}

/// Fills a struct as far as the caller's reaches.
template <class T>
void give(T* to, T value, const char* name) {
    const uint32_t size = needed(to, name).size;
    if (size < sizeof(uint32_t) * 2)
        plan_error(Status::argument, name, {sizeof(T), size}, "'{}' does not say its size: set .size to its sizeof",
                   name);
    value.size = size;
    std::memset(to, 0, size);
    std::memcpy(to, &value, std::min<size_t>(size, sizeof(T)));
}

/// Work goes to a stream for as long as this lives, the context's where it is null.
class OnStream {
  public:
    OnStream(const State& state, const strata_stream* stream)
        : device_(*state.device), before_(runtime::Stream::change(device_, stream ? stream->stream : state.stream)) {}
    ~OnStream() { runtime::Stream::change(device_, std::move(before_)); }
    OnStream(const OnStream&) = delete;

  private:
    runtime::Device& device_;
    std::shared_ptr<runtime::Stream> before_;
};

/// The number of a type in the interface, and the type of a number; Error (ARGUMENT) for another.
int32_t number_of(DType type);
DType type_of(int32_t number, const char* operand);

/// Views of operands; their shapes lie in `operands`. Error (ARGUMENT) for a rank that there is not.
std::vector<plan::TensorView> views_of(const strata_tensor* operands, uint32_t count);

}  // namespace strata::c
