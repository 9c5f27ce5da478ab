#pragma once
#include <cstddef>
#include <memory>

namespace strata {

namespace detail {
void parallel_for(size_t count, int threads, void (*body)(void*, size_t), void* context);
}

/// Calls body(i) for every i below count, on up to `threads` threads (0: one a core), the caller's among them. Order
/// and overlap are unspecified. Workers see the caller's settings(). The first exception is rethrown when all have
/// stopped.
template <class Body>
void parallel_for(size_t count, Body&& body, int threads = 0) {
    detail::parallel_for(
        count, threads, [](void* context, size_t i) { (*static_cast<std::remove_reference_t<Body>*>(context))(i); },
        const_cast<void*>(static_cast<const void*>(std::addressof(body))));
}

}  // namespace strata
