#include "strata/core/support/guarded.h"

#include <pthread.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <mutex>

#include "strata/core/support/error.h"
#include "strata/core/support/sanitized.h"

namespace strata {
namespace {

/// A body that runs on this thread. It lies in the frame that it is left to.
struct Guard {
    bool (*owns)(const void*, uint64_t);
    const void* context;
    Guard* around;
    uint64_t address = 0;
    sigjmp_buf place = {};
};
/// Of each thread its innermost guard. A handler may read a key, which allocates nothing. A thread_local that allocates
/// nothing would be of static TLS, of which a process has too little for two libraries that are loaded late.
pthread_key_t innermost;
Guard* innermost_guard() { return static_cast<Guard*>(pthread_getspecific(innermost)); }

constexpr std::array kSignals = {SIGSEGV, SIGBUS};
struct sigaction before[kSignals.size()];

/// Does what the process would do without this file.
void pass_on(int signal, siginfo_t* info, void* context) {
    const struct sigaction& other = before[signal == kSignals[0] ? 0 : 1];
    if (other.sa_flags & SA_SIGINFO) return other.sa_sigaction(signal, info, context);
    if (other.sa_handler != SIG_DFL && other.sa_handler != SIG_IGN) return other.sa_handler(signal);
    ::signal(signal, SIG_DFL);
    if (info->si_code <= 0) raise(signal);  // somebody sent it; else the access is made again, and ends the process
}

void on_signal(int signal, siginfo_t* info, void* context) {
    Guard* const guard = innermost_guard();
    const auto address = reinterpret_cast<uint64_t>(info->si_addr);
    if (!guard || info->si_code <= 0 || !guard->owns(guard->context, address)) return pass_on(signal, info, context);
    guard->address = address;
    pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(context)->uc_sigmask, nullptr);
    siglongjmp(guard->place, 1);
}

void install() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (const int error = pthread_key_create(&innermost, nullptr))
            user_error(ErrorKind::Device, "the process has no key for a thread's data left: {}", std::strerror(error));
        struct sigaction ours{};
        ours.sa_sigaction = on_signal;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
        for (size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &ours, &before[i]);
    });
}

/// Puts back who was innermost, whichever way a body ends.
struct Restore {
    Guard* around;
    ~Restore() { pthread_setspecific(innermost, around); }
};

constexpr uint64_t kEnd = uint64_t{1} << 47;  // no memory of a program lies beyond; there, signals name no address

bool is_address(const void* at, size_t bytes) {
    const auto low = reinterpret_cast<uint64_t>(at);
    return low < kEnd && bytes <= kEnd - low;
}

// Code of sanitizers looks at memory of its own before an access; its absence is no fault of the program.
#ifdef STRATA_SANITIZED
#define STRATA_PLAIN __attribute__((no_sanitize("address", "thread", "undefined")))
STRATA_PLAIN void move_bytes(char* to, const char* from, size_t bytes) {
    volatile char* const there = to;
    const volatile char* const here = from;
    const bool forwards = to <= from;
    for (size_t i = 0; i < bytes; ++i) {
        const size_t at = forwards ? i : bytes - 1 - i;
        there[at] = here[at];
    }
}
#else
#define STRATA_PLAIN
void move_bytes(char* to, const char* from, size_t bytes) { std::memmove(to, from, bytes); }
#endif

struct Copy {
    char* to;
    const char* from;
    size_t bytes;

    static bool holds(const void* low, size_t bytes, uint64_t address) {
        return address - reinterpret_cast<uint64_t>(low) < bytes;
    }
    static bool owns(const void* context, uint64_t address) {
        const Copy& own = *static_cast<const Copy*>(context);
        return holds(own.to, own.bytes, address) || holds(own.from, own.bytes, address);
    }
    static void run(void* context) {
        const Copy& own = *static_cast<const Copy*>(context);
        move_bytes(own.to, own.from, own.bytes);
    }
};

struct Fill {
    char* to;
    const char* element;
    size_t element_bytes, count;

    static bool owns(const void* context, uint64_t address) {
        const Fill& own = *static_cast<const Fill*>(context);
        return address - reinterpret_cast<uint64_t>(own.to) < own.element_bytes * own.count;
    }
    static void run(void* context) {
        const Fill& own = *static_cast<const Fill*>(context);
        for (size_t i = 0; i < own.count; ++i)
            move_bytes(own.to + i * own.element_bytes, own.element, own.element_bytes);
    }
};

struct Look {
    const volatile char* from;
    size_t bytes, page;
    volatile size_t seen = 0;

    static bool owns(const void* context, uint64_t address) {
        const Look& own = *static_cast<const Look*>(context);
        return address - reinterpret_cast<uint64_t>(own.from) < own.bytes;
    }
    STRATA_PLAIN static void run(void* context) {
        Look& own = *static_cast<Look*>(context);
        while (own.seen < own.bytes) {
            (void)own.from[own.seen];
            const auto at = reinterpret_cast<uint64_t>(own.from) + own.seen;
            own.seen = std::min(own.bytes, own.seen + own.page - at % own.page);
        }
    }
};

}  // namespace

// Not inlined: what the jump comes back to is one frame, whose variables it does not change.
[[gnu::noinline]] std::optional<uint64_t> run_guarded(void (*body)(void*), bool (*owns)(const void*, uint64_t),
                                                      void* context) {
    install();
    Guard guard{owns, context, innermost_guard()};
    const Restore restore{guard.around};
    if (sigsetjmp(guard.place, 0) != 0) return guard.address;
    pthread_setspecific(innermost, &guard);
    body(context);
    return std::nullopt;
}

bool copy_guarded(void* to, const void* from, size_t bytes) {
    if (!is_address(to, bytes) || !is_address(from, bytes)) return bytes == 0;
    Copy copy{static_cast<char*>(to), static_cast<const char*>(from), bytes};
    return !run_guarded(Copy::run, Copy::owns, &copy);
}

bool fill_guarded(void* to, const void* element, size_t element_bytes, size_t count) {
    if (!is_address(to, 0) || count > kEnd / element_bytes || !is_address(to, element_bytes * count)) return count == 0;
    Fill fill{static_cast<char*>(to), static_cast<const char*>(element), element_bytes, count};
    return !run_guarded(Fill::run, Fill::owns, &fill);
}

size_t readable_bytes(const void* from, size_t most) {
    if (!is_address(from, 0)) return 0;
    const size_t bytes = std::min<uint64_t>(most, kEnd - reinterpret_cast<uint64_t>(from));
    Look look{static_cast<const volatile char*>(from), bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE))};
    (void)run_guarded(Look::run, Look::owns, &look);
    return look.seen;
}

}  // namespace strata
