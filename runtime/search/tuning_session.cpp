#include <algorithm>
#include <mutex>

#include "strata/core/support/mutex.h"
#include "strata/runtime/search/tuning_session.h"

namespace strata::runtime {
namespace {

Mutex mutex;
std::vector<TuningSession*> sessions;  // that live, in the order of their numbers
uint64_t last_number = 0;
thread_local std::vector<Searched>* held = nullptr;

uint64_t next_number() {
    std::lock_guard lock(mutex);
    return ++last_number;
}

}  // namespace

TuningSession::TuningSession(Of of)
    : thread_(of == Of::this_thread ? std::this_thread::get_id() : std::thread::id()), number_(next_number()) {
    std::lock_guard lock(mutex);
    sessions.push_back(this);
}

TuningSession::~TuningSession() {
    std::lock_guard lock(mutex);
    std::erase(sessions, this);
}

std::vector<Searched> TuningSession::searches() const {
    std::lock_guard lock(mutex);
    return searches_;
}

bool TuningSession::covers_this_thread() const {
    return thread_ == std::thread::id() || thread_ == std::this_thread::get_id();
}

uint64_t TuningSession::number() {
    std::lock_guard lock(mutex);
    uint64_t found = 0;
    for (const TuningSession* session : sessions)
        if (session->covers_this_thread()) found = session->number_;
    return found;
}

HeldNotes::HeldNotes() { held = &searches_; }
HeldNotes::~HeldNotes() { held = nullptr; }

void note(const Searched& searched) {
    if (held) return held->push_back(searched);
    std::lock_guard lock(mutex);
    for (TuningSession* session : sessions) {
        const bool noted =
            std::ranges::find(session->searches_, searched.key, &Searched::key) != session->searches_.end();
        if (session->covers_this_thread() && !noted) session->searches_.push_back(searched);
    }
}

}  // namespace strata::runtime
