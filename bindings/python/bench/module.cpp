// strata._strata_bench: what `strata bench` measures beside the product. It has libraries of its own: what it does
// knows nothing of the tensors and settings of strata._strata.
#include "bench_p.h"

PYBIND11_MODULE(_strata_bench, m) {
    strata::bench::bind_launches(m);
    strata::bench::bind_decode(m);
}
