#include "strata/asm/emu/observe/wave_loops.h"

namespace strata::emu {
namespace {

// Instructions of a wave that are measured at most, where its loops are not known; the rest is left out.
constexpr double kMostOfWave = 1 << 17;

template <class T>
std::vector<T>& of_chunk(std::vector<std::vector<T>>& all, const Chunk& chunk, size_t loops) {
    if (all.size() <= chunk.number) all.resize(chunk.number + 1);
    std::vector<T>& here = all[chunk.number];
    if (here.empty()) here.resize(loops);
    return here;
}

}  // namespace

void WaveLoops::stand_in(const Site& site, uint16_t loop) {
    if (site.chunk != chunk_) {
        chunk_ = site.chunk;
        loops_ = &costs_->loops(*chunk_);
    }
    loop_ = loop;
    here_ = &of_chunk(seen_, *chunk_, loops_->loops.size())[loop];
    work_here_ = &of_chunk(*work_, *chunk_, loops_->loops.size())[loop];
}

/// Counts what was measured since the last flush.
void WaveLoops::flush(uint64_t clock, double cycles) {
    if (here_) {
        const auto ran = static_cast<double>(clock - clock_);
        const bool first = here_->turns == 0;
        (first ? here_->first : here_->later) += ran;
        (first ? here_->first_cycles : here_->later_cycles) += cycles - cycles_;
        std::vector<OfLoop>& all = seen_[chunk_->number];
        for (uint16_t at = loop_;; at = loops_->loops[at].parent) {
            all[at].inside += ran;
            if (at == 0) break;
        }
        work_here_->measured += ran;
        work_here_->ran += ran;
        measured_ += ran;
        measured_cycles_ += cycles - cycles_;
    }
    clock_ = clock;
    cycles_ = cycles;
}

/// True if further turns of the loop are like those that were measured: the first turn alone is not, unless it is long.
bool WaveLoops::may_leave_out(const OfLoop& loop) const {
    return loop.inside >= budget_ && (loop.turns > 1 || loop.inside - loop.inside_at_entry >= budget_);
}

/// To another loop, or to the start of one.
bool WaveLoops::move(const Site& site, const Cost& cost, uint64_t clock, double cycles) {
    flush(clock, cycles);
    const bool again = cost.is_header && here_ && site.chunk == chunk_ && loops_->holds(cost.loop, loop_);
    stand_in(site, cost.loop);
    if (!cost.is_header) return true;
    if (!again) {
        here_->turns = 0;
        here_->entries += 1;
        here_->inside_at_entry = here_->inside;
        return true;
    }
    ++here_->turns;
    if (!here_->warm && here_->inside >= budget_ / 2 && here_->inside < budget_) {
        here_->warm = true;
        here_->later = here_->later_cycles = 0;
    }
    to_the_end_ = measured_ > kMostOfWave;
    if (!to_the_end_ && !may_leave_out(*here_)) return true;
    left_out_ = true;
    around_ = cost.loop;
    first_left_ = 0;
    return false;
}

double WaveLoops::cycles_of(double instructions) {
    if (here_->measured() == 0) return measured_ > 0 ? instructions * measured_cycles_ / measured_ : 0;
    const double in_first = here_->first > 0 ? std::min(first_left_, instructions) : 0;
    first_left_ -= in_first;
    const double first = here_->first > 0 ? in_first * here_->first_cycles / here_->first : 0;
    const double rate = here_->later > 0 ? here_->later_cycles / here_->later : here_->first_cycles / here_->first;
    return first + (instructions - in_first) * rate;
}

/// Counts what was left out since.
void WaveLoops::settle(uint64_t clock, double& cycles) {
    const auto ran = static_cast<double>(clock - clock_);
    cycles += cycles_of(ran);
    work_here_->ran += ran;
    clock_ = clock;
    cycles_ = cycles;
}

/// The wave comes to code that is measured.
void WaveLoops::measure_again(const Cost& cost, double cycles) {
    left_out_ = false;
    cycles_ = cycles;
    if (!cost.is_header) return;
    here_->turns = 0;
    here_->entries += 1;
    here_->inside_at_entry = here_->inside;
}

/// From one watched op of what is left out to the next.
bool WaveLoops::go_on(const Site& site, const Cost& cost, uint64_t clock, double& cycles) {
    if (!cost.is_watched) return false;
    const bool other = site.chunk != chunk_ || cost.loop != loop_;
    // An op that stays in the loop and waits for nobody is counted with the next one.
    if (!other && !cost.enters && cost.unit != isa::LatencyClass::barrier && here_->measured() > 0) return false;
    settle(clock, cycles);
    const bool outside = site.chunk != chunk_ || !loops_->holds(around_, cost.loop);
    if (other) {
        stand_in(site, cost.loop);
        first_left_ = 0;
    }
    if (to_the_end_) return false;
    if (outside || here_->measured() == 0) {
        measure_again(cost, cycles);
        return true;
    }
    if (!cost.enters) return false;
    // A deeper loop may begin here: until the next watched op the wave counts as in one.
    stand_in(site, cost.enters);
    if (here_->measured() == 0) {
        stand_in(site, cost.loop);
        left_out_ = false;
        return true;
    }
    first_left_ = here_->entries > 0 ? here_->first / here_->entries : 0;
    return false;
}

}  // namespace strata::emu
