#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>

namespace strata {

namespace detail {
void parallel_for(size_t count, int threads, void (*body)(void*, size_t), void* context);
void with_stack(void (*body)(void*), void* context);
}  // namespace detail

/// Calls body(i) for every i below count, on up to `threads` threads (0: one a core), the caller's among them, or as many
/// as the system gives. Order and overlap are unspecified. Workers see the caller's settings(). An exception is
/// rethrown when all have stopped; the caller polls for interrupts (interrupt.h) and its workers stop with it.
template <class Body>
void parallel_for(size_t count, Body&& body, int threads = 0) {
    detail::parallel_for(
        count, threads, [](void* context, size_t i) { (*static_cast<std::remove_reference_t<Body>*>(context))(i); },
        const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

/// body(), on a thread of its own if this one's stack is too small for a compiler.
template <class Body>
auto with_stack(Body&& body) {
    using Value = std::invoke_result_t<Body>;
    if constexpr (std::is_void_v<Value>) {
        detail::with_stack([](void* f) { (*static_cast<std::remove_reference_t<Body>*>(f))(); },
                           const_cast<void*>(static_cast<const void*>(std::addressof(body))));
    } else {
        std::optional<Value> value;
        with_stack([&] { value.emplace(body()); });
        return *std::move(value);
    }
}

}  // namespace strata
