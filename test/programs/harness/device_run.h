#pragma once
#include <memory>

#include "program.h"
#include "strata/asm/emu/gpu.h"

namespace programs {

/// A kind of machine code that programs are compiled to.
struct Machine {
    const char* name;
    strata::isa::Arch arch;
    int wave;
    std::vector<std::string> options;
};

std::span<const Machine> machines();

/// The text of a program as the device compiler gets it: with device.h, without the host's part.
std::string device_source(const std::string& name);

strata::Result<std::vector<uint8_t>> compile(const std::string& name, const Machine& machine, const std::string& level);

/// Runs the kernels of one code object on an emulated GPU. Errors are thrown; what strict mode finds is a failure.
std::unique_ptr<Run> make_device_run(const Machine& machine, std::span<const uint8_t> code_object,
                                     strata::emu::Check check = strata::emu::Check::off);

}  // namespace programs
