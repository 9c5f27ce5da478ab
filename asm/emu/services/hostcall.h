#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "strata/asm/emu/machine/device_memory.h"

namespace strata::emu {

/// The buffer through which waves call their host (device libraries, ockl/hostcall). It has two stacks of packets, one
/// of free ones and one of those that wait for the host. A wave takes a packet, fills a slot a lane, hands it in and
/// sleeps until its flag is cleared.
class HostcallBuffer {
  public:
    using Slot = std::array<uint64_t, 8>;
    struct Packet {
        uint64_t lanes = 0;
        uint32_t service = 0;
        Slot* slots = nullptr;
        uint32_t* control = nullptr;
        void answer() const { *control &= ~1u; }
    };

    explicit HostcallBuffer(DeviceMemory& memory) : memory_(memory) {}
    HostcallBuffer(const HostcallBuffer&) = delete;
    ~HostcallBuffer();

    /// Makes room for that many waves at once and frees all packets.
    Result<void> reset(uint64_t waves);
    uint64_t address() const { return base_; }
    /// Takes the packets that wait for the host.
    std::vector<Packet> take();
    bool called() const;

  private:
    void release();

    DeviceMemory& memory_;
    uint64_t base_ = 0, packets_ = 0, bytes_ = 0;
};

/// Messages longer than a packet come in several, joined by an id that the host gives.
class Messages {
  public:
    /// Enters one lane's packet. True: the message is complete, and in `words`.
    Result<bool> enter(HostcallBuffer::Slot& slot, std::vector<uint64_t>& words);
    void clear();

  private:
    std::map<uint64_t, std::vector<uint64_t>> open_;
    uint64_t next_ = 0, held_ = 0;
};

}  // namespace strata::emu
