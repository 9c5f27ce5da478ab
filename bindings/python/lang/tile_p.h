#pragma once
#include "lang/lang_p.h"
#include "layout/layout_p.h"
#include "strata/codegen/tile/copy.h"

// Copies and matrix products of the kernel language: what a thread has of them.

namespace strata::python {

/// The machine of an architecture's name; without one that of the kernel which is traced.
codegen::Target target_named(py::handle arch, const char* what);

/// The argument cache=: a name of a policy that the machine has, or None.
std::optional<CachePolicy> to_policy(py::handle name, const codegen::Target& target);

/// A thread's part of a tiled product or copy.
struct ThreadMma {
    lang::TiledMma mma;
    lo::Int thread;
};
struct ThreadCopy {
    lang::TiledCopy copy;
    lo::Int thread;
};

void bind_lang_products(py::module_& m);
void bind_lang_copies(py::module_& m);
void bind_lang_arch(py::module_& m);

}  // namespace strata::python
