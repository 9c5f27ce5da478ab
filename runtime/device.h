#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "strata/asm/isa/arch.h"
#include "strata/runtime/hip/hip_api.h"

namespace strata::runtime {

/// One GPU, real or emulated, behind one HipApi. Opened once, lives until the process ends.
class Device {
  public:
    Device(std::string name, uint16_t index, isa::Arch arch, const hip::HipApi& api, int ordinal);
    const std::string& name() const { return name_; }  ///< "emu:gfx1100"
    uint16_t index() const { return index_; }          ///< BufferArg::device
    isa::Arch arch() const { return arch_; }
    const hip::HipApi& api() const { return *api_; }
    int ordinal() const { return ordinal_; }
    bool emulated() const { return api_->modelled_time; }

  private:
    std::string name_;
    uint16_t index_;
    isa::Arch arch_;
    const hip::HipApi* api_;
    int ordinal_;
};

/// Opens a device by name; "" means the setting or the default (hip where a GPU is found, else emu:gfx1100).
/// Throws a Device Exception that lists the known names.
Device& device(std::string_view name = "");
Device& device(uint16_t index);
std::vector<std::string> known_devices();

}  // namespace strata::runtime
