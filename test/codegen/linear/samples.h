#pragma once
#include <cmath>
#include <initializer_list>
#include <vector>

#include "strata/core/uop/reference.h"

namespace strata::codegen {

/// Values of a type with which operations are tried: its ends, what is special, and some between. `floats`: more of
/// them.
inline std::vector<ConstArg> samples(DType t, std::initializer_list<double> floats = {}) {
    std::vector<ConstArg> out;
    if (t.is_bool()) return {{0, 0}, {1, 0}};
    if (t.is_float()) {
        for (double v : {0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 7.25, -100.0, 1e-3, 300.0, 70000.0, -3e9, 1e19, -1e-30,
                         double(INFINITY), double(-INFINITY), double(NAN)})
            out.push_back({0, round_to(t, v)});
        for (double v : floats) out.push_back({0, round_to(t, v)});
        return out;
    }
    for (int64_t v :
         {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{5}, int64_t{-7}, int64_t{100}, int64_t{1} << 20,
          (int64_t{1} << 24) + (1 << 16) + 1, (int64_t{1} << 62) + (int64_t{1} << 54) + 1, int_min(t), int_max(t)})
        out.push_back({wrap_to(t, v), 0});
    return out;
}

}  // namespace strata::codegen
