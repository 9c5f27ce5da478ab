#pragma once
#include <cstring>
#include <memory>
#include <string>

#include "random_words.h"
#include "strata/asm/isa/inst.h"
#include "strata/asm/llvm/service/llvm_api.h"

namespace strata::isa {

/// LLVM 19's disassembler, one instruction at a time: what llvm-mc --disassemble prints, without the process.
class LlvmOracle {
  public:
    struct Answer {
        std::string text;
        int size = 0;  ///< bytes; 0: LLVM knows no such instruction
    };

    explicit LlvmOracle(Arch arch, int wave_size = 0) {
        if (!llvm()) return;
        std::string cpu(info(arch).name), features = wave_features(arch, wave_size ? wave_size : info(arch).wave_size);
        handle_ =
            llvm()->LLVMCreateDisasmCPUFeatures(kTriple, cpu.c_str(), features.c_str(), nullptr, 0, nullptr, nullptr);
    }
    ~LlvmOracle() {
        if (handle_) llvm()->LLVMDisasmDispose(handle_);
    }
    LlvmOracle(const LlvmOracle&) = delete;
    LlvmOracle& operator=(const LlvmOracle&) = delete;

    bool available() const { return handle_; }

    Answer ask(const Words& words) const {
        std::array<uint8_t, sizeof(Words)> bytes;
        std::memcpy(bytes.data(), words.data(), bytes.size());
        std::array<char, 512> buffer{};
        size_t size =
            llvm()->LLVMDisasmInstruction(handle_, bytes.data(), bytes.size(), 0, buffer.data(), buffer.size());
        if (!size) return {};
        std::string text(buffer.data());
        text.erase(0, text.find_first_not_of(" \t"));
        text.erase(text.find_last_not_of(" \t\n") + 1);
        return {text, static_cast<int>(size)};
    }

  private:
    LlvmDisassembler handle_ = nullptr;
};

}  // namespace strata::isa
