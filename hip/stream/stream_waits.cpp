#include "strata/hip/stream/stream_waits.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

#include "strata/core/support/mutex.h"
#include "strata/hip/api/host_access.h"

namespace strata::hip::library {

std::atomic<size_t> held_back{0};

namespace {

struct Item {
    std::shared_ptr<Stream> stream = {};  ///< lasts so long; none: the device's own
    uint64_t number = 0;
    Awaited awaited;
    Work work;
};

struct Host {
    const Ready* ready;
    bool of_others;
};

struct Waiting {
    Mutex mutex;
    std::map<Stream*, std::deque<Item>> of_stream;
    std::set<const Stream*> running;  ///< whose first item is being done
    std::vector<Host> hosts;          ///< what threads wait for
    std::map<int, Time> latest;       ///< when the last work ended, by device
    Code failed = hipSuccess;
    uint64_t next = 0;
};
Waiting& waiting() {
    static auto* all = new Waiting;
    return *all;
}
using Lock = std::unique_lock<Mutex>;

/// True if two streams of a device come one after the other.
bool ordered(const Stream& a, const Stream& b) {
    if (&a == &b) return true;
    if (a.device != b.device || a.legacy == b.legacy) return false;
    return !((a.flags | b.flags) & kNonBlocking);
}

bool holds(const Waiting& w, const Stream& stream) {
    return std::ranges::any_of(w.of_stream, [&](const auto& one) { return ordered(*one.first, stream); });
}

bool may_start(const Waiting& w, const Stream& stream, const Item& item) {
    if (w.running.contains(&stream) || (item.awaited.ready && !item.awaited.ready())) return false;
    return std::ranges::none_of(w.of_stream, [&](const auto& other) {
        return other.second.front().number < item.number && ordered(*other.first, stream);
    });
}

void drop(Waiting& w, const std::function<bool(const Stream&)>& of) {
    for (auto at = w.of_stream.begin(); at != w.of_stream.end();) {
        if (of(*at->first)) {
            const size_t kept = w.running.contains(at->first) ? 1 : 0;
            held_back -= at->second.size() - kept;
            at->second.erase(at->second.begin() + static_cast<ptrdiff_t>(kept), at->second.end());
        }
        at = at->second.empty() ? w.of_stream.erase(at) : std::next(at);
    }
}

/// Does the first item of a stream, which stands there meanwhile.
void run_first(Waiting& w, Lock& lock, Stream* stream) {
    Item& item = w.of_stream.at(stream).front();
    w.running.insert(stream);
    const Time earliest = item.awaited.ready ? w.latest[stream->device] : 0;
    lock.unlock();
    wait_until(*stream, earliest);
    const Code code = item.work(*stream);
    const Time end = end_of(*stream);
    lock.lock();
    w.latest[stream->device] = end;
    if (code != hipSuccess && w.failed == hipSuccess) w.failed = code;
    w.running.erase(stream);
    const auto own = w.of_stream.find(stream);
    own->second.pop_front();
    if (own->second.empty()) w.of_stream.erase(own);
    --held_back;
}

void go_on(Waiting& w, Lock& lock) {
    const auto next = [&] {
        return std::ranges::find_if(w.of_stream,
                                    [&](const auto& one) { return may_start(w, *one.first, one.second.front()); });
    };
    for (auto found = next(); found != w.of_stream.end(); found = next()) run_first(w, lock, found->first);
}

/// Threads of this process that run the program: Strata's own write nothing of their own accord.
size_t threads_of_program() {
    size_t count = 0;
    std::error_code error;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        count += !name.starts_with("strata-");
    }
    return count;
}

/// True if another process may see what is written to memory, and write there.
bool is_shared(const void* memory) { return host_access(memory, 1).shared; }

/// Nothing can be done, all threads wait for that, and no other process can change it.
bool is_deadlock(const Waiting& w) {
    if (!w.running.empty() ||
        std::ranges::any_of(w.hosts, [](const Host& one) { return one.of_others || (*one.ready)(); }))
        return false;
    for (const auto& [stream, items] : w.of_stream) {
        if (may_start(w, *stream, items.front())) return false;
        const Awaited& awaited = items.front().awaited;
        if (awaited.ready && (!awaited.memory || is_shared(awaited.memory))) return false;
    }
    return threads_of_program() == w.hosts.size();
}

std::string what_is_awaited(const Waiting& w) {
    std::string out;
    for (const auto& [stream, items] : w.of_stream)
        if (const Awaited& awaited = items.front().awaited; awaited.text)
            out += fmt::format("{}stream {} waits {}", out.empty() ? "" : "; ",
                               stream->legacy ? "0" : fmt::format("{}", fmt::ptr(stream)), awaited.text());
    return out;
}

}  // namespace

void hold(Stream& stream, Awaited awaited, Work work) {
    Waiting& w = waiting();
    Lock lock(w.mutex);
    w.of_stream[&stream].push_back({stream.weak_from_this().lock(), w.next++, std::move(awaited), std::move(work)});
    ++held_back;
    go_on(w, lock);
}

void go_on() {
    if (held_back == 0) return;
    Waiting& w = waiting();
    Lock lock(w.mutex);
    go_on(w, lock);
}

bool is_held(const Stream& stream) {
    if (held_back == 0) return false;
    Waiting& w = waiting();
    Lock lock(w.mutex);
    go_on(w, lock);
    return holds(w, stream);
}

Code in_order_of_held(Stream& stream, Work work) {
    Waiting& w = waiting();
    Lock lock(w.mutex);
    go_on(w, lock);
    if (holds(w, stream)) {
        w.of_stream[&stream].push_back({stream.weak_from_this().lock(), w.next++, {}, std::move(work)});
        ++held_back;
        return hipSuccess;
    }
    lock.unlock();
    const Code code = work(stream);
    const Time end = end_of(stream);
    lock.lock();
    w.latest[stream.device] = end;
    go_on(w, lock);
    return code;
}

Code wait_until_ready(const Ready& ready, bool of_others) {
    using namespace std::chrono_literals;
    constexpr auto kFirst = 20us, kLongest = 1000us;
    constexpr std::chrono::microseconds kDoubt = 20ms,
                                        kReportAfter = 10s;  // how long a wait lasts before it is reported
    Waiting& w = waiting();
    Lock lock(w.mutex);
    const auto begin = std::chrono::steady_clock::now();
    auto ask = begin + kDoubt;
    auto pause = std::chrono::microseconds(kFirst);
    bool reported = false;
    w.hosts.push_back({&ready, of_others});
    for (go_on(w, lock); !ready(); go_on(w, lock)) {
        const auto now = std::chrono::steady_clock::now();
        if (now >= ask) {
            if (is_deadlock(w)) {
                fmt::print(stderr,
                           "strata: deadlock: {}, and nothing is left that could write there: no other work is queued, "
                           "no other thread of the program runs. Write the value before the host waits for the stream, "
                           "by hipStreamWriteValue on another stream or from another thread\n",
                           what_is_awaited(w));
                drop(w, [](const Stream&) { return true; });
                lose(hipErrorLaunchTimeOut);
                break;
            }
            ask = now + kDoubt;
        }
        if (!reported && now - begin > kReportAfter) {
            fmt::print(stderr, "strata: the host has waited for 10 s: {}\n", what_is_awaited(w));
            reported = true;
        }
        lock.unlock();
        std::this_thread::sleep_for(pause);
        pause = std::min<std::chrono::microseconds>(2 * pause, kLongest);
        lock.lock();
    }
    std::erase_if(w.hosts, [&](const Host& one) { return one.ready == &ready; });
    if (lost() != hipSuccess) return lost();
    return std::exchange(w.failed, hipSuccess);
}

Code wait_until_free(const Stream& stream) {
    if (held_back == 0) return hipSuccess;
    return wait_until_ready([&] { return !holds(waiting(), stream); });
}

Code wait_until_free(int device) {
    if (held_back == 0) return hipSuccess;
    return wait_until_ready([device] {
        return std::ranges::none_of(waiting().of_stream, [&](const auto& one) { return one.first->device == device; });
    });
}

void drop_held(const Stream& stream) {
    if (held_back == 0) return;
    Lock lock(waiting().mutex);
    drop(waiting(), [&](const Stream& one) { return &one == &stream; });
}
void drop_held(int device) {
    if (held_back == 0) return;
    Lock lock(waiting().mutex);
    drop(waiting(), [&](const Stream& one) { return one.device == device; });
}

}  // namespace strata::hip::library
