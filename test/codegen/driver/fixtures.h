#pragma once
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "strata/codegen/driver/compile.h"
#include "strata/core/support/settings.h"

namespace strata::codegen {

/// A test with a cache folder of its own, empty at the start.
class CompileTest : public testing::Test {
  protected:
    CompileTest() : folder_(make_folder()), scope_(with_cache(folder_)) {}
    ~CompileTest() override {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    const std::string& folder() const { return folder_; }

  private:
    static std::string make_folder() {
        std::string path = testing::TempDir() + "strata-test-XXXXXX";
        return mkdtemp(path.data()) ? path : std::string();
    }
    static Settings with_cache(const std::string& folder) {
        Settings next = settings();
        next.cache_dir = folder;
        next.no_cache = false;
        return next;
    }

    std::string folder_;
    ScopedSettings scope_;
};

/// A source whose text differs by `tag`, so that no earlier result in memory serves it.
inline HipSource scale_kernel(int tag) {
    return {.text = fmt::format("extern \"C\" __global__ __launch_bounds__(256) void scale(float* x, int n) {{\n"
                                "    int i = blockIdx.x * 256 + threadIdx.x;\n"
                                "    if (i < n) x[i] *= {}.5f;\n"
                                "}}\n",
                                tag),
            .kernel = "scale"};
}

/// Reads a code object and fails the test if it cannot be.
inline isa::CodeObject parsed(const Result<executable::Code>& compiled) {
    if (!compiled) {
        ADD_FAILURE() << compiled.error().message << "\n" << compiled.error().log;
        return {};
    }
    auto object = isa::CodeObject::parse(compiled->code_object());
    if (!object) {
        ADD_FAILURE() << object.error().message;
        return {};
    }
    return std::move(*object);
}

}  // namespace strata::codegen
