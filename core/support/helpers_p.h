#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "strata/core/support/mutex.h"

namespace strata {

/// Work that several threads do together.
struct SharedWork {
    virtual void help() = 0;   ///< a helper's part; throws nothing
    virtual void ended() = 0;  ///< the helper is free again; after the last one the work may be gone

  protected:
    ~SharedWork() = default;
};

/// Threads that sleep until there is work and then stay for the next: what a thread keeps for itself, tables and
/// memory, is found again. They end with the process.
class Helpers {
  public:
    /// The threads of a parent are not in its child, which has its own.
    static Helpers& of_this_process();

    /// Has up to `count` threads help, as many as the system gives. Where all cores have one at work already no more
    /// are made.
    void ask(SharedWork& work, size_t count);
    /// Those that have not begun need not; gives how many.
    size_t excuse(SharedWork& work);

  private:
    explicit Helpers(Helpers* parents) : parents_(parents) {}
    void serve();

    const uint32_t process_ = Mutex::process_number();
    [[maybe_unused]] Helpers* const parents_;  ///< of the parent process, kept as it was
    std::mutex mutex_;
    std::condition_variable asked_;
    std::vector<SharedWork*> open_;
    size_t threads_ = 0, busy_ = 0;
};

}  // namespace strata
