#include <algorithm>
#include <mutex>

#include "strata/core/support/mutex.h"
#include "strata/runtime/search_p.h"

namespace strata::runtime {
namespace {

Mutex mutex;
std::vector<Recording*> recordings;  // that live, in the order of their numbers
uint64_t last_number = 0;
thread_local std::vector<Searched>* held = nullptr;

uint64_t next_number() {
    std::lock_guard lock(mutex);
    return ++last_number;
}

}  // namespace

Recording::Recording(Of of)
    : thread_(of == Of::this_thread ? std::this_thread::get_id() : std::thread::id()), number_(next_number()) {
    std::lock_guard lock(mutex);
    recordings.push_back(this);
}

Recording::~Recording() {
    std::lock_guard lock(mutex);
    std::erase(recordings, this);
}

std::vector<Searched> Recording::searches() const {
    std::lock_guard lock(mutex);
    return searches_;
}

bool Recording::covers_this_thread() const {
    return thread_ == std::thread::id() || thread_ == std::this_thread::get_id();
}

uint64_t Recording::number() {
    std::lock_guard lock(mutex);
    uint64_t found = 0;
    for (const Recording* recording : recordings)
        if (recording->covers_this_thread()) found = recording->number_;
    return found;
}

HeldNotes::HeldNotes() { held = &searches_; }
HeldNotes::~HeldNotes() { held = nullptr; }

void note(const Searched& searched) {
    if (held) return held->push_back(searched);
    std::lock_guard lock(mutex);
    for (Recording* recording : recordings) {
        const bool noted =
            std::ranges::find(recording->searches_, searched.key, &Searched::key) != recording->searches_.end();
        if (recording->covers_this_thread() && !noted) recording->searches_.push_back(searched);
    }
}

}  // namespace strata::runtime
