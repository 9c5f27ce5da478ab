#pragma once
#include <string>

#include "../harness/device_run.h"
#include "random_program.h"

namespace programs {

/// Compiles a random program for the host and runs it there; what it writes, for waves of 32 and 64.
class HostResults {
  public:
    explicit HostResults(const RandomProgram& program);
    const std::vector<uint64_t>& of_wave(int wave) const { return wave == 32 ? wave32_ : wave64_; }

  private:
    std::vector<uint64_t> wave32_, wave64_;
};

/// How the device's results differ from the host's, or empty. A refusal or fault of the emulator is a difference.
std::string difference(const RandomProgram& program, const HostResults& host, const Machine& machine,
                       const std::string& level);

/// Deletes whatever can be deleted with the difference staying.
RandomProgram minimised(RandomProgram program, const Machine& machine, const std::string& level);

}  // namespace programs
