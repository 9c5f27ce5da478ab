#pragma once
#include <cstdint>

namespace strata::emu {

/// Who touched bytes of local memory last: the wave's signals then, counted over workgroups (0: never), above the wave
/// and flags. kSeveral: others too since the same barrier, of writes with equal values.
using Touch = uint32_t;
constexpr Touch kWhen = 8, kWaveBits = 0xfc, kSeveral = 2, kAtomic = 1;

/// The present state of the wave, with which touches are compared.
struct Now {
    Touch since, own, now;
};

/// The stretches of local memory that waves of a workgroup touched since barriers that others may not have passed. An
/// access that comes near none of others' cannot race with them.
class Stretches {
  public:
    /// True if another wave has touched something between the first and the last byte of the stretch.
    bool near(int32_t first, int32_t end, const Now& now) const {
        if (newest_ < now.since) return false;
        uint32_t found = unlisted_ >= now.since;
        for (uint32_t i = 0; i < count_; ++i)
            found |= static_cast<uint32_t>(touches_[i] >= now.since) &
                     static_cast<uint32_t>((touches_[i] & kWaveBits) != now.own) &
                     static_cast<uint32_t>(firsts_[i] < end) & static_cast<uint32_t>(first < ends_[i]);
        return found;
    }
    void add(int32_t first, int32_t end, const Now& now) {
        newest_ = now.now > newest_ ? now.now : newest_;
        for (uint32_t i = count_; i > 0 && i + kTried > count_; --i) {
            if (touches_[i - 1] != now.now || first > ends_[i - 1] || end < firsts_[i - 1]) continue;
            firsts_[i - 1] = first < firsts_[i - 1] ? first : firsts_[i - 1];
            ends_[i - 1] = end > ends_[i - 1] ? end : ends_[i - 1];
            return;
        }
        if (count_ == kMost) {
            unlisted_ = now.now > unlisted_ ? now.now : unlisted_;
            return;
        }
        firsts_[count_] = first, ends_[count_] = end, touches_[count_++] = now.now;
    }
    /// Everything before that is in order with what follows.
    void drop(Touch before) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < count_; ++i) {
            if (touches_[i] < before) continue;
            firsts_[kept] = firsts_[i], ends_[kept] = ends_[i], touches_[kept++] = touches_[i];
        }
        count_ = kept;
    }
    void clear() { count_ = unlisted_ = newest_ = 0; }
    /// Touches are about to be recounted: anything may be near until later ones.
    void lose(Touch latest) { count_ = 0, unlisted_ = newest_ = latest; }

  private:
    static constexpr uint32_t kMost = 64, kTried = 4;
    uint32_t count_ = 0;
    Touch unlisted_ = 0, newest_ = 0;  ///< the latest that there was no room for; the latest of all
    int32_t firsts_[kMost], ends_[kMost];
    Touch touches_[kMost];
};

}  // namespace strata::emu
