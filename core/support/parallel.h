#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>

namespace strata {

namespace detail {
using Step = void (*)(void* context, size_t i);
void parallel_for(size_t count, int threads, Step body, void* context);
void parallel_in_order(std::span<const size_t> starts, Step body, void* context, Step use, void* user);
void side_by_side(Step mine, void* own, Step other, void* context);
template <class F>
Step step_of() {
    return [](void* context, size_t i) { (*static_cast<std::remove_reference_t<F>*>(context))(i); };
}
template <class F>
void* context_of(F& f) {
    return const_cast<void*>(static_cast<const void*>(std::addressof(f)));
}
void with_stack(void (*body)(void*), void* context);
}  // namespace detail

/// Threads that run at once, of this machine or of what the process may use: one at least.
size_t core_count();

/// Calls body(i) for every i below count, on up to `threads` threads (0: one a core), the caller's among them. It takes
/// fewer where the system gives no more. Order and overlap are unspecified. Workers see the caller's settings(). An
/// exception is rethrown when all have stopped; the caller polls for interrupts (interrupt.h) and its workers stop with
/// it.
template <class Body>
void parallel_for(size_t count, Body&& body, int threads = 0) {
    detail::parallel_for(count, threads, detail::step_of<Body>(), detail::context_of(body));
}

/// As parallel_for, and the caller's thread calls use(i) in order. Each call comes as soon as body(i) and all before
/// are done, while others go on with bodies. Bodies are started in the order of `starts`, which has each number below
/// its size once. With the longest first no thread is left alone with it at the end.
template <class Body, class Use>
void parallel_in_order(std::span<const size_t> starts, Body&& body, Use&& use) {
    detail::parallel_in_order(starts, detail::step_of<Body>(), detail::context_of(body), detail::step_of<Use>(),
                              detail::context_of(use));
}

/// Calls mine() on this thread and other() on another meanwhile, or after it where none came to it. Exceptions and
/// interrupts as of parallel_for.
template <class Mine, class Other>
void side_by_side(Mine&& mine, Other&& other) {
    auto first = [&](size_t) { mine(); };
    auto body = [&](size_t) { other(); };
    detail::side_by_side(detail::step_of<decltype(first)>(), &first, detail::step_of<decltype(body)>(), &body);
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
