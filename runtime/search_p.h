#pragma once
#include "strata/runtime/search.h"

namespace strata::runtime {

/// For all recordings that cover this thread.
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
