#pragma once
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>

#include "../codegen/kernel/tensors.h"
#include "strata/core/support/settings.h"
#include "strata/runtime/buffer.h"
#include "strata/runtime/realize.h"

namespace strata::runtime {

/// A cache folder of its own for each test, and the emulated gfx1100.
class Runtime : public ::testing::Test {
  protected:
    Runtime() {
        char name[] = "/tmp/strata_runtime_XXXXXX";
        folder_ = mkdtemp(name);
        Settings s = settings();
        s.device = "emu:gfx1100";
        s.cache_dir = folder_;
        s.no_cache = false;
        s.beam = 0;
        scope_.emplace(s);
        reset_stats();
    }
    ~Runtime() override {
        scope_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    const std::string& folder() const { return folder_; }

  private:
    std::string folder_;
    std::optional<ScopedSettings> scope_;
};

/// A buffer on the device with these values.
template <class T = float>
Root on_device(const std::vector<T>& values, DType type = dtypes::float32) {
    GraphScope scope;
    Root buffer(new_buffer(device(), type, static_cast<int64_t>(values.size())));
    find_buffer(buffer.get())->copy_in(values.data(), values.size() * sizeof(T));
    return buffer;
}

/// The values in the memory of a whole-buffer view.
template <class T = float>
std::vector<T> values(const Root& view) {
    std::shared_ptr<Buffer> memory = find_buffer(buffer_under(view.get()));
    std::vector<T> out(static_cast<size_t>(memory->size()));
    memory->copy_out(out.data(), out.size() * sizeof(T));
    return out;
}

inline Root realized(UOp root) { return realize(std::vector<UOp>{root})[0]; }

inline std::vector<float> counting(size_t n, float first = 0) {
    std::vector<float> out(n);
    for (size_t i = 0; i < n; ++i) out[i] = first + static_cast<float>(i);
    return out;
}

template <class F>
void expect_error(ErrorKind kind, const std::string& part, F f) {
    try {
        f();
        ADD_FAILURE() << "no error; expected: " << part;
    } catch (const Exception& e) {
        EXPECT_EQ(e.kind(), kind) << e.what();
        EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
    }
}

}  // namespace strata::runtime
