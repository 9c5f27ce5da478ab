#pragma once
#include <cstddef>
#include <cstdint>

namespace strata::emu {

/// Scratch of a workgroup's waves, whose places are used by one workgroup after the other. A wave finds zeros: neither
/// what another wave left nor what the host did with the memory. Of much scratch only the pages that a wave used are
/// cleared.
class Scratch {
  public:
    Scratch(size_t wave_bytes, uint32_t waves);
    ~Scratch();
    Scratch(const Scratch&) = delete;

    /// The place of a wave that starts.
    uint8_t* cleared(uint32_t wave);

  private:
    size_t wave_bytes_, stride_, bytes_;
    uint8_t* memory_ = nullptr;
};

}  // namespace strata::emu
