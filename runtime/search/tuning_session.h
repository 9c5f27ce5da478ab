#pragma once
#include <thread>
#include <vector>

#include "strata/runtime/search/tuning_record.h"

namespace strata::runtime {

/// A kernel whose schedule was searched.
struct Searched {
    SearchKey key;
    TuningRecord record;
    bool known = false;  ///< from an earlier search
};

/// Notes which kernels are searched while it lives, those of known records too. Graphs are computed as if no earlier
/// launch plan were known, and an unfinished search is finished.
class TuningSession {
  public:
    enum class Of : uint8_t { this_thread, all_threads };
    explicit TuningSession(Of of);
    ~TuningSession();
    TuningSession(const TuningSession&) = delete;

    std::vector<Searched> searches() const;  ///< each kernel once
    /// The number of the session that notes what this thread searches, unique in this process; 0: none does.
    static uint64_t number();

  private:
    friend void note(const Searched& searched);
    bool covers_this_thread() const;

    const std::thread::id thread_;  ///< none: all
    const uint64_t number_;
    std::vector<Searched> searches_;
};

/// For all sessions that cover this thread.
void note(const Searched& searched);

/// Keeps back what this thread notes while it lives, for trials of which one is taken.
class HeldNotes {
  public:
    HeldNotes();
    ~HeldNotes();
    HeldNotes(const HeldNotes&) = delete;
    std::vector<Searched> take() { return std::move(searches_); }

  private:
    friend void note(const Searched& searched);
    std::vector<Searched> searches_;
};

}  // namespace strata::runtime
